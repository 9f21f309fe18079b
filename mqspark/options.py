"""Options of sources and jobs: declared once, for the reader, for its errors and for the docs.

    STORE = (Option("splitBytes", "the most bytes of a task", size, "256m"), …)
    given = values({"splitBytes": "1k"}, STORE, of="rocketmq_store")
    given["splitBytes"]                     1024; a default that is None stays None

Rule: a reader takes the text and returns the value, or raises ValueError with what it expected; the
error that a user sees names the option and the text. Spark lower-cases names, so they are looked up
without regard to case, and unknown names are refused.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from mqspark.errors import BadOption

_UNITS: Final = ("", "k", "m", "g", "t", "p")
_SIZE: Final = re.compile(r"(?P<count>[0-9]+)\s*(?P<unit>[kmgtp]?)(?:i?b)?")
REQUIRED: Final = "(required)"


class Option(NamedTuple):
    """One option.

    Attributes:
        name: as people write it.
        doc: what it does, as the docs print it.
        read: reads its text.
        default: the text that counts if it is not given; None for the value None.
        shown: what the docs print as its default, if not ``default``.
    """

    name: str
    doc: str
    read: Callable[[str], Any] = str
    default: str | None = None
    shown: str = ""


def values(
    given: Mapping[str, str], declared: Iterable[Option], *, of: str, own: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the value of every declared option by its name.

    Args:
        given: texts by name.
        declared: the options.
        of: the source or job, for errors.
        own: names that somebody else reads.

    Raises:
        BadOption: an option is unknown or missing, or has an invalid value.
    """
    declared = tuple(declared)
    options_by_name = {option.name.lower(): option for option in declared}
    for name in given:
        if name.lower() not in options_by_name and name.lower() not in {
            each.lower() for each in own
        }:
            names = ", ".join(option.name for option in declared) or "none"
            raise BadOption(f"{of} has no option {name!r}; it has {names}")
    texts = {name.lower(): text for name, text in given.items()}
    return {option.name: _value(option, texts.get(option.name.lower()), of) for option in declared}


def _value(option: Option, text: str | None, of: str) -> Any:
    if text is None:
        text = option.default
    if text is None:
        return None
    if text == REQUIRED:
        raise BadOption(f"{of} needs the option {option.name}")
    try:
        return option.read(text)
    except ValueError as error:
        raise BadOption(f"option {option.name} is {text!r}, {error}") from error


def number(least: int = 1) -> Callable[[str], int]:
    """Return the reader of a whole number of at least ``least``."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ValueError(f"expected a whole number of at least {least}")
        return int(text)

    return read


def size(text: str) -> int:
    """Read a size of at least 1 byte, as Spark writes sizes: ``256m``, ``1g``."""
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None or not int(match["count"]):
        raise ValueError("expected a whole number of bytes of at least 1, or as 64k, 256m, 1g")
    return int(match["count"]) << 10 * _UNITS.index(match["unit"])


def one_of(*words: str) -> Callable[[str], str]:
    """Return the reader of one of some words, in lower case."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"expected {' or '.join(words)}")
        return text.lower()

    return read


def truth(text: str) -> bool:
    """Read ``true`` or ``false``."""
    return one_of("false", "true")(text) == "true"


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def time_ms(text: str) -> int:
    """Read a time as ms since 1970, or as ISO 8601; without a zone it is UTC."""
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("expected ms since 1970, or a time as 2026-11-23T10:00:00Z") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
