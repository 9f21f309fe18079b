"""Every example of help, man pages and docs reaches mqadmin as it is read, through a real shell.

An example is run by ``bash -c`` with a program in place of mqadmin that writes down its words. A
`;` inside a list of addresses would end the command there, and the rest would be lost.
"""

import itertools
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqadmin.cli.help import overview
from mqadmin.cli.parse import everything
from tests.golden import REPOSITORY
from tests.programs import ran
from tests.test_docs import FENCE, PAGES

SPELLED = re.compile(r"^(?:\S+/)?mqadmin$")
EXPANDED = re.compile(r"[$`*~]|<\(|\{\w+\}")
"""What a shell replaces, so that the words cannot be compared."""
ELSEWHERE = re.compile(r">\s*/|^\s*(?:[>#$]|man |sudo )")
"""Lines that write outside of the folder, or are no line of a shell."""
LISTED_WITH_SEMICOLON = re.compile(r":\d{2,5};\w|\[;[A-Z]")
# Bash writes at each end of a line: without one, the words of two calls in a pipe are not mixed.
STUB = """#!/bin/bash
printf '%s\\0' "$@" $'\\1' >> "$WORDS"
"""


def examples_of_help() -> list[str]:
    return [line for made in everything() for line, _ in made.examples]


def lines_of(page: Path) -> Iterator[str]:
    """Yield the lines of a page's blocks that call mqadmin."""
    for language, code in FENCE.findall(page.read_text()):
        if language in ("", "sh", "bash", "console"):
            for line in code.replace("\\\n", " ").splitlines():
                if re.search(r"(?:^|[|(/ ])mqadmin ", line) and not ELSEWHERE.search(line):
                    yield line


def is_command(before: list[str]) -> bool:
    """Return whether a word behind some others is a program that is called."""
    while before and re.match(r"\w+=", before[-1]):
        before = before[:-1]
    last = before[-1] if before else "do"
    is_watched = before[-2:-1] == ["watch"]
    return last in {"do", "then", "else", "!"} or set(last) <= set("|&") or is_watched


def expected_words(line: str) -> list[str] | None:
    """Return the words of the first call of mqadmin in a line; None where there is none."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&<>")
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return None
    for start, token in enumerate(tokens):
        if SPELLED.match(token) and is_command(tokens[:start]):
            words = []
            for word, following in itertools.pairwise([*tokens[start + 1 :], ";"]):
                is_descriptor = word == "2" and following in {">", ">&"}
                if set(word) <= set("|&<>") or is_descriptor:
                    break
                words.append(word.removesuffix(";"))
                if word.endswith(";"):
                    break
            return words
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose mqadmin writes down its words; no other program is in its path."""
    made = tmp_path_factory.mktemp("shell")
    for place in (made / "bin" / "mqadmin", made / ".venv" / "bin" / "mqadmin"):
        place.parent.mkdir(parents=True)
        place.write_text(STUB)
        place.chmod(0o755)
    watch = made / "bin" / "watch"
    watch.write_text('#!/bin/bash\nshift\n"$@"\n')
    watch.chmod(0o755)
    for place in (".zfunc", ".config/fish/completions"):
        (made / place).mkdir(parents=True)
    return made


def calls_of(line: str, folder: Path) -> list[list[str]]:
    """Return the words of each call of mqadmin that bash makes of a line."""
    words = folder / "words"
    words.write_bytes(b"")
    env = {"PATH": str(folder / "bin"), "HOME": str(folder), "WORDS": str(words)}
    bash = next(path for path in ("/bin/bash", "/usr/bin/bash") if os.path.exists(path))
    ran(bash, "-c", line, code=None, cwd=folder, env=env, timeout_s=20)
    calls: list[list[str]] = [[]]
    for word in words.read_text().split("\0")[:-1]:
        if word == "\1":
            calls.append([])
        else:
            calls[-1].append(word)
    return calls[:-1]


def differences(lines: list[str], folder: Path) -> list[str]:
    """Return the lines that a shell reads otherwise than a person."""
    found = []
    for line in lines:
        expected = expected_words(line)
        if expected is None or any(EXPANDED.search(word) for word in expected):
            continue
        calls = calls_of(line, folder)
        if expected not in calls:
            found.append(f"{line}\n    reads as {expected}, but a shell calls it with {calls}")
    return found


def test_a_semicolon_between_addresses_is_noticed(folder: Path) -> None:
    line = "mqadmin context add prod mq1:9876;mq2:9876 --protected"

    assert calls_of(line, folder) == [["context", "add", "prod", "mq1:9876"]]
    assert differences([line], folder) != []
    assert differences([line.replace(";", ",")], folder) == []


def test_the_examples_of_help_reach_mqadmin_as_they_are_read(folder: Path) -> None:
    examples = examples_of_help()

    assert len(examples) > 200
    assert differences(examples, folder) == []


def test_the_examples_of_pages_reach_mqadmin_as_they_are_read(folder: Path) -> None:
    lines = [line for page in PAGES for line in lines_of(page)]

    assert len(lines) > 80
    assert differences(lines, folder) == []


def test_lists_of_addresses_have_commas_everywhere() -> None:
    man = (REPOSITORY / "man").glob("*.1")
    texts = {path.name: path.read_text() for path in (*PAGES, *man)}
    texts["mqadmin help all"] = overview()

    assert [name for name, text in texts.items() if LISTED_WITH_SEMICOLON.search(text)] == []
