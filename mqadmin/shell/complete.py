"""What could come next at the cursor, from click's commands and the live names.

    "to"                     -> topic
    "topic "                 -> create delete list show ...
    "message send --t"       -> --tag --timeout
    "message send T"         -> topics that start with T
    "group lag -o "          -> table json jsonl ...

Rule: pure; it reads the text before the cursor and ``Names``, and answers well within a key press.
Files and directories are left to the caller.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from click.shell_completion import CompletionItem

from mqadmin.cli import tree
from mqadmin.cli.parse import complete, java_words
from mqadmin.cli.types import PATHS, Live, ParseContext, ValueKind
from mqadmin.session.global_options import Format
from mqadmin.shell.filters import FILTERS
from mqadmin.shell.lines import ShellWord, split
from mqadmin.shell.names import Names

OWN_WORDS = {
    "help": "this shell, or a command",
    "exit": "leave",
    "connect": "connect to other name servers",
    "set": "set output FORMAT",
    "use": "use topic NAME, use context NAME",
    "watch": "run a command repeatedly",
    "clear": "clear the screen",
}
STORE_WORDS = {"open": "open a store directory", "close": "close the store directory"}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A possible word, which replaces the text from ``start`` on."""

    text: str
    start: int
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """The place of the cursor: the finished words of this stage, and the one being typed."""

    words: list[str]
    partial: str
    start: int
    after_pipe: bool
    after_redirect: bool


def spot_of(text: str) -> Spot:
    """Return the place at the end of ``text``."""
    made = split(text)
    words: list[ShellWord] = made.words
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


def suggestions(text: str, names: Names) -> tuple[list[Suggestion], str]:
    """Return the possible words at the end of ``text``, best first.

    Also returns "file" or "dir" if a path is possible there, otherwise an empty text.
    """
    spot = spot_of(text)
    if spot.after_redirect:
        return [], "file"
    if spot.after_pipe:
        candidates = {name: made.usage for name, made in FILTERS.items()} if not spot.words else {}
        return _matching(spot, candidates), ""
    if [word.lower() for word in spot.words] == ["store", "open"]:
        return [], "dir"
    own = _own(spot, names)
    if own is not None:
        return _matching(spot, own), ""
    typed = "-" if spot.partial.startswith("-") else ""
    items = click_items(spot.words, typed, lambda ctx, kind: names.of(kind))
    words = {item.value: item.help or item.what or "" for item in items if item.type == "plain"}
    if not spot.words:
        words |= OWN_WORDS
        if spot.partial and not any(word.startswith(spot.partial) for word in words):
            words |= java_words(spot.partial.lower())
    if [word.lower() for word in spot.words] == ["store"]:
        words |= STORE_WORDS
    if not typed and not (items and items[0].what):
        words = dict(sorted(words.items()))
    path = next((item.type for item in items if item.type in PATHS.values()), "")
    return _matching(spot, words), path


def click_items(words: Sequence[str], typed: str, live: Live) -> list[CompletionItem]:
    """Return what click offers for a word that begins with ``typed`` behind some words."""
    return complete(words, typed, ParseContext(live=live))


def _own(spot: Spot, names: Names) -> dict[str, str] | None:
    """Return the words that may follow the shell's own words; None if a command is next."""
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
            return dict.fromkeys(names.of(ValueKind.TOPIC), "topic")
        case ["use", "context"]:
            return dict.fromkeys(names.of(ValueKind.CONTEXT), "context")
        case ["connect"]:
            return dict.fromkeys(names.of(ValueKind.ADDRESS), "address")
        case ["set" | "use" | "connect" | "exit", *_]:
            return {}
        case ["help", *rest]:
            return tree.next_words(rest)
    return None


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
