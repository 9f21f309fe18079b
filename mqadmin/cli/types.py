"""What a value may be: how its text is read, and what Tab offers for it.

    TOPIC GROUP BROKER ...        a live name of the cluster
    Integer(min=1)                a whole number
    Choice(("normal", "retry"))   one of a few words, in any case
    TextType(read=parse_perm)     any reader of text that raises ValueError

Times are in ``times.py``, places in a queue in ``positions.py``.

Rule: a value that is not text has already been converted (a default), and is left as it is.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, Final, cast

import click
from click.shell_completion import CompletionItem

Read = Callable[[str], object]


class ValueKind(Enum):
    """What a value names, for completion of live names."""

    TEXT = auto()
    TOPIC = auto()
    GROUP = auto()
    BROKER = auto()
    CLUSTER = auto()
    QUEUE = auto()
    CLIENT = auto()
    FILE = auto()
    DIR = auto()
    TIME = auto()
    CONTEXT = auto()
    ADDRESS = auto()
    COLUMN = auto()


PATHS: Final = {ValueKind.FILE: "file", ValueKind.DIR: "dir"}
"""How click calls what the user's shell completes itself."""
NAMES: Final = frozenset(
    {
        ValueKind.TOPIC,
        ValueKind.GROUP,
        ValueKind.BROKER,
        ValueKind.CLUSTER,
        ValueKind.CONTEXT,
        *PATHS,
    }
)
"""Kinds whose values must not be empty: an unset variable of a script is reported as such."""

Live = Callable[[click.Context, ValueKind], Sequence[str]]


@dataclass(slots=True)
class ParseContext:
    """What is known besides the words of a line: click's ``ctx.obj``.

    Attributes:
        store: directory that the shell has open; then DIR may be left out.
        topic: stands in for a topic that is required and left out.
        live: names of a kind that the servers know, for completion.
    """

    store: str | None = None
    topic: str | None = None
    live: Live = lambda ctx, kind: ()


if TYPE_CHECKING:
    TypeOfObject = click.ParamType[object]
    ChoiceOfText = click.Choice[str]
else:
    # Generic since click 8.2 and 8.5.
    TypeOfObject, ChoiceOfText = click.ParamType, click.Choice


class TextType(TypeOfObject):
    """A value that a function reads from its text; ``metavar`` stands for it in the help."""

    name = "text"

    def __init__(
        self, kind: ValueKind = ValueKind.TEXT, read: Read = str, *, metavar: str = ""
    ) -> None:
        self.kind = kind
        self.read = read
        self.metavar = metavar

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return the value of the text; fails if it is not valid."""
        if not isinstance(value, str):
            return value
        if self.kind in NAMES and not value.strip():
            self.fail("is empty", param, ctx)
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin with what is typed."""
        if self.kind in PATHS:
            return [CompletionItem(incomplete, type=PATHS[self.kind])]
        names: Sequence[str] = ()
        if self.kind is ValueKind.COLUMN:
            names = _columns_of(ctx.command)
        elif self.kind is not ValueKind.TEXT:
            names = cast(ParseContext, ctx.obj).live(ctx, self.kind)
        what = self.kind.name.lower()
        return [CompletionItem(name, what=what) for name in names if name.startswith(incomplete)]


class Choice(ChoiceOfText):
    """One of a few words, in any case.

    ``make`` turns the word into a value of another type, as an Enum does.
    """

    def __init__(self, words: Sequence[str], make: Read = str) -> None:
        super().__init__(words, case_sensitive=False)
        self.make = make

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the value of one of the words."""
        if type(value) is not str:
            return value
        # click would compare them as it compares names of options.
        words = {word.lower(): word for word in self.choices}
        if value.lower() not in words:
            self.fail(f"{value!r} is not one of {', '.join(self.choices)}", param, ctx)
        return self.make(words[value.lower()])

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the words that begin with what is typed."""
        typed = incomplete.lower()
        return [
            CompletionItem(word, what=param.name.rstrip("_"), choice=True)
            for word in self.choices
            if word.lower().startswith(typed)
        ]


def _columns_of(made: click.Command) -> list[str]:
    """Return what ``--columns`` takes of a command."""
    # Only Tab needs it.
    from mqadmin.output.columns import columns_of

    rows = getattr(made, "rows", None)
    return [column.name for column in columns_of(rows)] if rows is not None else []


class Integer(click.IntRange):
    """A whole number from ``min`` to ``max``, as wide as any field of a request or a file."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the number of the text; fails if it is not a number, or out of range."""
        if not isinstance(value, str):
            return value
        if WHOLE.fullmatch(value.strip()) is None:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        number = int(value)
        if not LONG_MIN <= number <= LONG_MAX:
            said = f"{value!r} is out of range; expected {LONG_MIN} to {LONG_MAX}"
            self.fail(said, param, ctx)
        if self.min is not None and number < self.min:
            self.fail(f"{number} is below {self.min}", param, ctx)
        if self.max is not None and number > self.max:
            self.fail(f"{number} is above {self.max}", param, ctx)
        return number


WHOLE: Final = re.compile(r"[+-]?[0-9]+")
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


def truth(text: str) -> bool:
    """Read ``true`` or ``false`` as the Java flags spell them.

    Raises:
        ValueError: it is neither.
    """
    lowered = text.strip().lower()
    if lowered not in {"true", "false"}:
        raise ValueError(f"{text!r} is neither true nor false")
    return lowered == "true"


def falsehood(text: str) -> bool:
    """Read a Java flag that says the opposite of ours.

    Raises:
        ValueError: it is neither true nor false.
    """
    return not truth(text)


def non_negative(text: str) -> float:
    """Read a number, with a fraction or without, that is not below zero.

    Raises:
        ValueError: the text is not valid.
    """
    value = _number(text)
    if value < 0:
        raise ValueError(f"{text} is negative")
    return value


def positive(text: str) -> float:
    """Read a number above zero, with a fraction or without.

    Raises:
        ValueError: the text is not valid.
    """
    value = _number(text)
    if value <= 0:
        raise ValueError(f"{text!r} is not positive")
    return value


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not isfinite(value):
        raise ValueError(f"{text!r} is not a number")
    return value


def parse_name_value(text: str) -> tuple[str, str]:
    """Read ``NAME=VALUE``.

    Raises:
        ValueError: the name or the equals sign is missing.
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ValueError(f"{text!r} is not NAME=VALUE")
    return name, value


def split_at_commas(texts: Iterable[str]) -> list[str]:
    """Return words that stand alone or, as Java's tool takes them, joined by commas."""
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def path_of(text: str) -> os.PathLike[str]:
    """Return the path that a text is."""
    # Only commands that take a path should wait for the module.
    from pathlib import Path

    return Path(text)


TOPIC: Final = TextType(ValueKind.TOPIC)
GROUP: Final = TextType(ValueKind.GROUP)
BROKER: Final = TextType(ValueKind.BROKER)
CLUSTER: Final = TextType(ValueKind.CLUSTER)
CLIENT: Final = TextType(ValueKind.CLIENT)
CONTEXT: Final = TextType(ValueKind.CONTEXT)
ADDRESS: Final = TextType(ValueKind.ADDRESS)
QUEUE: Final = TextType(ValueKind.QUEUE, metavar="ID|BROKER:ID")
FILE: Final = TextType(ValueKind.FILE)
DIR: Final = TextType(ValueKind.DIR)
FILE_PATH: Final = TextType(ValueKind.FILE, path_of)
"""As ``FILE``; the command gets a ``Path``."""
DIR_PATH: Final = TextType(ValueKind.DIR, path_of)
INTEGER: Final = Integer()
BOOLEAN: Final = Choice(("true", "false"), truth)
"""Yes or no where a third answer, nothing, leaves a setting as it is."""
PORT: Final = Integer(min=0, max=65535)
NUMBER: Final = TextType(read=non_negative, metavar="NUMBER")
POSITIVE: Final = TextType(read=positive, metavar="NUMBER")
SECONDS: Final = TextType(read=positive, metavar="SECONDS")
NAME_VALUE: Final = TextType(read=parse_name_value, metavar="NAME=VALUE")
