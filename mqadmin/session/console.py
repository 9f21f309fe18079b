"""The streams of a call: where rows and warnings go, and whether a person can be asked.

Rule: rows on ``out``, everything else on ``err``; names in a warning come from strangers,
so control characters are shown in it. A question is asked only where both
standard input and standard error are a terminal.
"""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TextIO, cast

if TYPE_CHECKING:
    from pathlib import Path

TEXT_SIZE_MAX: Final = 256 << 20
"""Most characters of a document that a command reads."""
JOINER: Final = "\u200d"
"""Joins emoji into one; the only invisible character that is harmless and wanted."""


class Console(NamedTuple):
    """The three streams and what is known about them; no dataclass, which costs the version most.

    Attributes:
        out_is_tty: rows are read by a person: colour, and cutting to the width.
        can_ask: a person can answer a question.
    """

    stdin: TextIO
    out: TextIO
    err: TextIO
    out_is_tty: bool
    can_ask: bool
    env: Mapping[str, str]

    @classmethod
    def of_process(cls) -> "Console":
        """Return the streams of this process, read and written as UTF-8 whatever the locale.

        A stream that was closed before the start (``>&-``) becomes one that is empty and takes
        everything.
        """
        # In this order, each takes the lowest free descriptor, so that no socket gets it later.
        sys.stdin = sys.stdin or _nothing("r")
        sys.stdout = sys.stdout or _nothing("w")
        sys.stderr = sys.stderr or _nothing("w")
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(encoding="utf-8", errors="backslashreplace")
        accept = getattr(sys.stdin, "reconfigure", None)
        if accept is not None:
            # A body may hold any bytes; they come back out as they were.
            accept(encoding="utf-8", errors="surrogateescape")
        return cls(
            stdin=sys.stdin,
            out=sys.stdout,
            err=sys.stderr,
            out_is_tty=sys.stdout.isatty(),
            can_ask=sys.stdin.isatty() and sys.stderr.isatty(),
            env=os.environ,
        )

    def warn(self, text: str, *, as_is: bool = False) -> None:
        """Print one line on standard error; a terminal breaks it between words.

        Args:
            as_is: it is for a program, and never broken.
        """
        self._write_line(text, "\n", as_is=as_is)

    def print_text(self, text: str, *, is_error: bool = False) -> None:
        """Write a text about the tool; a terminal breaks its lines between words."""
        stream = self.err if is_error else self.out
        if stream.isatty():
            # Only a terminal breaks lines.
            from mqadmin.session.line_breaks import break_lines

            text = break_lines(text, stream)
        stream.write(text)

    def confirm(self, question: str) -> bool:
        """Return whether the person says yes."""
        self._write_line(f"{question} [y/N]", " ")
        return self.stdin.readline().strip().lower() in {"y", "yes"}

    def _write_line(self, text: str, end: str, *, as_is: bool = False) -> None:
        line = printable(" ".join(text.split()))
        if self.err.isatty() and not as_is:
            # Only a terminal breaks lines.
            from mqadmin.session.line_breaks import break_line

            line = break_line(line, self.err)
        self.out.flush()
        self.err.write(line + end)
        self.err.flush()

    def text_of(self, file: "Path") -> str:
        """Return the text of a file; ``-`` is standard input.

        Raises:
            CommandError: it is larger than ``TEXT_SIZE_MAX``, or not text.
            OSError: it cannot be read.
        """
        from mqadmin.errors import CommandError

        if str(file) == "-":
            text = self.stdin.read(TEXT_SIZE_MAX + 1)
        else:
            try:
                # A pipe or a device may never end.
                with file.open(encoding="utf-8") as source:
                    text = source.read(TEXT_SIZE_MAX + 1)
            except UnicodeDecodeError as error:
                raise CommandError(f"{file}: not UTF-8 ({error.reason})") from None
        if len(text) > TEXT_SIZE_MAX:
            raise CommandError(f"{file}: longer than {TEXT_SIZE_MAX} characters")
        return text

    def read_bytes(self) -> bytes:
        """Return all of standard input."""
        binary: BinaryIO | None = getattr(self.stdin, "buffer", None)
        return binary.read() if binary is not None else self.stdin.read().encode()


def _nothing(mode: str) -> TextIO:
    """Return a stream that is empty and takes everything, for the whole life of the process."""
    return cast(TextIO, open(os.devnull, mode, encoding="utf-8"))


def printable(text: str) -> str:
    """Return ``text`` with control and invisible characters shown instead of sent."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == JOINER else char.encode("unicode_escape").decode()
        for char in text
    )


def printable_lines(text: str) -> str:
    """Return a text of several lines as ``printable`` does; its line feeds and tabs stay."""
    lines = text.split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)
