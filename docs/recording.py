"""Records docs/demo.cast and docs/demo.svg: the tour of ``mqadmin demo`` in a terminal.

    python -m docs.recording [DIRECTORY]

The tour is taken by a program that presses Enter and leaves the live views after a while. The cast
is a file of asciinema (version 2); the picture has the screen at the end of each step, one after
the other. Like the pictures of ``docs.pictures`` they are looked at, not compared.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import pexpect
import pyte

from mqadmin.demo.tour import BROKEN, LIVE

DIRECTORY: Final = Path(__file__).resolve().parent
COLUMNS: Final = 100
LINES: Final = 30
LOOK_S: Final = 4.0
"""How long a live view is looked at."""
IDLE_S_MAX: Final = 2.0
"""The longest pause in the cast."""
FRAME_S: Final = 4
PROMPT: Final = "press Enter to run it "
CTRL_C: Final = "\x03"
CELL: Final = (8.4, 18)


class Cast:
    """What a terminal gets: kept with its time, and drawn on a screen."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.Stream(self.screen)
        self._events: list[tuple[float, str, str]] = []
        self._at_s = 0.0
        self._last_s = time.monotonic()

    def write(self, data: str) -> None:
        """Take what was printed."""
        now_s = time.monotonic()
        self._at_s += min(now_s - self._last_s, IDLE_S_MAX)
        self._last_s = now_s
        self._events.append((round(self._at_s, 3), "o", data))
        self._stream.feed(data)

    def flush(self) -> None:
        """Nothing waits."""

    def frame(self) -> list[str]:
        """Return the lines on the screen."""
        return [line.rstrip() for line in self.screen.display]

    def text(self) -> str:
        """Return the file."""
        head = {"version": 2, "width": COLUMNS, "height": LINES, "title": "mqadmin demo"}
        return "".join(f"{json.dumps(line)}\n" for line in (head, *self._events))


def take_the_tour() -> tuple[str, list[list[str]]]:
    """Return the cast, and the screen at the end of each step."""
    cast = Cast()
    frames: list[list[str]] = []
    child = pexpect.spawn(
        sys.executable,
        ["-m", "mqadmin", "demo"],
        env={**os.environ, "TERM": "xterm-256color"},
        dimensions=(LINES, COLUMNS),
        encoding="utf-8",
        timeout=120,
    )
    child.logfile_read = cast
    for step in (*LIVE, *BROKEN):
        child.expect_exact(PROMPT)
        child.sendline("")
        if step.live:
            child.expect(pexpect.TIMEOUT, timeout=LOOK_S)
            # A view on a whole screen is gone when it is left.
            frames.append(cast.frame())
            child.send("q" if step.live.startswith("top") else CTRL_C)
        elif step is not BROKEN[-1]:
            child.expect_exact("$ mqadmin")
            frames.append(cast.frame())
    child.expect(pexpect.EOF)
    frames.append(cast.frame())
    child.close()
    if child.exitstatus != 0:
        raise SystemExit(f"the tour ended with exit code {child.exitstatus}: {frames[-1]}")
    return cast.text(), frames


def drawn(frames: Sequence[Sequence[str]]) -> str:
    """Return a picture that shows one frame after the other."""
    width, height = round(COLUMNS * CELL[0]) + 20, LINES * CELL[1] + 20
    whole_s = FRAME_S * len(frames)
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve"',
        f' viewBox="0 0 {width} {height}">',
        "<style>text{font:14px monospace;fill:#e6e6e6;white-space:pre}",
        f"g{{opacity:0;animation:show {whole_s}s infinite step-end}}",
        f"@keyframes show{{0%{{opacity:1}}{100 / len(frames):.3f}%{{opacity:0}}}}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#1e1e1e"/>',
    ]
    for number, frame in enumerate(frames):
        lines.append(f'<g style="animation-delay:{number * FRAME_S}s">')
        lines += [
            f'<text x="10" y="{(row + 1) * CELL[1] + 5}" textLength="{len(line) * CELL[0]:.1f}">'
            f"{escape(line)}</text>"
            for row, line in enumerate(frame)
            if line
        ]
        lines.append("</g>")
    return "\n".join((*lines, "</svg>")) + "\n"


def main() -> int:
    """Record both files."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else DIRECTORY
    cast, frames = take_the_tour()
    (directory / "demo.cast").write_text(cast)
    (directory / "demo.svg").write_text(drawn(frames))
    return 0


if __name__ == "__main__":
    sys.exit(main())
