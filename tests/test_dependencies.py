"""What the project depends on may be used by it, and has no known vulnerability."""

import json
from pathlib import Path

import pytest

from docs.licences import EXCUSED, STATED, declared, fits, rows
from tests.golden import REPOSITORY
from tests.programs import installed, ran

VULNERABLE = "jinja2==2.4.1"
"""Advisories of years ago name it: whoever does not find them has not been able to ask."""


def test_every_licence_fits_or_has_its_reason() -> None:
    found = {row.name: row.licence for row in rows()}

    assert [name for name in found if not fits(found[name]) and name not in EXCUSED] == []
    assert [name for name in EXCUSED if fits(found[name])] == []
    assert set(STATED) <= set(found)


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only OR MIT", True),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("MIT AND GPL-2.0-only", False),
        ("AGPL-3.0", False),
        ("PERMIT-1.0", False),
        ("", False),
    ],
)
def test_only_known_licences_fit(licence: str, expected: bool) -> None:
    assert fits(licence) is expected


def test_a_declared_licence_is_read_from_either_place() -> None:
    assert declared("click") == "BSD-3-Clause"
    assert declared("rich") == "MIT License"


def audited(audit: Path, requirements: Path) -> dict[str, list[str]]:
    """Return the vulnerabilities of each requirement; empty if nobody could be asked."""
    done = ran(
        *(audit, "--disable-pip", "--no-deps", "--progress-spinner", "off", "-f", "json"),
        *("-r", requirements),
        code=None,
    )
    if not done.stdout:
        return {}
    return {
        f"{each['name']} {each['version']}": [known["id"] for known in each["vulns"]]
        for each in json.loads(done.stdout)["dependencies"]
        if "vulns" in each and "skip_reason" not in each
    }


def test_no_locked_version_has_a_known_vulnerability(tmp_path: Path) -> None:
    programs = installed(tmp_path / "venv", "pip-audit>=2.7,<3")
    (tmp_path / "known.txt").write_text(f"{VULNERABLE}\n")
    if not any(audited(programs / "pip-audit", tmp_path / "known.txt").values()):
        pytest.skip("the advisories of PyPI cannot be reached")

    found = audited(programs / "pip-audit", REPOSITORY / "requirements" / "dev.lock")

    assert {row.name for row in rows()} - {name.split()[0] for name in found} <= set(STATED)
    assert {name: known for name, known in found.items() if known} == {}
