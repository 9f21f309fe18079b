"""How far a long command is: one line on standard error, from the third second on.

    rebuild: 45 % of 12.0 GiB, 310 MiB/s, 21 s left

Rule: nothing is shown for what is done in two seconds. On a terminal the line is drawn
over itself and wiped at the end; elsewhere it is printed anew every ten seconds, so that
a log file stays short. Rows on standard output never wait for it.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from mqadmin.console import Console

QUIET_S: Final = 2.0
REDRAW_S: Final = 0.2
REPRINT_S: Final = 10.0
_WIPE: Final = "\r\x1b[K"
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


class Progress:
    """The line of one command; call it with what is done and the total.

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
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` is done; ``total`` 0 where it is not known."""
        now_s = self._clock()
        if now_s < self._shown_s:
            return
        self._shown_s = now_s + (REDRAW_S if self._on_tty else REPRINT_S)
        text = self.text(done, total, now_s - self._started_s)
        err = self._console.err
        err.write(f"{_WIPE}{text}" if self._on_tty else f"{text}\n")
        err.flush()
        self._drawn = self._on_tty

    def text(self, done: int, total: int, spent_s: float) -> str:
        """Return the line."""
        if self._unit:
            return f"{self._label}: {done} of {total} {self._unit}, {_span(spent_s)}"
        rate = done / spent_s if spent_s > 0 else 0.0
        if total <= 0:
            return f"{self._label}: {_size(done)}, {_size(rate)}/s"
        percent = min(100, done * 100 // total)
        left = f", {_span((total - done) / rate)} left" if rate > 0 and done < total else ""
        return f"{self._label}: {percent} % of {_size(total)}, {_size(rate)}/s{left}"

    def close(self) -> None:
        """Wipe the line from a terminal."""
        if self._drawn:
            self._console.err.write(_WIPE)
            self._console.err.flush()
            self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _size(count: float) -> str:
    value = float(count)
    for unit in _UNITS[:-1]:
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} {_UNITS[-1]}"


def _span(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
