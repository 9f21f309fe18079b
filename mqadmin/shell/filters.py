"""Filters after ``|``: the shell's own run in this process, others are programs.

    grep [-i] [-v] PATTERN    lines that match (or not)
    head [N]   tail [N]       first or last lines, 10 by default
    sort [-r]  uniq           lines in order; without neighbours that repeat
    count                     how many lines
    json [PATH]               the rows as json, or the part at a.b[0].c
    record                    each row as a block of name and value lines
    jq ...                    any other word: a program of the machine, run without a shell

Rule: a filter gets lines one by one and keeps no more of them than it needs: tail keeps its last
ones, sort and json keep all, grep none. A program starts with the first line; the filters behind
it get its lines once it has ended. An error names the filter.
"""

import io
import json
import re
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Final, TextIO

from mqadmin.errors import CommandError, ItemNotFound, Usage
from mqadmin.output.structured import json_text
from mqadmin.session.console import printable

COUNT_DEFAULT = 10
INPUT_OF: Final = {"json": "json", "record": "jsonl"}
"""The format that these filters read, whatever format is set."""
STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?[0-9]+)?\]")

Lines = Iterable[str]
"""Each ends in a line feed, except the last line of a text that does not."""


class Stage:
    """One filter at work.

    Attributes:
        enough: further lines would not change the output.
        target: what the lines of the last filter are written to; None for the others.
    """

    enough = False
    target: TextIO | None = None

    def line(self, line: str) -> Lines:
        """Process a line and return the output lines."""
        return (line,)

    def end(self) -> Lines:
        """Return the output lines at the end."""
        return ()

    def close(self) -> None:
        """Release what the filter holds, also after an error."""


@dataclass(frozen=True, slots=True)
class FilterCommand:
    """A filter: what it does and how it is used."""

    start: Callable[[list[str]], Stage]
    usage: str


def stage_of(words: list[str]) -> Stage:
    """Return the filter that ``words`` name, ready to take lines.

    Raises:
        Usage: the filter does not exist, or its arguments are wrong.
    """
    filter_ = FILTERS.get(words[0])
    if filter_ is not None:
        return filter_.start(words[1:])
    if shutil.which(words[0]) is None:
        names = ", ".join(FILTERS)
        raise Usage(f"unknown filter or program `{words[0]}`", hint=f"there are {names}")
    return Program(words)


class Program(Stage):
    """A program such as ``jq``, which gets each line as it comes.

    As the last stage it writes to the target itself, so that `message tail T | jq .` shows each
    message at once, and `| less` is a pager. Otherwise its output is kept in a file until it ends,
    because reading it earlier could block both sides.
    """

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._running: subprocess.Popen[str] | None = None
        self._held: IO[str] | None = None

    def line(self, line: str) -> Lines:
        """Write the line to the program; if it has ended, it has enough."""
        try:
            given = self._started().stdin
            assert given is not None
            given.write(line)
            given.flush()
        except BrokenPipeError:
            self.enough = True
        return ()

    def end(self) -> Lines:
        """Wait until the program ends, and return its output if it is not written yet.

        Raises:
            CommandError: it failed.
        """
        running = self._started()
        assert running.stdin is not None
        with suppress(BrokenPipeError):
            running.stdin.close()
        # Ctrl-C also ends the command that the program reads, which reports it.
        if running.wait() not in {0, -signal.SIGINT}:
            raise CommandError(f"{self._words[0]} ended with exit code {running.returncode}")
        if self._held is None:
            return ()
        self._held.seek(0)
        return self._held

    def close(self) -> None:
        """End the program if it still runs."""
        if self._running is not None:
            self._running.terminate()
            with suppress(BrokenPipeError), self._running:
                pass
        if self._held is not None:
            self._held.close()

    def _started(self) -> subprocess.Popen[str]:
        if self._running is None:
            self._running = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=self._output(),
                encoding="utf-8",
                errors="surrogateescape",
            )
        return self._running

    def _output(self) -> int:
        if self.target is not None:
            # A stream in memory does not have a descriptor.
            with suppress(io.UnsupportedOperation):
                self.target.flush()
                return self.target.fileno()
        self._held = TemporaryFile(  # noqa: SIM115 (`close` closes it)
            "w+", encoding="utf-8", errors="surrogateescape", newline="\n"
        )
        return self._held.fileno()


class Grep(Stage):
    """Lines that match, or do not."""

    def __init__(self, words: list[str]) -> None:
        flags = [word for word in words if word in {"-i", "-v", "-iv", "-vi"}]
        rest = [word for word in words if word not in flags]
        if len(rest) != 1:
            raise Usage("grep takes one pattern", hint=FILTERS["grep"].usage)
        given = "".join(flags)
        try:
            self._pattern = re.compile(rest[0], re.IGNORECASE if "i" in given else 0)
        except re.error as error:
            raise Usage(f"grep: {rest[0]!r} is not a valid pattern: {error}") from None
        self._wanted = "v" not in given

    def line(self, line: str) -> Lines:
        """Return the line, or nothing."""
        return (line,) if bool(self._pattern.search(line)) is self._wanted else ()


class Head(Stage):
    """The first lines."""

    def __init__(self, words: list[str]) -> None:
        self._left = _count("head", words)
        self.enough = self._left == 0

    def line(self, line: str) -> Lines:
        """Return the line while some are left."""
        if self.enough:
            return ()
        self._left -= 1
        self.enough = self._left == 0
        return (line,)


class CollectedLines(Stage):
    """A filter whose lines only come out at the end.

    Args:
        shown: makes the output of the lines that were kept.
        count_max: how many of the last lines are kept; None keeps all.
    """

    def __init__(self, shown: Callable[[Lines], Lines], *, count_max: int | None = None) -> None:
        self._shown = shown
        self._held: deque[str] = deque(maxlen=count_max)

    def line(self, line: str) -> Lines:
        """Keep the line."""
        self._held.append(line)
        return ()

    def end(self) -> Lines:
        """Return the output of the lines."""
        return self._shown(self._held)


def _tail(words: list[str]) -> Stage:
    return CollectedLines(lambda lines: lines, count_max=_count("tail", words))


def _sort(words: list[str]) -> Stage:
    if words not in ([], ["-r"]):
        raise Usage("sort takes only -r", hint="use --sort COLUMN on the command")
    return CollectedLines(lambda lines: sorted(map(_whole, lines), reverse=bool(words)))


class Uniq(Stage):
    """Lines that differ from the one before."""

    def __init__(self, words: list[str]) -> None:
        _no_words("uniq", words)
        self._last = ""

    def line(self, line: str) -> Lines:
        """Return the line if it differs."""
        line = _whole(line)
        if line == self._last:
            return ()
        self._last = line
        return (line,)


class Count(Stage):
    """How many lines there are."""

    def __init__(self, words: list[str]) -> None:
        _no_words("count", words)
        self._count = 0

    def line(self, line: str) -> Lines:
        """Count the line."""
        self._count += 1
        return ()

    def end(self) -> Lines:
        """Return the number."""
        return (f"{self._count}\n",)


def _json(words: list[str]) -> Stage:
    if len(words) > 1:
        raise Usage("json takes one path", hint=FILTERS["json"].usage)

    def shown(lines: Lines) -> Lines:
        text = "".join(lines)
        if not text.strip():
            return ()
        value = _parsed("json", text)
        return [_shown(part) + "\n" for part in (_walk(value, words[0]) if words else [value])]

    return CollectedLines(shown)


class RecordBlocks(Stage):
    """Each row as a block; rows come as json lines, or as one document."""

    def __init__(self, words: list[str]) -> None:
        _no_words("record", words)
        self._held: list[str] = []
        self._number = 0

    def line(self, line: str) -> Lines:
        """Return the block of a row; keep the lines of a document."""
        if self._held or line.startswith("["):
            self._held.append(line)
            return ()
        return self._blocks(_parsed("record", line)) if line.strip() else ()

    def end(self) -> Lines:
        """Return the blocks of a document."""
        return self._blocks(_parsed("record", "".join(self._held))) if self._held else ()

    def _blocks(self, value: object) -> Lines:
        for row in value if isinstance(value, list) else [value]:
            self._number += 1
            pairs = row if isinstance(row, dict) else {"value": row}
            width = max((len(name) for name in pairs), default=0) + 2
            yield f"-- {self._number} --\n"
            for name, part in pairs.items():
                yield f"{name + ':':<{width}}{_cell(part)}\n"


def _count(name: str, words: list[str]) -> int:
    given = [word.removeprefix("-n").removeprefix("-") for word in words]
    given = [word for word in given if word]
    if not given:
        return COUNT_DEFAULT
    if len(given) > 1 or not given[0].isdecimal():
        raise Usage(f"{name} takes one argument, a number of lines", hint=FILTERS[name].usage)
    return int(given[0])


def _no_words(name: str, words: list[str]) -> None:
    if words:
        raise Usage(f"{name} takes no arguments")


def _whole(line: str) -> str:
    return line if line.endswith("\n") else line + "\n"


def _parsed(name: str, text: str) -> object:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise Usage(f"{name}: its input is not JSON ({error})") from None
    return value


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "" if value is None else printable(text)


def _walk(value: object, path: str) -> list[object]:
    """Return the values at a path; a list without a number stands for all its elements."""
    values = [value]
    for step in STEP.finditer(path.strip(".")):
        name, index = step[1], step[2]
        values = [part for each in values for part in _step(each, name, index, path)]
    return values


def _step(value: object, name: str | None, index: str | None, path: str) -> list[object]:
    if isinstance(value, list):
        if name is not None:
            return [part for item in value for part in _step(item, name, None, path)]
        if index is None:
            return list(value)
        if -len(value) <= int(index) < len(value):
            return [value[int(index)]]
    if isinstance(value, dict) and name in value:
        return [value[name]]
    raise ItemNotFound(f"json: nothing at {name or f'[{index}]'} of {path!r}")


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json_text(value, pretty=True)


FILTERS: dict[str, FilterCommand] = {
    "grep": FilterCommand(Grep, "grep [-i] [-v] PATTERN"),
    "head": FilterCommand(Head, "head [N]"),
    "tail": FilterCommand(_tail, "tail [N]"),
    "sort": FilterCommand(_sort, "sort [-r]"),
    "uniq": FilterCommand(Uniq, "uniq"),
    "count": FilterCommand(Count, "count"),
    "json": FilterCommand(_json, "json [PATH]"),
    "record": FilterCommand(RecordBlocks, "record"),
}
