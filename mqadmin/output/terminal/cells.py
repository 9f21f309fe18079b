"""One value as one cell of a terminal: its kind, its text, its colour.

    lag 12345                12,345         yellow
    2026-11-21T10:00:00.000Z 2026-11-21 10:00:00Z 3 s ago    or shorter, see ``TIME_FORMS``
    {"0": "10.0.0.1:10911"}  0=10.0.0.1:10911

Rule: pure, without rich. Every returned text went through ``printable``, because names and bodies
come from strangers.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final

from mqadmin.output.columns import Value
from mqadmin.output.delimited import cell_text
from mqadmin.output.times import age_text, epoch_ms_of
from mqadmin.session.console import printable


class ColumnKind(Enum):
    """The kind of a column, which decides how it shrinks on a narrow terminal."""

    NUMBER = auto()
    TIME = auto()
    BODY = auto()
    """Cut at its end, before anything else."""
    PROSE = auto()
    """Sentences, which continue on the next line."""
    NAME = auto()
    """Shortened in the middle, see ``shorten``."""


BODIES: Final = frozenset({"body", "body_base64", "properties", "excerpt", "hex", "text"})
PROSE: Final = frozenset(
    {
        *("hint", "remark", "found", "detail", "error", "note", "notes", "reason", "means"),
        "subject",
    }
)
STATES: Final = frozenset(
    {
        *("result", "severity", "status", "perm", "lag", "ok", "holds", "success", "online"),
        *("what", "bar", "sparkline", "standing", "how"),
    }
)
"""States that a person looks for in every row: coloured, and never moved into the title."""
UNGROUPED: Final = frozenset(
    {*("code", "pid", "port", "body_crc", "crc32", "key_hash", "tags_code", "magic", "id")}
)
WORDS: Final = frozenset({"version"})
"""RocketMQ's numbers that have a name."""
SIZE_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
EPOCH_MS_MIN: Final = 100_000_000_000
LAG_LARGE: Final = 10_000

GOOD, MILD, BAD, QUIET = "green", "yellow", "red", "dim"
STYLE_OF: Final[dict[str, str]] = {
    **dict.fromkeys(("changed", "created", "sent", "SEND_OK", "RW-", "RWX", "true", "same"), GOOD),
    **dict.fromkeys(
        ("would change", "not found", "not run", "warning", "R--", "-W-", "skipped"), MILD
    ),
    **dict.fromkeys(("refused", "unreachable", "error", "failed", "---", "false", "flapping"), BAD),
    **dict.fromkeys(("not moved", "unreadable", "ahead of the end", "below the minimum"), BAD),
    **dict.fromkeys(("unchanged", "info"), QUIET),
}


def column_kind_of(name: str, values: Sequence[Value]) -> ColumnKind:
    """Return what a column holds, by its name and its values."""
    present = [value for value in values if value is not None]
    if present and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in present
    ):
        return ColumnKind.NUMBER
    if name.endswith("_time") and all(isinstance(value, str) for value in present):
        return ColumnKind.TIME
    if name in BODIES:
        return ColumnKind.BODY
    return ColumnKind.PROSE if name in PROSE else ColumnKind.NAME


def text_of(name: str, value: Value) -> str:
    """Return a cell of a terminal, of any kind but a time."""
    if name in WORDS:
        return words_of(name, value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        is_instant = name.endswith("_ms") and value >= EPOCH_MS_MIN
        return str(value) if name in UNGROUPED or is_instant else f"{value:,}"
    return printable(value_text(value))


def words_of(name: str, value: Value) -> str:
    """Return a cell for people: a number that has a name by its name."""
    if name in WORDS and isinstance(value, int):
        # Most tables do not have such numbers.
        from mqadmin.output.versions import version_name

        return version_name(value)
    return printable(value_text(value))


def value_text(value: Value) -> str:
    """Return a cell for people: words for lists and for maps of words, else as in csv."""
    if isinstance(value, list) and not holds_nested(value):
        return ", ".join(cell_text(item) for item in value)
    if isinstance(value, dict) and not holds_nested(list(value.values())):
        return ", ".join(f"{key}={cell_text(item)}" for key, item in value.items())
    return cell_text(value)


def style_of(name: str, value: Value) -> str:
    """Return the colour of a value; empty for none."""
    if name == "lag" and isinstance(value, (int, float)):
        return GOOD if value <= 0 else MILD if value < LAG_LARGE else BAD
    if name == "error":
        return BAD if value else ""
    return STYLE_OF.get(cell_text(value), "") if name in STATES else ""


def _full(iso: str, ago: str) -> str:
    return f"{iso.replace('T', ' ')}{ago}"


def _seconds(iso: str, ago: str) -> str:
    return f"{iso[:19].replace('T', ' ')}Z{ago}"


def _short(iso: str, ago: str) -> str:
    is_near = ago.removesuffix(" ago").endswith((" s", " min", " now"))
    return f"{iso[11:19]}Z{ago}" if is_near else iso[:10] + ago


def _age(iso: str, ago: str) -> str:
    return ago.strip() or iso[11:23]


TIME_FORMS: Final[tuple[Callable[[str, str], str], ...]] = (_full, _seconds, _short, _age)
"""From the longest to the shortest; all times of a table have the same form."""


def time_text(value: Value, *, form: int, now_ms: int) -> str:
    """Return a time with its distance from now; ``now_ms`` 0 omits the distance."""
    if not isinstance(value, str):
        return ""
    epoch_ms = epoch_ms_of(value)
    if epoch_ms is None:
        return printable(value)
    ago = f" {age_text(epoch_ms, now_ms=now_ms)}" if now_ms else ""
    return TIME_FORMS[form](value, ago)


def size_text(size: float) -> str:
    """Return bytes as people read them."""
    value = float(size)
    for unit in SIZE_UNITS[:-1]:
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} {SIZE_UNITS[-1]}"


def holds_nested(values: Sequence[Value]) -> bool:
    """Return whether there is a list or a map among the values."""
    return any(isinstance(item, (list, dict)) for item in values)
