"""Answer Tab in the user's own shell: click completes, with live names.

    bash, zsh, fish --> mqadmin with _MQADMIN_COMPLETE=bash_complete --> a line for each word

The script of a shell is click's own; it holds no names, so that it stays right.
"""

from typing import Final

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    shell_complete,
)

from mqadmin import COMPLETE_VARIABLE
from mqadmin.cli.globals import settings_of
from mqadmin.cli.parse import PROGRAM, CommandGroup
from mqadmin.cli.types import ParseContext, ValueKind
from mqadmin.completion.live import live_names
from mqadmin.session.call import Call, Workplace
from mqadmin.session.console import Console

SHELLS: Final[dict[str, type[ShellComplete]]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


def script(shell: str) -> str:
    """Return the script that makes Tab work in a shell."""
    asking = SHELLS[shell](CommandGroup(), {}, PROGRAM, COMPLETE_VARIABLE)
    # Click's class for bash would first start a bash, to see its version.
    return ShellComplete.source(asking).strip() + "\n"


def answer(instruction: str, console: Console) -> int:
    """Print what may stand at the cursor, as the shell's script reads it."""
    workplace = Workplace()

    def live(ctx: click.Context, kind: ValueKind) -> list[str]:
        return live_names(Call(settings_of(ctx), console, workplace), kind)

    try:
        return shell_complete(
            CommandGroup(),
            {"obj": ParseContext(live=live)},
            PROGRAM,
            COMPLETE_VARIABLE,
            instruction,
        )
    finally:
        workplace.link.close()
