"""The documents say what the code says, and the paths they name exist."""

import ast
import re
from pathlib import Path

import pytest

from docs.generate import DIRECTORY, DOCUMENTS, printed_files

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("storefmt", "remoting", "mqclient", "server", "pipeline", "mqadmin")
NAMED = re.compile(r"\[`(?:(\w+)\.)?(\w+)`\]\(([^)]+\.py)\)")
"""A link whose text is a name of the file that it leads to: ``[`Class.method`](path.py)``."""
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)\)")


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_document_is_what_the_code_prints(name: str) -> None:
    is_current = (DIRECTORY / name).read_text() == DOCUMENTS[name]()

    # The difference of two whole documents would bury the advice.
    assert is_current, f"docs/{name} is not what the code says: run `make docs`"


def test_completions_and_man_pages_are_what_the_code_prints() -> None:
    wanted = printed_files()
    there = {path for name in ("completions", "man") for path in (REPOSITORY / name).iterdir()}

    old = [
        path.name for path, text in wanted.items() if path not in there or path.read_text() != text
    ]
    old += sorted(path.name for path in there - set(wanted))

    assert old == [], "run `make docs`"


def test_every_link_of_a_document_leads_somewhere() -> None:
    pages = [*REPOSITORY.glob("*.md"), *DIRECTORY.rglob("*.md")]

    missing = [
        f"{page.relative_to(REPOSITORY)}: {target}"
        for page in pages
        for target in LINK.findall(page.read_text())
        if not (page.parent / target).exists()
    ]

    assert missing == []


def defined_in(source: str) -> set[tuple[str, str]]:
    """Return classes and functions of a module, each with the class around it or none."""
    found: set[tuple[str, str]] = set()
    for node in ast.parse(source).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(("", node.name))
            found |= {
                (node.name, inner.name)
                for inner in ast.iter_child_nodes(node)
                if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))
            }
    return found


def test_every_name_that_the_architecture_links_to_is_there() -> None:
    named = NAMED.findall((DIRECTORY / "architecture.md").read_text())

    missing = [
        (owner, name, path)
        for owner, name, path in named
        if (owner, name) not in defined_in((DIRECTORY / path).read_text())
    ]

    assert len(named) > 15
    assert missing == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_map_of_the_readme_says_what_a_package_imports(package: str) -> None:
    rows = (line.split("|") for line in (REPOSITORY / "README.md").read_text().splitlines())
    row = next(cells for cells in rows if len(cells) > 3 and f"`{package}/`" in cells[1])
    imported = {
        node.module.partition(".")[0]
        for path in (REPOSITORY / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
    }

    told = set(re.findall(r"`(\w+)`", row[3]))

    assert told == imported & set(PACKAGES) - {package}


def test_every_locked_dependency_of_ours_has_its_reason() -> None:
    named = (DIRECTORY / "dependencies.md").read_text()
    wanted = {
        re.split(r"[\[<>=;]", line)[0].strip()
        for name in ("shell.in", "dev.in")
        for line in (REPOSITORY / "requirements" / name).read_text().splitlines()
        if line and not line.startswith(("-", "#"))
    }

    assert {name for name in wanted if name not in named} == set()
