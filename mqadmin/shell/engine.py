"""Run lines of the shell: its own words first, then the commands.

    help [CMD]   exit [N]   set NAME VALUE   use topic|context X   connect ADDR
    store open DIR   store close   watch [SECONDS] CMD

Rule: only ``exit`` ends the shell; ``last_exit`` has the exit code of the last line, which the
prompt shows. A failed line stops a script.
"""

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Final, TextIO, cast, get_args

from mqadmin.cli.command import TextAnswer
from mqadmin.cli.parse import parse
from mqadmin.cli.run import print_error, run_line
from mqadmin.errors import CommandError, Interrupted, ItemNotFound, Usage, describe
from mqadmin.session.call import Workplace
from mqadmin.session.console import Console
from mqadmin.session.global_options import Format
from mqadmin.shell.filters import INPUT_OF, stage_of
from mqadmin.shell.lines import Quote, ShellCommand, parse_line, split
from mqadmin.shell.pipe import Pipe, PipeClosed

CLEAR: Final = "\x1b[2J\x1b[3J\x1b[H"
SHELL_HELP: Final = """\
Words of the shell itself:
  help [CMD]               this text, or the help of a command
  exit [N]                 leave (also Ctrl-D)
  connect HOST:PORT        connect to these name servers
  use context NAME         connect to those of this context
  use topic NAME           default topic of commands that need one
  store open DIR           the store directory for `store ...`; `store close` ends it
  set output FORMAT        table, json, jsonl, yaml, csv or name
  watch [SECONDS] CMD      run CMD again and again, until Ctrl-C
  CMD | grep X | head 5    filters: grep head tail sort uniq count json record
  CMD | jq .               any other word after | is a program; `help pipes` says more
  !CMD                     run a command of the system's shell
  clear                    clear the screen (also Ctrl-L)
  CMD > FILE, CMD >> FILE  write the rows to a file
  CMD; CMD                 run in order; the first failure ends the line
"""


PIPES_HELP: Final = """\
The rows of a command go through filters line by line, without a system shell:
  grep [-i] [-v] PATTERN   lines that match; -v those that do not
  head [N]   tail [N]      the first or last N lines, 10 by default
  sort [-r]  uniq          sort lines; drop adjacent duplicates
  count                    the number of lines
  json [PATH]              the rows as json, or the part at a.b[0].c
  record                   each row as a block of name and value lines
  PROGRAM [WORDS]          any other program, as in `topic list -o json | jq length`; it gets
                           each row as it comes, and what is behind it waits for its end
  > FILE   >> FILE         write to a file, or at its end
A table in a pipe is plain text. `set output json`, or -o json, gives programs what they read.
"""

Page = Callable[[Console], AbstractContextManager[Console]]
"""Returns a console that shows a long result a screen at a time."""


@dataclass(slots=True)
class ShellExit(Exception):
    """``exit`` was typed."""

    exit_code: int


class Shell:
    """The state of a shell, and how it runs a line."""

    def __init__(self, console: Console, workplace: Workplace, *, page: Page | None = None) -> None:
        self.console = console
        self._page = page
        self.workplace = workplace
        self.last_exit = 0
        self._own: dict[str, Callable[[list[str], Console], int]] = {
            "help": self._help,
            "?": self._help,
            "exit": self._exit,
            "quit": self._exit,
            "connect": self._connect,
            "set": self._set_option,
            "use": self._use,
            "watch": self._watch,
            "clear": self._clear,
        }

    def run_text(self, text: str, *, keep_going: bool = False) -> int:
        """Run the commands of a line, print an error, and return the exit code.

        The first command that fails ends the line, unless ``keep_going``.

        Raises:
            ShellExit: it was ``exit``.
        """
        if text.lstrip().startswith("!"):
            return self._system(text.lstrip()[1:])
        try:
            commands = parse_line(text)
        except CommandError as error:
            return self._failed(error)
        failed = 0
        for command in commands:
            try:
                self.last_exit = self._run_words(command)
            except (CommandError, OSError, KeyboardInterrupt) as error:
                self._failed(error)
            failed = self.last_exit or failed
            if failed and not keep_going:
                break
        return failed

    def _system(self, text: str) -> int:
        """Run a line of the machine's own shell; Ctrl-C ends it."""
        self.console.out.flush()
        # In a script, standard input may contain the lines that follow this one.
        stdin = None if self.console.can_ask else subprocess.DEVNULL
        try:
            self.last_exit = subprocess.run(["/bin/sh", "-c", text], stdin=stdin).returncode
        except KeyboardInterrupt:
            self.last_exit = Interrupted.exit_code
        return self.last_exit

    def _clear(self, words: list[str], console: Console) -> int:
        console.out.write(CLEAR if console.out_is_tty else "")
        console.out.flush()
        return 0

    def _failed(self, error: BaseException) -> int:
        self.print_error(error)
        self.last_exit = describe(error).exit_code
        return self.last_exit

    def print_error(self, error: BaseException) -> None:
        """Print an error in the format that is set."""
        as_json = self.workplace.output in {"json", "jsonl"}
        print_error(error, self.console, as_json=as_json, verbose=False)

    def _run_words(self, line: ShellCommand) -> int:
        """Run the words; their rows go through the filters and into the file."""
        if not line.filters and line.file is None:
            if self._page is None:
                return self._words(line.words, self.console)
            with self._page(self.console) as console:
                return self._words(line.words, console)
        stages = [stage_of(words) for words in line.filters]
        with self._target(line) as out:
            if not stages:
                return self._words(line.words, self.console._replace(out=out, out_is_tty=False))
            output = self.workplace.output
            self.workplace.output = INPUT_OF.get(line.filters[0][0], output)
            is_shown = self.console.out_is_tty and line.file is None
            with closing(Pipe(stages, out, out_is_tty=is_shown)) as pipe:
                console = self.console._replace(out=cast(TextIO, pipe), out_is_tty=False)
                try:
                    exit_code = self._words(line.words, console)
                except PipeClosed:
                    exit_code = 0
                finally:
                    self.workplace.output = output
                pipe.finish()
            return exit_code

    @contextmanager
    def _target(self, line: ShellCommand) -> Iterator[TextIO]:
        """Yield the stream for the rows of a line: a file, or that of the shell."""
        if line.file is None:
            yield self.console.out
            return
        path = os.path.expanduser(line.file)
        mode = "a" if line.append else "w"
        with open(path, mode, encoding="utf-8", errors="backslashreplace", newline="") as out:
            yield cast(TextIO, out)

    def _words(self, words: list[str], console: Console) -> int:
        own = self._own.get(words[0].lower())
        if own is not None:
            return own(words[1:], console)
        if [word.lower() for word in words[:2]] in (["store", "open"], ["store", "close"]):
            return self._store(words[1].lower(), words[2:])
        if words[0].lower() == "mqadmin":
            words = words[1:]
        if words and words[0].lower() == "shell":
            raise Usage("this is already the shell")
        exit_code = run_line(words, console, self.workplace)
        console.out.flush()
        return exit_code

    def _help(self, words: list[str], console: Console) -> int:
        if words and words[0].lower() in {"pipes", "pipe", "|"}:
            console.print_text(PIPES_HELP)
            return 0
        if not words or words[0].lower() not in self._own:
            answer = parse(["help", *words])
            assert isinstance(answer, TextAnswer)
            console.print_text(answer.text if words else answer.text + "\n")
        if not words or words[0].lower() in self._own:
            console.print_text(SHELL_HELP)
        return 0

    def _exit(self, words: list[str], console: Console) -> int:
        if words and not words[0].isdecimal():
            raise Usage("exit takes a number", hint="as in `exit 1`")
        raise ShellExit(int(words[0]) if words else self.last_exit)

    def _connect(self, words: list[str], console: Console) -> int:
        self.workplace.namesrv = _only(words, "connect HOST:PORT[,HOST:PORT]")
        self.workplace.label = None
        return 0

    def _set_option(self, words: list[str], console: Console) -> int:
        if len(words) != 2 or words[0] != "output":
            raise Usage("only `set output FORMAT` is possible")
        if words[1] not in get_args(Format):
            raise Usage(
                f"unknown format {words[1]!r}", hint="one of " + ", ".join(get_args(Format))
            )
        self.workplace.output = words[1]
        return 0

    def _use(self, words: list[str], console: Console) -> int:
        if len(words) != 2 or words[0] not in {"topic", "context"}:
            raise Usage("as in `use topic NAME` or `use context NAME`")
        if words[0] == "topic":
            self.workplace.topic = words[1]
        else:
            self.workplace.context = words[1]
            self.workplace.namesrv = self.workplace.label = None
        return 0

    def _store(self, verb: str, words: list[str]) -> int:
        if verb == "close":
            self.workplace.store = None
            return 0
        path = os.path.expanduser(_only(words, "store open DIR"))
        if not os.path.isdir(path):
            raise ItemNotFound(f"{path} is not a directory", hint="give a store directory")
        self.workplace.store = path
        return 0

    def _watch(self, words: list[str], console: Console) -> int:
        """Run a command as ``--watch`` does, until Ctrl-C."""
        seconds = [words.pop(0)] if words and words[0].replace(".", "", 1).isdecimal() else []
        if not words:
            raise Usage("watch needs a command", hint="as in `watch 2 group lag G`")
        if words[0].lower() in self._own:
            raise Usage(
                f"`{words[0]}` is a word of the shell, not a command",
                hint="only commands can be watched",
            )
        return self._words([*words, "--watch", *seconds], console)


def _only(words: Sequence[str], usage: str) -> str:
    if len(words) != 1 or not words[0]:
        raise Usage(f"as in `{usage}`")
    return words[0]


def run_script(shell: Shell, lines: Iterable[str], *, keep_going: bool = False) -> int:
    """Run the lines of a script and return its exit code.

    A backslash at the end of a line joins it with the next one. The first command that fails ends
    the script with its exit code, unless ``keep_going``; then the exit code is that of the last
    one that failed.
    """
    failed = 0
    text = ""
    try:
        for piece in lines:
            text += piece
            if split(text.removesuffix("\n")).inside is Quote.BACKSLASH:
                continue
            exit_code = shell.run_text(text, keep_going=keep_going)
            text = ""
            if exit_code:
                failed = exit_code
                if not keep_going:
                    return failed
        if text:
            failed = shell.run_text(text, keep_going=keep_going) or failed
    except ShellExit as leave:
        return leave.exit_code
    return failed
