"""Draws docs/screen-*.svg: tables as a terminal of 80 and of 120 columns shows them.

The rows are made up and the clock stands still, so the pictures are the same every time, and a
test holds them against the code. ``docs.pictures`` draws the commands that need servers.
"""

import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from rich.console import Console
from rich.text import Text

from mqadmin.cli.parse import load
from mqadmin.commands.group.lag import QueueLag
from mqadmin.commands.lock import LockRow
from mqadmin.output.columns import choose, record_of
from mqadmin.output.formats import printer_for
from mqadmin.output.printer import Look
from mqadmin.output.rows import Row

NOW_MS: Final = 1_795_000_000_000
WIDTHS: Final = (80, 120)
FONT_FACE: Final = re.compile(r"\s*@font-face \{[^}]*\}")


def lags() -> list[Row]:
    """Return what `group lag` says of two groups on two brokers."""
    made: list[Row] = []
    for group, topic, lag in (("billing", "orders", 12), ("mailing", "orders", 104_212)):
        for broker in ("broker-a", "broker-b"):
            for queue_id in (0, 1):
                end = 1_204_311 + 977 * queue_id
                behind = lag * queue_id
                made.append(
                    QueueLag(
                        group=group,
                        topic=topic,
                        broker=broker,
                        queue_id=queue_id,
                        broker_offset=end,
                        consumer_offset=end - behind,
                        lag=behind,
                        inflight=None,
                        client_id=f"192.0.2.{queue_id + 1}@app-{queue_id + 1}",
                        last_consumed_ms=NOW_MS - 3000 - 60_000 * min(behind, 30),
                        consume_tps=4.5,
                    )
                )
    return made


def locks() -> list[Row]:
    """Return what `lock list` says of a group with two members."""
    return [
        LockRow(
            group="billing",
            topic="orders",
            broker="broker-a",
            queue_id=queue_id,
            client_id=f"192.0.2.{queue_id % 2 + 1}@app-{queue_id % 2 + 1}",
            locked_ms=NOW_MS - 11_000,
            expires_ms=NOW_MS + 49_000 - 200 * queue_id,
            left_ms=49_000 - 200 * queue_id,
            waiting=(),
            exact=True,
        )
        for queue_id in range(4)
    ]


def drawn(words: str, rows: Sequence[Row], *, width: int) -> str:
    """Return the picture of a command's rows."""
    columns = choose(type(rows[0]), load(words).columns)
    out = io.StringIO()
    look = Look(
        names=tuple(column.name for column in columns), color=True, width=width, now_ms=NOW_MS
    )
    printer = printer_for("table", out, look)
    for row in rows:
        printer.row(record_of(row, columns))
    printer.end()
    lines = [Text.from_ansi(line) for line in out.getvalue().splitlines()]
    name = f"{words.replace(' ', '-')}-{width}"
    return picture(words, lines, width=width, title=f"mqadmin, {width} columns", name=name)


def picture(
    words: str, lines: Iterable[Text], *, width: int, title: str, name: str | None = None
) -> str:
    """Return the picture of a terminal with a command and what it shows.

    Args:
        words: the command.
        lines: what stands below it.
        width: of the terminal, in columns.
        title: of its window.
        name: what the parts of the picture are called by; None derives it from the content.
    """
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ mqadmin {words}", style="bold green"))
    for line in lines:
        console.print(line, overflow="crop", no_wrap=True)
    svg = console.export_svg(title=title, unique_id=name)
    # A document fetches nothing from elsewhere: the reader's own fixed-width font will do.
    return FONT_FACE.sub("", svg)


def screens() -> dict[str, Callable[[], str]]:
    """Return what draws each picture, by file name."""
    made: dict[str, Callable[[], str]] = {}
    for words, rows in (("group lag", lags()), ("lock list", locks())):
        for width in WIDTHS:
            name = f"screen-{words.replace(' ', '-')}-{width}.svg"
            made[name] = partial(drawn, words, rows, width=width)
    return made
