"""What the screen shows and what a key does, without a screen.

    mode       key       becomes
    BROWSING   q         quit
    BROWSING   s r       sort by the next column, reverse the order
    BROWSING   tab       only brokers, groups, topics, all again
    BROWSING   /         FILTERING: letters, backspace; enter keeps it, escape drops it
    BROWSING   space     pause, and continue
    BROWSING   up down   scroll
    BROWSING   ? h       HELP: what the keys do; q quits, any other key goes back

Rule: pure; ``press`` takes a state and a key to the next state, ``draw`` makes lines that
never are wider or more than the terminal.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from mqadmin.output.shorten import cell_width, cut
from mqadmin.session.console import printable
from mqadmin.top.sample import TopRow

SECTIONS: Final = ("all", "broker", "group", "topic")
"""In the order of the screen: a group that is behind stands above topics that are idle."""
SORTS: Final = ("busy", "lag", "in", "out", "name")
NAME_WIDTH_MIN: Final = 10
KEYS_LINE: Final = "q quit  ? help  s sort  r reverse  tab section  / filter  space pause"
HELP_TEXT: Final = (
    "q        quit",
    "s        sort by the next of busy, lag, in, out, name; busy puts groups first",
    "         that are furthest behind",
    "r        reverse the order",
    "tab      only brokers, only groups, only topics, or everything",
    "/        show only names with these letters; Enter keeps it, Escape drops it",
    "space    pause, and continue",
    "down up  scroll; the second line says how much there is",
    "? or h   this text; any key goes back",
    "",
    "IN/S, OUT/S  messages a second; those of a broker are its own over ten seconds",
    "LAG          messages that a group has not read",
    "SLAVE LAG    bytes of commit log that a slave lacks",
    "REPLICA      its standing in a group with a controller, and the epoch of its log",
)


class InputMode(Enum):
    """What keys mean."""

    BROWSING = auto()
    FILTERING = auto()
    HELP = auto()


@dataclass(frozen=True, slots=True)
class View:
    """What a person has chosen to see."""

    mode: InputMode = InputMode.BROWSING
    section: str = "all"
    sort: str = "busy"
    reverse: bool = False
    text: str = ""
    paused: bool = False
    offset: int = 0
    quit: bool = False


def press(view: View, key: str) -> View:
    """Return the view after a key; one that means nothing changes nothing."""
    if view.mode is InputMode.HELP and key != "q":
        return replace(view, mode=InputMode.BROWSING)
    act = ACTIONS.get((view.mode, key))
    if act is not None:
        return act(view)
    if view.mode is InputMode.FILTERING and len(key) == 1 and key.isprintable():
        return replace(view, text=view.text + key, offset=0)
    return view


def _next(names: Sequence[str], name: str) -> str:
    return names[(names.index(name) + 1) % len(names)]


ACTIONS: Final[dict[tuple[InputMode, str], Callable[[View], View]]] = {
    (InputMode.BROWSING, "q"): lambda view: replace(view, quit=True),
    (InputMode.BROWSING, "s"): lambda view: replace(view, sort=_next(SORTS, view.sort), offset=0),
    (InputMode.BROWSING, "r"): lambda view: replace(view, reverse=not view.reverse),
    (InputMode.BROWSING, "tab"): lambda view: replace(
        view, section=_next(SECTIONS, view.section), offset=0
    ),
    (InputMode.BROWSING, "/"): lambda view: replace(
        view, mode=InputMode.FILTERING, text="", offset=0
    ),
    (InputMode.BROWSING, " "): lambda view: replace(view, paused=not view.paused),
    (InputMode.BROWSING, "up"): lambda view: replace(view, offset=max(0, view.offset - 1)),
    (InputMode.BROWSING, "down"): lambda view: replace(view, offset=view.offset + 1),
    **{
        (InputMode.BROWSING, key): lambda view: replace(view, mode=InputMode.HELP)
        for key in ("?", "h")
    },
    (InputMode.HELP, "q"): lambda view: replace(view, quit=True),
    (InputMode.BROWSING, "escape"): lambda view: replace(view, text="", offset=0),
    (InputMode.FILTERING, "enter"): lambda view: replace(view, mode=InputMode.BROWSING),
    (InputMode.FILTERING, "escape"): lambda view: replace(view, mode=InputMode.BROWSING, text=""),
    (InputMode.FILTERING, "backspace"): lambda view: replace(view, text=view.text[:-1]),
}


def select_rows(view: View, rows: Sequence[TopRow]) -> list[TopRow]:
    """Return the rows that the view shows, in its order, section by section."""
    kept = [
        row
        for row in rows
        if view.section in ("all", row.kind) and view.text.lower() in row.name.lower()
    ]
    kept.sort(key=lambda row: row.name, reverse=view.sort == "name" and view.reverse)
    if view.sort != "name":
        kept.sort(key=_SORT_KEYS[view.sort], reverse=not view.reverse)
    return sorted(kept, key=lambda row: SECTIONS.index(row.kind))


_SORT_KEYS: Final[dict[str, Callable[[TopRow], tuple[float, ...]]]] = {
    "busy": lambda row: (row.lag or 0, (row.in_tps or 0) + (row.out_tps or 0)),
    "lag": lambda row: (row.lag if row.lag is not None else row.slave_lag or 0,),
    "in": lambda row: (row.in_tps or 0,),
    "out": lambda row: (row.out_tps or 0,),
}


def draw(view: View, rows: Sequence[TopRow], *, title: str, width: int, height: int) -> list[str]:
    """Return the lines of the screen."""
    if view.mode is InputMode.HELP:
        lines = [*[title, "", *HELP_TEXT][: height - 1], "any key goes back"]
        return [cut(printable(line), width) for line in lines]
    body = _body(view, rows, width=width)
    room = _room(height)
    start = min(view.offset, max(0, len(body) - room))
    shown = body[start : start + room]
    lines = [title, _status(view, start=start, shown=len(shown), count=len(body))]
    lines += shown or ["nothing to show"]
    lines.append(f"filter: {view.text}_" if view.mode is InputMode.FILTERING else KEYS_LINE)
    return [cut(printable(line), width) for line in lines[:height]]


def within(view: View, rows: Sequence[TopRow], *, height: int) -> View:
    """Return the view scrolled no further than the last line, so that `up` works at once."""
    last = max(0, len(_body(view, rows, width=80)) - _room(height))
    return view if view.offset <= last else replace(view, offset=last)


def _room(height: int) -> int:
    """Return the lines between the two at the top and the one at the bottom."""
    return max(1, height - 3)


def _body(view: View, rows: Sequence[TopRow], *, width: int) -> list[str]:
    body: list[str] = []
    section = ""
    has_replicas = any(row.replica is not None for row in rows)
    for row in select_rows(view, rows):
        if row.kind != section:
            section = row.kind
            body += ([""] if body else []) + [
                _line(*_head(section, has_replicas=has_replicas), width=width)
            ]
        body.append(_line(*_cells(row, has_replicas=has_replicas), width=width))
    return body


def _status(view: View, *, start: int, shown: int, count: int) -> str:
    parts = [f"sort {view.sort}{' reversed' if view.reverse else ''}", f"show {view.section}"]
    if view.text:
        parts.append(f"filter {view.text}")
    if shown < count:
        more = "down: more" if start + shown < count else "up: more"
        parts.append(f"lines {start + 1}-{start + shown} of {count}, {more}")
    if view.paused:
        parts.append("PAUSED")
    return " | ".join(parts)


def _head(section: str, *, has_replicas: bool) -> tuple[str, tuple[str, ...]]:
    return section.upper(), {
        "broker": (*(("REPLICA",) if has_replicas else ()), "IN/S", "OUT/S", "DISK", "SLAVE LAG"),
        "topic": ("IN/S", "OUT/S"),
        "group": ("OUT/S", "LAG", "MEMBERS"),
    }[section]


def _cells(row: TopRow, *, has_replicas: bool) -> tuple[str, tuple[str, ...]]:
    if row.error is not None:
        return f"{row.name}  {row.error}", ()
    if row.kind == "broker":
        disk = "-" if row.disk_ratio is None else f"{row.disk_ratio:.0%}"
        replica = (row.replica or "-",) if has_replicas else ()
        numbers = (_text(row.in_tps), _text(row.out_tps), disk, _text(row.slave_lag))
        return row.name, (*replica, *numbers)
    if row.kind == "topic":
        return row.name, (_text(row.in_tps), _text(row.out_tps))
    return row.name, (_text(row.out_tps), _text(row.lag), _text(row.members))


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:g}" if abs(value) < 1e6 else f"{value:.3g}"


def _line(name: str, cells: Sequence[str], *, width: int) -> str:
    """Return a name and its numbers; where it is narrow the last numbers go first."""
    shown = list(cells)
    while shown and width - len(shown) * 11 < NAME_WIDTH_MIN:
        shown.pop()
    room = max(1, width - len(shown) * 11)
    text = cut(printable(name), room)
    return text + " " * (room - cell_width(text)) + "".join(f"{cell:>11}" for cell in shown)
