"""The worked examples of CONTRIBUTING.md are replayed in a copy of the tree."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.golden import REPOSITORY
from tests.programs import python

TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text()
BLOCK = re.compile(r"^```python\n# ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WHOLE = ("storefmt", "remoting", "mqclient", "server", "mqspark", "mqadmin", "tests", "docs")


def examples() -> dict[str, str]:
    """Return the text of each example, by its heading."""
    parts = re.split(r"^### (.*)\n", TEXT.partition("## Worked examples\n")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def apply(tree: Path, text: str) -> list[str]:
    """Make the changes of an example in a tree; return the files."""
    changed = []
    for where, code in BLOCK.findall(text):
        if where.startswith("new: "):
            path = tree / where.removeprefix("new: ")
            assert not path.exists(), where
            path.write_text(code)
        else:
            name, _, before = where.partition(", before: ")
            path = tree / name
            lines = path.read_text().splitlines(keepends=True)
            (at,) = (n for n, line in enumerate(lines) if line.strip() == before)
            path.write_text("".join([*lines[:at], code, *lines[at:]]))
        changed.append(str(path.relative_to(tree)))
    return changed


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the examples change, with the kernels that were built."""
    for name in WHOLE:
        unneeded = shutil.ignore_patterns("__pycache__", "target", "lib", "*.hex")
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=unneeded)
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def run(tree: Path, *words: str) -> str:
    """Return what a program printed that sees the copy and not this checkout."""
    environment = os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'server'}"}
    return python("-m", *words, cwd=tree, env=environment).stdout


def test_there_is_an_example_of_each_kind() -> None:
    kinds = ["A setting", "A request code", "A command", "A format", "A Spark job"]

    assert list(examples()) == kinds


@pytest.mark.parametrize("name", examples())
def test_the_example_does_what_its_test_says(tree: Path, name: str) -> None:
    changed = apply(tree, examples()[name])
    (test,) = (path for path in changed if "test_example" in path)

    said = run(tree, "pytest", "-n", "0", "-rs", test)

    run(tree, "ruff", "check", *changed)
    run(tree, "ruff", "format", "--check", *changed)
    assert "passed" in said or "Java" in said
