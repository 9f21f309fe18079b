"""Says what a release still lacks: the last step of ``make release``.

    git, CHANGELOG.md, mqadmin.VERSION, dist/ ──> findings, or the commands that remain

Rule: a dry run. Nothing is tagged, pushed or uploaded here; docs/release.md says who does that.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mqadmin import VERSION
from tests.tiers import Tier

ROOT: Final = Path(__file__).resolve().parents[1]
_HEADING: Final = re.compile(r"^## (\S+) \((.*)\)$", re.MULTILINE)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


def findings(root: Path, version: str) -> Iterator[str]:
    """Yield what keeps a checkout from being released as a version."""
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
    )
    for line in status.stdout.splitlines():
        yield f"{line[3:]}: changed since the last commit; commit it, or undo the change"
    heading = _HEADING.search((root / "CHANGELOG.md").read_text())
    if heading is None or heading[1] != version:
        found = heading[1] if heading else "nothing"
        yield (
            f"CHANGELOG.md: the first heading names {found}, mqadmin/__init__.py names {version}; "
            "make them the same"
        )
    elif not _DATE.fullmatch(heading[2]):
        yield (
            f"CHANGELOG.md: {version} is called {heading[2]}; write the date of the release "
            "in its place, as in (2026-11-23)"
        )
    built = {path.name for path in (root / "dist").glob("*")}
    for name in ("mqclient", "mqadmin"):
        for kind, ending in (("sdist", ".tar.gz"), ("pure wheel", "-py3-none-any.whl")):
            if f"{name}-{version}{ending}" not in built:
                yield f"dist/: no {kind} of {name} {version}; run `make wheel`"
    pinned = f'"mqclient[cli]=={version}"'
    if pinned not in (root / "toolkit" / "pyproject.toml").read_text():
        yield f"toolkit/pyproject.toml: it is to require {pinned}; write the new version everywhere"
    if not any(name.startswith(f"mqclient-{version}-cp") for name in built):
        yield f"dist/: no wheel with kernels of {version}; run `make wheel` where a C compiler is"


def main() -> int:
    """Print the findings, or what remains to be done by a person."""
    found = list(findings(ROOT, VERSION))
    for line in found:
        print(line, file=sys.stderr)
    if found:
        return 1
    print(f"{VERSION} is ready, if these have passed on this commit:")
    for tier in Tier:
        print(f"    {tier.command}")
    print("Nothing was tagged or uploaded: docs/release.md has the steps that remain.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
