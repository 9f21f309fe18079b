"""The progress of a long command: one line on standard error, from the third second on.

    rebuild: 45 % of 12.0 GiB, 310 MiB/s, 21 s left

Rule: nothing is shown for two seconds. On a terminal rich draws a bar and erases it at the end;
elsewhere the line is printed every ten seconds, so that a log file stays short. Rows on standard
output never wait for it.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Self

from mqadmin.output.terminal.cells import size_text
from mqadmin.session.console import Console, printable

if TYPE_CHECKING:
    from rich.live import Live

QUIET_S: Final = 2.0
REDRAW_S: Final = 0.2
REPRINT_S: Final = 10.0
BAR_WIDTH: Final = 24


class Progress:
    """The line of one command; call it with the amount done and the total.

    Args:
        console: where it is shown.
        label: the first word of the line.
        unit: what is counted; bytes where left out.
        clock: seconds, for tests.
    """

    def __init__(
        self,
        console: Console,
        label: str,
        *,
        unit: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._label = label
        self._unit = unit
        self._clock = clock
        self._started_s = clock()
        self._shown_s = self._started_s + QUIET_S
        self._on_tty = console.err.isatty()
        self._bar: Live | None = None

    def __call__(self, done_count: int, total: int) -> None:
        """Show that ``done_count`` of ``total`` is done; ``total`` is 0 if unknown."""
        now_s = self._clock()
        if now_s < self._shown_s:
            return
        self._shown_s = now_s + (REDRAW_S if self._on_tty else REPRINT_S)
        text = self.text(done_count, total, now_s - self._started_s)
        if self._on_tty:
            self._draw(text, done_count, total)
        else:
            self._console.err.write(f"{text}\n")
            self._console.err.flush()

    def _draw(self, text: str, done_count: int, total: int) -> None:
        # Only a terminal needs rich.
        from rich.columns import Columns
        from rich.console import RenderableType
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        from mqadmin.output.terminal.live import console_of

        if self._bar is None:
            color = "NO_COLOR" not in self._console.env
            console = console_of(self._console.err, color=color)
            self._bar = Live(
                console=console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.start()
        parts: list[RenderableType] = [Text(printable(text))]
        if total > 0:
            parts.insert(0, ProgressBar(total=total, completed=done_count, width=BAR_WIDTH))
        self._bar.update(Columns(parts), refresh=True)

    def text(self, done_count: int, total: int, spent_s: float) -> str:
        """Return the line."""
        if self._unit:
            return f"{self._label}: {done_count} of {total} {self._unit}, {_span(spent_s)}"
        rate = done_count / spent_s if spent_s > 0 else 0.0
        if total <= 0:
            return f"{self._label}: {size_text(done_count)}, {size_text(rate)}/s"
        percent = min(100, done_count * 100 // total)
        left = (
            f", {_span((total - done_count) / rate)} left"
            if rate > 0 and done_count < total
            else ""
        )
        return f"{self._label}: {percent} % of {size_text(total)}, {size_text(rate)}/s{left}"

    def close(self) -> None:
        """Wipe the bar from a terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _span(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
