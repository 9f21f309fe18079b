"""A bare clone in an empty folder has everything that its commands read.

The clone takes the packages that are installed here, so that the test needs no registry; it has
no compiled kernels, and nothing lies beside it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden import REPOSITORY

ENVIRONMENT = Path(sys.prefix)


def git(*words: str, cwd: Path) -> str:
    return subprocess.run(
        ["git", *words], cwd=cwd, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone of a bare repository that holds the last commit."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("these sources are not in a git repository")
    folder = tmp_path_factory.mktemp("bare")
    git("clone", "--quiet", "--bare", str(REPOSITORY), "project.git", cwd=folder)
    git("clone", "--quiet", "project.git", "empty/project", cwd=folder)
    tree = folder / "empty" / "project"
    (tree / ".venv").symlink_to(ENVIRONMENT)
    return tree


def make(tree: Path, *words: str, stdin: str = "") -> str:
    """Run make without the installation; return what it printed."""
    installed = [option for name in (".dev", ".shell") for option in ("-o", f".venv/{name}")]
    run = subprocess.run(
        ["make", *installed, *words],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'server'}"},
        input=stdin,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_make_docs_changes_nothing_in_a_bare_clone(clone: Path) -> None:
    make(clone, "docs")

    assert git("status", "--short", "--untracked-files=no", cwd=clone) == ""


def test_make_shell_runs_a_script_in_a_bare_clone(clone: Path) -> None:
    lines = "topic create T --yes\nmessage send T hello\ngroup list\n"

    assert "SEND_OK" in make(clone, "shell", stdin=lines)


def test_tests_of_real_bytes_run_in_a_bare_clone(clone: Path) -> None:
    pytest_here = f"{ENVIRONMENT}/bin/python -m pytest -n 0 -p no:randomly -rs"
    rooms = "tests/storefmt/formats tests/remoting/bodies tests/server/namesrv/test_kvconfig.py"

    said = make(clone, "short", f"PYTEST={pytest_here} {rooms}")

    skips = [line for line in said.splitlines() if line.startswith("SKIPPED")]

    assert " passed" in said
    assert [line for line in skips if "kernel is not built" not in line] == []
