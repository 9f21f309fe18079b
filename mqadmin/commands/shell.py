"""``shell``: run commands with completion, or many of them from a script.

a terminal, no text    interactive
-c TEXT | FILE | pipe  a script: one command a line, stops at the first that fails
"""

import io
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import click

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command
from mqadmin.cli.types import DIR, FILE_PATH
from mqadmin.errors import Usage
from mqadmin.session.console import Console
from mqadmin.shell.engine import Shell, run_script
from mqadmin.shell.server import EmbeddedServer


@command(
    "shell",
    examples=(
        ("mqadmin shell", "interactive; Ctrl-D leaves"),
        ("mqadmin shell -c 'topic list; group list'", "one line"),
        ("mqadmin shell setup.mq --keep-going", "a file with a command on each line"),
        ("mqadmin shell --embedded", "with embedded servers and a temporary store"),
    ),
    details="A script ends at the first command that fails, with its exit code. `#` starts a "
    "comment.",
    needs=Needs.NONE,
)
@argument("file", type=FILE_PATH, required=False, help="file of commands; - reads standard input")
@click.option("--command", "-c", "text", metavar="TEXT", help="run these commands")
@click.option("--embedded", is_flag=True, help="start a name server and a broker for this shell")
@click.option(
    "--store", type=DIR, metavar="DIR", help="directory in which --embedded keeps its data"
)
@click.option("--keep-going", is_flag=True, help="continue after a command that fails")
def shell(
    call: Call,
    *,
    file: Path | None,
    text: str | None,
    embedded: bool,
    store: str | None,
    keep_going: bool,
) -> Outcome:
    """Run the lines and return the exit code of the script, or of ``exit``."""
    if file is not None and text is not None:
        raise Usage("FILE excludes -c", hint="give one of them")
    if store is not None and not embedded:
        raise Usage("--store needs --embedded", hint="`store open DIR` opens one in the shell")
    workplace = call.workplace
    workplace.namesrv = call.settings.namesrv or workplace.namesrv
    workplace.context = call.settings.context or workplace.context
    workplace.output = call.settings.output or workplace.output
    with ExitStack() as stack:
        if embedded:
            server = stack.enter_context(EmbeddedServer(store=store))
            workplace.namesrv, workplace.label = server.addresses.namesrv, "embedded"
        lines, console = _script(call, file, text)
        if lines is None:
            # Only the interactive shell needs prompt_toolkit, which is slow to import.
            from mqadmin.shell.interactive import run_interactive

            if embedded:
                addresses = server.addresses
                call.warn(
                    f"embedded: namesrv {addresses.namesrv}, broker {addresses.broker}, "
                    f"grpc {addresses.grpc}, store {addresses.store}"
                )
            exit_code = run_interactive(call)
        else:
            shell = Shell(console, workplace)
            exit_code = run_script(shell, lines, keep_going=keep_going)
        # The servers stop when this block ends; the connections to them go first.
        workplace.link.close()
    return Outcome((), exit_code=exit_code)


def _script(
    call: Call, file: Path | None, text: str | None
) -> tuple[Iterable[str] | None, Console]:
    """Return the lines to run, None for an interactive shell, and the streams to use."""
    console = call.console
    from_stdin = file is None and text is None
    if text is not None:
        return text.splitlines(keepends=True), console
    if file is not None and str(file) != "-":
        return console.text_of(file).splitlines(keepends=True), console
    if from_stdin and console.stdin is sys.stdin and sys.stdin.isatty():
        return None, console
    # The lines are standard input, so a command must not read it away.
    return console.stdin, console._replace(stdin=io.StringIO(""), can_ask=False)
