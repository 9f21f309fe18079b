"""Send what a command prints through filters, line by line as it comes.

    command --write--> Pipe: grep -> head -> ...  --> terminal or file

Rule: control characters are escaped for a terminal, and written to a file as they are. Only the
lines that a filter needs are kept. When a filter has enough, the command ends with ``PipeClosed``
at its next write, so `message tail T | head 5` ends.
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
        out_is_tty: the output goes to a terminal.
    """

    def __init__(self, stages: Sequence[Stage], out: TextIO, *, out_is_tty: bool = False) -> None:
        self._stages = stages
        self._out = out
        self._shown = printable_lines if out_is_tty else str
        self._begun = ""
        if stages:
            stages[-1].target = out

    def write(self, text: str) -> int:
        """Write a piece of the result.

        Raises:
            PipeClosed: a filter has all the lines that it needs.
            Usage, ItemNotFound: a filter cannot read the lines.
        """
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._send(f"{line}\n", 0)
            if any(stage.enough for stage in self._stages):
                raise PipeClosed
        return len(text)

    def flush(self) -> None:
        """Show the output so far."""
        self._out.flush()

    def close(self) -> None:
        """End the programs of the filters; the opener of the stream closes it."""
        for stage in self._stages:
            stage.close()

    def finish(self) -> None:
        """Write the output that the filters have at the end."""
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
