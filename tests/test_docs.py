"""The documents say what the code says, and the paths they name exist."""

import ast
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from docs.generate import DIRECTORY, DOCUMENTS, printed_files
from docs.settingspage import PARTS, meanings
from docs.site import pages
from mqadmin.cli.parse import parse
from mqadmin.errors import Usage
from mqserver.runtime.typed_config import keys_of
from tests.golden import REPOSITORY
from tests.packages import PACKAGES

NAMED = re.compile(r"\[`(?:(\w+)\.)?(\w+)`\]\(([^)]+\.py)\)")
"""A link whose text is a name of the file that it leads to: ``[`Class.method`](path.py)``."""
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
"""A link inside the project: the path, empty for the page itself, and the heading it leads to."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
PAGES = [
    path
    for path in sorted((*REPOSITORY.glob("*.md"), *DIRECTORY.rglob("*.md")))
    if path != DIRECTORY / "cli.md"
]
"""Every page but the one that `mqadmin help` prints."""
TESTS = REPOSITORY / "tests"
SENTENCE_END = re.compile(r"[.:](?=\s|$)")
OPERATORS = ";&|<>()\n"
ONLY_NAMED = re.compile(r"^missing |^no store directory given| needs -")
"""What parsing says of a command that a sentence names without its arguments."""


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


@pytest.mark.parametrize("part", PARTS)
def test_every_setting_has_a_meaning(part: str) -> None:
    _, config = PARTS[part]
    said = dict(meanings(config))

    assert [key for key, field in keys_of(config).items() if field.attribute not in said] == []


def anchors(page: Path) -> set[str]:
    """Return the names that headings of a page have on GitHub and on the site."""
    found: list[str] = []
    for heading in HEADING.findall(FENCE.sub("", page.read_text())):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.append(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    assert len(found) == len(set(found)), f"{page.name} has two headings of the same words"
    return set(found)


def test_every_path_in_the_map_of_the_tests_exists() -> None:
    text = (TESTS / "README.md").read_text()
    table = text[text.index("## Where to look first") :]
    paths = set(re.findall(r"`([\w/]+(?:/|\.py))`", table))

    missing = [
        path
        for path in sorted(paths)
        if not any((at / path).exists() for at in (REPOSITORY, TESTS))
    ]

    assert missing == []
    assert len(paths) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    missing = []
    for path, anchor in LINK.findall(FENCE.sub("", page.read_text())):
        target = page.parent / path if path else page
        if not target.exists():
            missing.append(path)
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            missing.append(f"{path}#{anchor}")

    assert missing == []


def commands_in(text: str) -> list[list[str]]:
    """Return the words of each command of mqadmin in lines for a shell."""
    without_comments = re.sub(r"(?m)(^|\s)#.*", "", text).replace("\\\n", " ")
    tokens = shlex.shlex(without_comments, posix=True, punctuation_chars=OPERATORS)
    tokens.whitespace, tokens.whitespace_split, tokens.commenters = " \t", True, ""
    found: list[list[str]] = []
    is_first, is_ours = True, False
    for token in tokens:
        if token in ("do", "then") or set(token) <= set(OPERATORS):
            is_first, is_ours = True, False
        elif is_ours:
            found[-1].append(token)
        else:
            is_ours = is_first and token.split("/")[-1] == "mqadmin"
            is_first = False
            if is_ours:
                found.append([])
    return found


def is_placeholder(words: Sequence[str]) -> bool:
    """Return whether a sentence leaves open which command it means: ``mqadmin pipeline JOB``."""
    return any(word.isupper() or word == "…" for word in words[:2])


def test_commands_are_found_in_pipes_loops_and_quotes() -> None:
    text = """\
for n in 1 2; do .venv/bin/mqadmin message send T "a; $n"; done   # mqadmin is not called here
man mqadmin | mqadmin offset import - -y >out && echo mqadmin
"""

    assert commands_in(text) == [["message", "send", "T", "a; $n"], ["offset", "import", "-", "-y"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_command_of_a_page_is_one_of_ours(page: Path) -> None:
    text = page.read_text()
    blocks = [
        code
        for language, code in FENCE.findall(text)
        if language in ("", "sh") and "mqadmin " in code
    ]
    named = re.findall(r"`(mqadmin [^`]+)`", FENCE.sub("", text))

    wrong = []
    for words in (words for code in (*blocks, *named) for words in commands_in(code)):
        try:
            parse(words)
        except Usage as error:
            if not ONLY_NAMED.search(str(error)) and not is_placeholder(words):
                wrong.append(f"mqadmin {' '.join(words)}: {error}")

    assert wrong == []


@pytest.mark.parametrize(
    ("page", "translation"),
    [("README.md", "README.zh-CN.md"), ("docs/tour.md", "docs/zh/quick-start.md")],
)
def test_a_translation_has_the_commands_and_figures_of_its_page(
    page: str, translation: str
) -> None:
    ours, theirs = ((REPOSITORY / name).read_text() for name in (page, translation))
    figures = re.compile(r"^\|[^|]+(\|[^|]+\|[^|]+\| `[^`]+` \|)$", re.MULTILINE)

    assert FENCE.findall(theirs) == FENCE.findall(ours)
    assert figures.findall(theirs) == figures.findall(ours)
    assert theirs.count("\n## ") == ours.count("\n## ")


def test_every_page_stands_in_the_menu_of_the_site() -> None:
    menu = (REPOSITORY / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    named = set(re.findall(r"[\w/.-]+\.md", menu))

    assert named == {str(place) for place in pages().values() if place.suffix == ".md"}


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
    place = PACKAGES[package].relative_to(REPOSITORY)
    row = next(cells for cells in rows if len(cells) > 3 and f"`{place}/`" in cells[1])
    imported = {
        node.module.partition(".")[0]
        for path in PACKAGES[package].rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
    }

    told = set(re.findall(r"`(\w+)`", row[3]))

    assert told == imported & set(PACKAGES) - {package}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_says_in_at_least_two_sentences_what_lives_there(package: str) -> None:
    rooms = {
        path.parent: ast.get_docstring(ast.parse(path.read_text())) or ""
        for path in PACKAGES[package].rglob("__init__.py")
    }

    assert [str(room) for room, said in rooms.items() if len(SENTENCE_END.findall(said)) < 2] == []


def test_every_locked_dependency_of_ours_has_its_reason() -> None:
    named = (DIRECTORY / "dependencies.md").read_text()
    wanted = {
        re.split(r"[\[<>=;]", line)[0].strip()
        for name in ("shell.in", "dev.in", "site.in")
        for line in (REPOSITORY / "requirements" / name).read_text().splitlines()
        if line and not line.startswith(("-", "#"))
    }

    assert {name for name in wanted if name not in named} == set()
