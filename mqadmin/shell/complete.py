"""What could come next at the cursor, from the declarations and the live names.

    "to"                     -> topic
    "topic "                 -> create delete list show ...
    "message send --t"       -> --tag --timeout
    "message send T"         -> topics that start with T
    "group lag -o "          -> table json jsonl ...

Rule: pure; it reads the text before the cursor and ``Names``, and answers in well under
a key press. Files and directories are left to the caller.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from mqadmin.catalog import Found, find, fold, module_names, native_name
from mqadmin.errors import Usage
from mqadmin.output.columns import columns_of
from mqadmin.parameters import Kind, Parameter
from mqadmin.registry import Needs
from mqadmin.settings import Format
from mqadmin.shell.filters import FILTERS
from mqadmin.shell.lines import Word, split
from mqadmin.shell.names import Names
from mqadmin.spelling import Spelling

OWN_WORDS = {
    "help": "this shell, or a command",
    "exit": "leave",
    "connect": "talk to other name servers",
    "set": "set output FORMAT",
    "use": "use topic NAME, use context NAME",
    "watch": "run a command again and again",
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that could stand here, from ``start`` of the text on."""

    text: str
    start: int
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """What the cursor is in: finished words of this stage, and the one being typed."""

    words: list[str]
    partial: str
    start: int
    after_pipe: bool
    after_redirect: bool


def spot_of(text: str) -> Spot:
    """Return where the end of ``text`` is."""
    made = split(text)
    words: list[Word] = made.words
    partial, start = "", len(text)
    if words and not made.ends_in_blank and not words[-1].is_operator:
        partial, start = words[-1].text, words[-1].start
        words = words[:-1]
    stage: list[str] = []
    after_pipe = after_redirect = False
    for word in words:
        if word.is_operator:
            stage = []
            after_pipe, after_redirect = word.text == "|", word.text in {">", ">>"}
        else:
            stage.append(word.text)
    return Spot(stage, partial, start, after_pipe, after_redirect)


def suggestions(text: str, names: Names) -> list[Suggestion]:
    """Return what could stand at the end of ``text``, best first."""
    spot = spot_of(text)
    if spot.after_redirect:
        return []
    if spot.after_pipe:
        found = {name: made.usage for name, made in FILTERS.items()} if not spot.words else {}
        return _matching(spot, found)
    own = _own(spot, names)
    if own is not None:
        return _matching(spot, own)
    found_command = _command(spot.words)
    verbs = _verbs(spot.words)
    if found_command is None or (verbs and not spot.partial.startswith("-")):
        return _matching(spot, verbs)
    return _in_command(spot, found_command, names)


def wanted_kind(text: str) -> Kind | None:
    """Return what kind of value the cursor is in, or None; for completion of files."""
    spot = spot_of(text)
    if spot.after_redirect:
        return Kind.FILE
    if [word.lower() for word in spot.words] == ["store", "open"]:
        return Kind.DIR
    found = _command(spot.words)
    if found is None or spot.after_pipe:
        return None
    parameter = _parameter_at(spot, found)
    if parameter is None and found.command.needs is Needs.STORE:
        return Kind.DIR
    return parameter.kind if parameter is not None else None


def _own(spot: Spot, names: Names) -> dict[str, str] | None:
    """Return what follows the shell's own words; None where it is a command's turn."""
    words = [word.lower() for word in spot.words]
    if not words:
        return None
    match words:
        case ["set"]:
            return {"output": "the format of rows"}
        case ["set", "output"]:
            return dict.fromkeys(get_args(Format), "")
        case ["use"]:
            return {"topic": "a default topic", "context": "a named cluster"}
        case ["use", "topic"]:
            return dict.fromkeys(names.of(Kind.TOPIC), "topic")
        case ["use", "context"]:
            return dict.fromkeys(names.of(Kind.CONTEXT), "context")
        case ["connect"]:
            return dict.fromkeys(names.of(Kind.ADDRESS), "address")
        case ["set" | "use" | "connect" | "exit", *_]:
            return {}
        case ["help", *rest]:
            return _verbs(rest)
    return None


def _verbs(words: list[str]) -> dict[str, str]:
    """Return the next word of every command that begins with ``words``."""
    typed = [fold(word) for word in words]
    found: dict[str, str] = {}
    for module_name in module_names():
        name = native_name(module_name).split()
        if [fold(part) for part in name[: len(typed)]] == typed and len(name) > len(typed):
            found.setdefault(name[len(typed)], "")
    if not words:
        found |= OWN_WORDS
    if typed == ["store"]:
        found |= {"open": "the store directory from now on", "close": "no store any more"}
    return dict(sorted(found.items()))


def _command(words: list[str]) -> Found | None:
    bare = [word for word in words if not word.startswith("-")]
    try:
        return find(bare) if bare else None
    except Usage:
        return None


def _in_command(spot: Spot, found: Found, names: Names) -> list[Suggestion]:
    spelling = Spelling(found)
    if spot.partial.startswith("-") and not _takes_value(spot, spelling):
        options = {f"--{p.long}": p.help for p in spelling.parameters()}
        return _matching(spot, options)
    parameter = _parameter_at(spot, found)
    if parameter is None:
        return []
    if parameter.choices:
        return _matching(spot, dict.fromkeys(parameter.choices, parameter.name))
    if parameter.kind is Kind.COLUMN and found.command.rows is not None:
        columns = [column.name for column in columns_of(found.command.rows)]
        return _matching(spot, dict.fromkeys(columns, "column"))
    kind = parameter.kind.name.lower()
    return _matching(spot, dict.fromkeys(names.of(parameter.kind), kind))


def _takes_value(spot: Spot, spelling: Spelling) -> bool:
    return _open_option(spot.words, spelling) is not None


def _open_option(words: list[str], spelling: Spelling) -> Parameter | None:
    """Return the option whose value comes next, if the last word is one."""
    last = words[-1] if words else ""
    if not last.startswith("-") or "=" in last:
        return None
    parameter = spelling.named(last.lstrip("-"))
    if parameter is None and len(last) == 2:
        parameter = spelling.lettered(last[1])
    return parameter if parameter is not None and parameter.takes_value else None


def _parameter_at(spot: Spot, found: Found) -> Parameter | None:
    """Return the option or argument that the cursor's word is the value of."""
    spelling = Spelling(found)
    option = _open_option(spot.words, spelling)
    if option is not None:
        return option
    taken = 0
    words = iter(spot.words)
    for word in words:
        if not word.startswith("-") or word == "-":
            taken += 1
        elif _open_option([word], spelling) is not None:
            next(words, None)
    taken -= found.word_count
    positional = [p for p in found.command.parameters if p.positional]
    if found.command.needs is Needs.STORE:
        taken -= 1
    if taken < 0 or not positional:
        return None
    if taken < len(positional):
        return positional[taken]
    return positional[-1] if positional[-1].many else None


def value_at(before: list[str], word: str, found: Found) -> Parameter | None:
    """Return the option or argument that ``word`` after the words ``before`` is the value of."""
    if word.startswith("-") and word != "-":
        return None
    return _parameter_at(Spot(before, word, 0, False, False), found)


def _matching(spot: Spot, words: Iterable[str] | dict[str, str]) -> list[Suggestion]:
    meanings = words if isinstance(words, dict) else dict.fromkeys(words, "")
    typed = spot.partial.lower()
    starts = [word for word in meanings if word.lower().startswith(typed)]
    inside = [word for word in meanings if typed and typed in word.lower() and word not in starts]
    return [
        Suggestion(_quoted(word), spot.start, meanings[word])
        for word in (*starts, *inside)
        if word != spot.partial or len(starts) > 1
    ]


def _quoted(word: str) -> str:
    return f"'{word}'" if any(char in word for char in " \t'\"#") else word
