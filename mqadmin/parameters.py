"""Arguments and options of a command, declared once as the fields of a dataclass.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Send:
        topic: Annotated[str, argument("topic to send to", kind=Kind.TOPIC)]
        body: Annotated[str | None, argument("the text; '-' reads standard input")] = None
        tag: Annotated[str | None, option("tag of the message")] = None
        key: Annotated[tuple[str, ...], option("a key", short="k")] = ()

Rule: the annotation says everything: no default means required, ``bool`` is a flag,
``tuple[X, ...]`` may be repeated, ``Literal`` and ``Enum`` list the choices, and ``parse``
turns the text into any other type. Parser, help, completion and docs read ``Parameter``.
"""

import re
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from enum import Enum, auto
from os import PathLike
from typing import (
    Annotated,
    Final,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

Parse = Callable[[str], object]


class Kind(Enum):
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


class Declared(NamedTuple):
    """What ``argument`` or ``option`` says about a field."""

    help: str
    positional: bool
    kind: Kind
    short: str
    metavar: str
    parse: Parse | None
    implied: str = ""


class Parameter(NamedTuple):
    """One argument or option with its types worked out.

    Attributes:
        name: attribute of the dataclass; ``long`` is the same with dashes.
        takes_value: False for a flag.
        many: may be given more than once (option) or takes the rest (argument).
        choices: the words that are allowed, or empty.
        implied: the value where the option is given without one; empty: it needs one.
    """

    name: str
    help: str
    positional: bool
    required: bool
    takes_value: bool
    many: bool
    kind: Kind
    short: str
    metavar: str
    choices: tuple[str, ...]
    parse: Parse
    default: object
    implied: str = ""

    @property
    def long(self) -> str:
        """Return the name as it is typed: ``queue_count`` is ``queue-count``.

        A name that is a word of Python has a trailing ``_``: ``from_`` is ``from``.
        """
        return self.name.rstrip("_").replace("_", "-")


def argument(
    help: str,  # noqa: A002
    *,
    kind: Kind = Kind.TEXT,
    metavar: str = "",
    parse: Parse | None = None,
) -> Declared:
    """Declare a field that is given by its place on the line."""
    return Declared(help, True, kind, "", metavar, parse)


def option(
    help: str,  # noqa: A002
    *,
    short: str = "",
    kind: Kind = Kind.TEXT,
    metavar: str = "",
    parse: Parse | None = None,
    implied: str = "",
) -> Declared:
    """Declare a field that is given as ``--name VALUE``, or ``-x VALUE`` with ``short``.

    Args:
        implied: what a bare ``--name`` stands for; then the next word is its value only
            where it parses as one.
    """
    return Declared(help, False, kind, short, metavar, parse, implied)


def parameters_of(declaration: type) -> tuple[Parameter, ...]:
    """Return the parameters of a dataclass in the order of its fields.

    Raises:
        TypeError: a field has no ``argument`` or ``option``, or a type without ``parse``.
    """
    hints = get_type_hints(declaration, include_extras=True)
    found = []
    for spot in fields(declaration):
        annotation = hints[spot.name]
        if get_origin(annotation) is not Annotated:
            raise TypeError(f"{declaration.__name__}.{spot.name} has no argument() or option()")
        inner, declared = get_args(annotation)[:2]
        found.append(_parameter(spot.name, inner, declared, default=spot.default))
    return tuple(found)


def leaves_value_out(parameter: Parameter, rest: Sequence[str]) -> bool:
    """Return whether an option that may stand alone does so before the words ``rest``."""
    if not parameter.implied:
        return False
    if not rest:
        return True
    try:
        parameter.parse(rest[0])
    except ValueError:
        return True
    return False


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


def _parameter(name: str, inner: object, declared: Declared, *, default: object) -> Parameter:
    required = default is MISSING
    kept = None if required else default
    plain = _without_none(inner)
    many = get_origin(plain) is tuple
    if many:
        plain = get_args(plain)[0]
    flag = plain is bool and not declared.positional
    choices = _choices(plain)
    return Parameter(
        name=name,
        help=declared.help,
        positional=declared.positional,
        required=required,
        takes_value=not flag,
        many=many,
        kind=declared.kind,
        short=declared.short,
        metavar=declared.metavar or ("|".join(choices) or name.rstrip("_").upper()),
        choices=choices,
        parse=declared.parse or _parser_of(name, plain),
        default=kept,
        implied=declared.implied,
    )


def _without_none(annotation: object) -> object:
    if get_origin(annotation) in {Union, types.UnionType}:
        left = [part for part in get_args(annotation) if part is not type(None)]
        return left[0] if len(left) == 1 else annotation
    return annotation


def _choices(plain: object) -> tuple[str, ...]:
    if get_origin(plain) is Literal:
        return tuple(str(word) for word in get_args(plain))
    if isinstance(plain, type) and issubclass(plain, Enum):
        return tuple(str(member.value) for member in plain)
    return ()


def _parser_of(name: str, plain: object) -> Parse:
    if plain is bool:
        return truth
    if plain is int:
        return _whole_number
    if plain in {str, float}:
        return _TEXT_PARSERS[plain]
    if get_origin(plain) is Literal:
        return str
    # `Path` is loaded by the commands that take one.
    if isinstance(plain, type) and issubclass(plain, (Enum, PathLike)):
        return plain
    raise TypeError(f"{name}: say how to parse {plain}")


def _whole_number(text: str) -> int:
    if WHOLE.fullmatch(text.strip()) is None:
        raise ValueError(f"{text!r} is not a whole number")
    # No field of a request or a file is wider.
    if not LONG_MIN <= int(text) <= LONG_MAX:
        raise ValueError(f"{text!r} is out of range; expected {LONG_MIN} to {LONG_MAX}")
    return int(text)


WHOLE: Final = re.compile(r"[+-]?[0-9]+")
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


_TEXT_PARSERS: dict[object, Parse] = {str: str, float: float}
