"""Show a long result a screen at a time, as ``less`` does.

    rows --> held until a screenful --> fits: printed as they are
                                    `-> does not: the pager of the user, fed while rows come

Rule: a result that fits is never paged, and one that is followed or watched is streamed. The pager
is ``$PAGER``, otherwise ``less``; without either, the rows are simply printed. Quitting the pager
early ends the command quietly.
"""

import io
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Final, TextIO, cast

from mqadmin.session.console import Console

LESS: Final = ("less", "-FRSX")
FRAME_LINES: Final = 2


class PagedText(io.TextIOBase):
    """Text that goes to the terminal, or to a pager once it is longer than the screen."""

    def __init__(self, out: IO[str], command: list[str], *, height: int) -> None:
        self._out = out
        self._command = command
        self._left = height
        self._held: list[str] = []
        self._pager: subprocess.Popen[str] | None = None
        self._pager_in: IO[str] | None = None
        self._straight = False

    def isatty(self) -> bool:
        """Return True, because a person reads the output."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the terminal, which knows its width."""
        return self._out.fileno()

    def write(self, text: str) -> int:
        """Write a piece of the result.

        Raises:
            BrokenPipeError: the person quit the pager.
        """
        if self._straight:
            return self._out.write(text)
        if self._pager_in is not None:
            return self._pager_in.write(text)
        self._held.append(text)
        self._left -= text.count("\n")
        if self._left < 0:
            self._start()
        return len(text)

    def flush(self) -> None:
        """Show the text at once, because a person waits for it; from now on nothing is paged."""
        if self._pager_in is not None:
            self._pager_in.flush()
            return
        self._straight = True
        self._out.write("".join(self._held))
        self._held = []
        self._out.flush()

    def close(self) -> None:
        """Do nothing, because the opener of the stream closes it."""

    def finish(self) -> None:
        """Show the kept text, or wait until the person quits the pager."""
        if self._pager is None or self._pager_in is None:
            self.flush()
            return
        # The person may quit before the end is written, which is not an error.
        with suppress(BrokenPipeError):
            self._pager_in.close()
        self._pager.wait()

    def _start(self) -> None:
        self._pager = subprocess.Popen(self._command, stdin=subprocess.PIPE, text=True)
        self._pager_in = self._pager.stdin
        self.write("".join(self._held))
        self._held = []


def pager_command(env: Mapping[str, str]) -> list[str] | None:
    """Return the user's pager, or None."""
    named = env.get("PAGER")
    if named is not None:
        words = shlex.split(named)
        return words if words and shutil.which(words[0]) else None
    return list(LESS) if shutil.which(LESS[0]) else None


@contextmanager
def paged(console: Console) -> Iterator[Console]:
    """Yield a console whose rows are paged if they do not fit the terminal."""
    command = pager_command(console.env)
    if command is None or not console.out_is_tty:
        yield console
        return
    text = PagedText(console.out, command, height=shutil.get_terminal_size().lines - FRAME_LINES)
    try:
        yield console._replace(out=cast(TextIO, text))
    except BrokenPipeError:
        console.out.flush()
    finally:
        text.finish()
