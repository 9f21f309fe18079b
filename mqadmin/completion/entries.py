"""What can follow what on a command line, for scripts of completion.

    after "topic"            list, show, ...
    in "topic list"          --kind (normal retry ...), --cluster (@cluster), ...
    first word of "topic show"    @topic

Rule: a ``@word`` stands for live names of that kind, ``@file`` and ``@dir`` for paths, and an
empty text for what nobody can know.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mqadmin import catalog
from mqadmin.parameters import Kind, Parameter
from mqadmin.registry import Command, Needs
from mqadmin.settings import GLOBALS
from mqadmin.spelling import STORE_DIR

LIVE: Final[dict[Kind, str]] = {
    Kind.TOPIC: "@topic",
    Kind.GROUP: "@group",
    Kind.BROKER: "@broker",
    Kind.CLUSTER: "@cluster",
    Kind.CONTEXT: "@context",
    Kind.CLIENT: "@client",
    Kind.FILE: "@file",
    Kind.DIR: "@dir",
}
FORMATS: Final = "-o"


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its spellings, and what its value may be; None where it takes none."""

    spellings: tuple[str, ...]
    help: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: its options, without the global ones, and its arguments in order."""

    name: str
    summary: str
    options: tuple[Option, ...]
    arguments: tuple[str, ...]
    repeats: bool
    """The last argument may be given again."""


def entries() -> list[Entry]:
    """Return an entry for every command, sorted by name."""
    return [_entry(made) for made in catalog.everything()]


def global_options() -> tuple[Option, ...]:
    """Return the options that every command takes."""
    return tuple(_option(parameter) for parameter in GLOBALS)


def next_words(listed: Sequence[Entry]) -> dict[str, dict[str, str]]:
    """Return, for every beginning of a name, the words that may follow, and what they mean."""
    found: dict[str, dict[str, str]] = {}
    for entry in listed:
        words = entry.name.split()
        for at, word in enumerate(words):
            whole = at + 1 == len(words)
            before = " ".join(words[:at])
            meaning = entry.summary if whole else f"{' '.join(words[: at + 1])} ..."
            if whole or word not in found.setdefault(before, {}):
                found.setdefault(before, {})[word] = meaning
    return found


def _entry(made: Command[object]) -> Entry:
    positional = [p for p in made.parameters if p.positional]
    options = [_option(p) for p in made.parameters if not p.positional]
    arguments = [_value(p) for p in positional]
    if made.needs is Needs.STORE:
        arguments.insert(0, LIVE[Kind.DIR])
        options.append(_option(STORE_DIR))
    repeats = bool(positional) and positional[-1].many
    return Entry(made.name, made.summary, tuple(options), tuple(arguments), repeats)


def _option(parameter: Parameter) -> Option:
    spellings = (f"--{parameter.long}", *((f"-{parameter.short}",) if parameter.short else ()))
    return Option(spellings, parameter.help, _value(parameter) if parameter.takes_value else None)


def _value(parameter: Parameter) -> str:
    return " ".join(parameter.choices) or LIVE.get(parameter.kind, "")
