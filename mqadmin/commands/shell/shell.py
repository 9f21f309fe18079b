"""``shell``: commands with completion, or many of them from a script.

a terminal, no text    interactive
-c TEXT | FILE | pipe  a script: one command a line, stops at the first that fails
"""

import io
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.console import Console
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.shell.engine import Shell
from mqadmin.shell.script import run_script
from mqadmin.shell.server import EmbeddedServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to run, and on what."""

    file: Annotated[Path | None, argument("a script; - is standard input", kind=Kind.FILE)] = None
    command: Annotated[str | None, option("run this text", short="c", metavar="TEXT")] = None
    embedded: Annotated[bool, option("start a name server and a broker for this shell")] = False
    store: Annotated[
        str | None, option("where --embedded keeps its data", metavar="DIR", kind=Kind.DIR)
    ] = None
    keep_going: Annotated[bool, option("go on after a line that fails")] = False


@command(
    "shell",
    "run commands with completion, or a script",
    examples=(
        ("mqadmin shell", "interactive; Ctrl-D leaves"),
        ("mqadmin shell -c 'topic list; group list'", "one line"),
        ("mqadmin shell setup.mq --keep-going", "a file with a command on each line"),
        ("mqadmin shell --embedded", "with servers of its own, on a temporary store"),
    ),
    details="A script ends at the first command that fails, with its exit code. `#` starts a "
    "comment.",
    needs=Needs.NONE,
)
def shell(call: Call, args: Arguments) -> Outcome:
    """Run the lines and return the exit code of the script, or of ``exit``."""
    if args.file is not None and args.command is not None:
        raise Usage("a file and -c", hint="give one of them")
    if args.store is not None and not args.embedded:
        raise Usage("--store is for --embedded", hint="`store open DIR` opens one in the shell")
    workplace = call.workplace
    workplace.namesrv = call.settings.namesrv or workplace.namesrv
    workplace.context = call.settings.context or workplace.context
    workplace.output = call.settings.output or workplace.output
    with ExitStack() as stack:
        if args.embedded:
            server = stack.enter_context(EmbeddedServer(store=args.store))
            workplace.namesrv, workplace.label = server.addresses.namesrv, "embedded"
        lines, console = _script(call, args)
        if lines is None:
            # Only the interactive shell needs prompt_toolkit, which is slow to import.
            from mqadmin.shell.interactive import run_interactive

            if args.embedded:
                at = server.addresses
                call.warn(f"embedded: namesrv {at.namesrv}, broker {at.broker}, store {at.store}")
            exit_code = run_interactive(call)
        else:
            shell = Shell(console, workplace)
            exit_code = run_script(shell, lines, keep_going=args.keep_going)
        # The servers stop when this block ends; the connections to them go first.
        workplace.link.close()
    return Outcome((), exit_code=exit_code)


def _script(call: Call, args: Arguments) -> tuple[Iterable[str] | None, Console]:
    """Return the lines to run, None for an interactive shell, and the streams to use."""
    console = call.console
    from_stdin = args.file is None and args.command is None
    if args.command is not None:
        return args.command.splitlines(keepends=True), console
    if args.file is not None and str(args.file) != "-":
        return args.file.read_text(encoding="utf-8").splitlines(keepends=True), console
    if from_stdin and console.stdin is sys.stdin and sys.stdin.isatty():
        return None, console
    # The lines are standard input, so a command must not read it away.
    return console.stdin, replace(console, stdin=io.StringIO(""), can_ask=False)
