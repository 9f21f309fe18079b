"""The documents say what the code says, and the paths they name exist."""

import re
from pathlib import Path

import pytest

from docs.generate import DIRECTORY, DOCUMENTS, printed_files

REPOSITORY = Path(__file__).resolve().parent.parent
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


def test_every_locked_dependency_of_ours_has_its_reason() -> None:
    named = (DIRECTORY / "dependencies.md").read_text()
    wanted = {
        re.split(r"[\[<>=;]", line)[0].strip()
        for name in ("shell.in", "dev.in")
        for line in (REPOSITORY / "requirements" / name).read_text().splitlines()
        if line and not line.startswith(("-", "#"))
    }

    assert {name for name in wanted if name not in named} == set()
