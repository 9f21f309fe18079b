"""The progress line: silent at first, then with rate and time left."""

import io

from mqadmin.output.terminal.progress import Progress
from tests.mqadmin.conftest import Terminal, console_on


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_nothing_is_shown_in_the_first_two_seconds() -> None:
    err, clock = io.StringIO(), Clock()

    with Progress(console_on(err), "verify", clock=clock) as progress:
        clock.now_s = 1.9
        progress(50, 100)

    assert err.getvalue() == ""


def test_a_log_file_gets_a_line_every_ten_seconds() -> None:
    err, clock = io.StringIO(), Clock()

    with Progress(console_on(err), "verify", clock=clock) as progress:
        for now_s in (2.0, 5.0, 11.9, 12.0):
            clock.now_s = now_s
            progress(int(now_s * 1024), 100 * 1024)

    assert err.getvalue().splitlines() == [
        "verify: 2 % of 100.0 KiB, 1.0 KiB/s, 1 min 38 s left",
        "verify: 12 % of 100.0 KiB, 1.0 KiB/s, 1 min 28 s left",
    ]


def test_a_bar_on_a_terminal_is_drawn_over_itself_and_wiped() -> None:
    err, clock = Terminal(), Clock()

    with Progress(console_on(err), "carve", clock=clock) as progress:
        clock.now_s = 4.0
        progress(4 << 30, 0)
        clock.now_s = 4.1
        progress(5 << 30, 0)

    assert "carve: 4.0 GiB, 1.0 GiB/s" in err.getvalue()
    assert "5.0 GiB" not in err.getvalue()
    # The line is erased, and the cursor is shown again.
    assert err.getvalue().endswith("\x1b[1A\x1b[2K")
    assert err.getvalue().index("\x1b[?25l") < err.getvalue().index("\x1b[?25h")
