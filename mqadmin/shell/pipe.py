"""Send what a command prints through filters, line by line as it comes.

    command --write--> Pipe: grep -> head -> ...  --> terminal or file

Rule: a terminal shows control characters and does not obey them, a file gets them as they
are; nothing is held but what a filter needs; when a filter has enough, the command ends with
``PipeClosed`` at its next write, so `message tail T | head 5` ends.
"""

import io
from collections.abc import Sequence
from typing import TextIO

from mqadmin.session.console import printable_lines
from mqadmin.shell.filters import Lines, Stage


class PipeClosed(BrokenPipeError):
    """A filter needs no more lines: the command ends early, which is not an error."""


class Pipe(io.TextIOBase):
    """A text stream whose lines go through filters to another one.

    Args:
        out_is_tty: a person reads what comes out.
    """

    def __init__(self, stages: Sequence[Stage], out: TextIO, *, out_is_tty: bool = False) -> None:
        self._stages = stages
        self._out = out
        self._shown = printable_lines if out_is_tty else str
        self._begun = ""
        if stages:
            stages[-1].target = out

    def write(self, text: str) -> int:
        """Take a piece of the result.

        Raises:
            PipeClosed: a filter has seen all that it needs.
            Usage, ItemNotFound: a filter cannot read the lines.
        """
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._send(f"{line}\n", 0)
            if any(stage.enough for stage in self._stages):
                raise PipeClosed
        return len(text)

    def flush(self) -> None:
        """Show what has come out so far."""
        self._out.flush()

    def close(self) -> None:
        """End what the filters have started; the stream behind belongs to its opener."""
        for stage in self._stages:
            stage.close()

    def finish(self) -> None:
        """Let every filter say what it has to say at the end."""
        begun, self._begun = self._begun, ""
        if begun:
            self._send(begun, 0)
        for number, stage in enumerate(self._stages):
            self._pass_on(stage.end(), number + 1)
        self._out.flush()

    def _send(self, line: str, number: int) -> None:
        if number == len(self._stages):
            self._out.write(self._shown(line))
        else:
            self._pass_on(self._stages[number].line(line), number + 1)

    def _pass_on(self, lines: Lines, number: int) -> None:
        for line in lines:
            self._send(line, number)
