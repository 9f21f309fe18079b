"""Pictures of a store as SVG text: bars, a strip of cells, a map of files.

Rule: pure text in, text out, no script. Colours are CSS classes of the page, so that a
picture is light or dark with it. Every text from a store goes through ``safe``, which shows
control characters and escapes markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from mqadmin.output.shorten import cell_width

WIDTH: Final = 960
LABEL_WIDTH: Final = 260
LABEL_CHARS: Final = 38
CHAR_WIDTH: Final = 8
"""The largest width of a character in the font of the page, in its units."""
VALUE_WIDTH: Final = 110
ROW: Final = 24
CELL_MAX: Final = 40


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: ``share`` of the longest (0 to 1), its text, its tooltip."""

    label: str
    share: float
    value: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class FileStrip:
    """One file: used part (0 to 1), and (start, size, severity) of what is damaged, 0 to 1."""

    label: str
    used: float
    marks: tuple[tuple[float, float, str], ...]
    value: str


def safe(text: object) -> str:
    """Return text for a page: control and invisible characters shown, markup escaped."""
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in str(text)
    )
    return escape(shown, quote=True)


def cut(text: str, size: int = LABEL_CHARS) -> str:
    """Return at most ``size`` characters: the start and the end of a long name."""
    return text if len(text) <= size else f"{text[: size - 12]}…{text[-11:]}"


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Return a bar for each row, labels to the left, values to the right."""
    parts, room = [], WIDTH - LABEL_WIDTH - VALUE_WIDTH
    for number, bar in enumerate(rows):
        y = number * ROW
        width = max(1.0, min(1.0, max(0.0, bar.share)) * room) if bar.share > 0 else 0.0
        parts.append(
            f"<g><title>{safe(bar.hint or bar.label)}</title>"
            f"{_label(bar.label, y)}"
            f'<rect class="track" x="{LABEL_WIDTH}" y="{y + 4}" width="{room}" height="16" rx="3"/>'
            f'<rect class="bar" x="{LABEL_WIDTH}" y="{y + 4}" width="{width:.1f}" height="16" '
            f'rx="3"/>{_value(bar.value, y)}</g>'
        )
    return _svg(title, len(rows) * ROW, parts)


def columns(title: str, values: Sequence[tuple[int, str]], labels: Sequence[str]) -> str:
    """Return columns over time.

    Args:
        values: (height in any unit, tooltip) of each column.
        labels: the texts below: first, middle and last.
    """
    height, top = 180, max((value for value, _ in values), default=0) or 1
    step = (WIDTH - 70) / max(1, len(values))
    parts = [
        f'<line class="axis" x1="70" y1="{height}" x2="{WIDTH}" y2="{height}"/>',
        f'<text class="value" x="62" y="14" text-anchor="end">{top:,}</text>',
        f'<text class="value" x="62" y="{height}" text-anchor="end">0</text>',
        f'<line class="grid" x1="70" y1="8" x2="{WIDTH}" y2="8"/>',
    ]
    for number, (value, hint) in enumerate(values):
        if value:
            tall = max(1.5, value / top * (height - 8))
            parts.append(
                f'<rect class="bar" x="{70 + number * step:.2f}" y="{height - tall:.1f}" '
                f'width="{max(0.8, step * 0.86):.2f}" height="{tall:.1f}">'
                f"<title>{safe(hint)}</title></rect>"
            )
    for index, (label, anchor) in enumerate(zip(labels, ("start", "middle", "end"), strict=False)):
        x = 70 + (WIDTH - 70) * index / 2
        parts.append(
            f'<text class="label" x="{x:.0f}" y="{height + 20}" text-anchor="{anchor}">'
            f"{safe(label)}</text>"
        )
    return _svg(title, height + 28, parts)


def cells(title: str, rows: Sequence[tuple[str, Sequence[tuple[float, str]], str]]) -> str:
    """Return a strip of cells for each row; darker cells hold more.

    Args:
        rows: (label, (share 0 to 1, tooltip) of each cell, value to the right).
    """
    parts, room = [], WIDTH - LABEL_WIDTH - VALUE_WIDTH
    for number, (label, state, value) in enumerate(rows):
        y, step = number * ROW, min(CELL_MAX, room / max(1, len(state)))
        parts.append(_label(label, y))
        for place, (share, hint) in enumerate(state):
            opacity = 0.12 + 0.88 * min(1.0, max(0.0, share)) if share > 0 else 0.05
            parts.append(
                f'<rect class="bar" opacity="{opacity:.2f}" x="{LABEL_WIDTH + place * step:.2f}" '
                f'y="{y + 3}" width="{max(0.5, step - 2):.2f}" height="18" rx="2">'
                f"<title>{safe(hint)}</title></rect>"
            )
        parts.append(_value(value, y))
    return _svg(title, len(rows) * ROW, parts)


def file_map(title: str, rows: Sequence[FileStrip]) -> str:
    """Return a strip for each file: the used part, and where damage is."""
    parts, room = [], WIDTH - LABEL_WIDTH - VALUE_WIDTH
    for number, strip in enumerate(rows):
        y = number * ROW
        parts.append(
            f"{_label(strip.label, y)}"
            f'<rect class="track" x="{LABEL_WIDTH}" y="{y + 5}" width="{room}" height="14"/>'
            f'<rect class="used" x="{LABEL_WIDTH}" y="{y + 5}" '
            f'width="{min(1.0, max(0.0, strip.used)) * room:.1f}" height="14"/>'
        )
        for start, size, severity in strip.marks:
            x = LABEL_WIDTH + min(1.0, max(0.0, start)) * room
            width = max(2.0, min(size, 1.0 - min(start, 1.0)) * room)
            parts.append(
                f'<rect class="{safe(severity)}" x="{min(x, LABEL_WIDTH + room - 2):.1f}" '
                f'y="{y + 2}" width="{width:.1f}" height="20"/>'
            )
        parts.append(_value(strip.value, y))
    return _svg(title, len(rows) * ROW, parts)


def _label(text: str, y: int) -> str:
    """Return the name of a row, squeezed if it is wider than its column."""
    shown, room = cut(text), LABEL_WIDTH - 14
    squeeze = ""
    if cell_width(shown) * CHAR_WIDTH > room:
        squeeze = f' textLength="{room}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text class="label" x="{LABEL_WIDTH - 10}" y="{y + 16}" text-anchor="end"{squeeze}>'
        f"<title>{safe(text)}</title>{safe(shown)}</text>"
    )


def _value(text: str, y: int) -> str:
    """Return the text at the right end of a row."""
    return f'<text class="value" x="{WIDTH}" y="{y + 16}" text-anchor="end">{safe(text)}</text>'


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" aria-label="{safe(title)}" viewBox="0 0 {WIDTH} {max(1, height)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )
