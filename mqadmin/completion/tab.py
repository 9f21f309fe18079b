"""Answer Tab in the user's own shell, with live names.

    bash, zsh, fish --> mqadmin with _MQADMIN_COMPLETE=bash_complete --> a line for each word

The script of a shell is click's own; it holds no names, so that it stays right.
"""

from typing import Final, cast

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
)

from mqadmin import COMPLETE_VARIABLE
from mqadmin.cli.globals import settings_of
from mqadmin.cli.parse import PROGRAM, CommandGroup, complete
from mqadmin.cli.types import ParseContext, ValueKind
from mqadmin.completion.live import live_names
from mqadmin.session.call import Call, Workplace
from mqadmin.session.console import Console


class Tab(ShellComplete):
    """What all shells have: our own reading of the line, where click's knows less of it."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return what may stand at the cursor."""
        return complete(args, incomplete, cast(ParseContext, self.ctx_args["obj"]))


class BashTab(Tab, BashComplete):
    """For bash."""


class ZshTab(Tab, ZshComplete):
    """For zsh."""


class FishTab(Tab, FishComplete):
    """For fish."""


SHELLS: Final[dict[str, type[Tab]]] = {"bash": BashTab, "zsh": ZshTab, "fish": FishTab}


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

    shell, _, instruction_kind = instruction.partition("_")
    if shell not in SHELLS or instruction_kind != "complete":
        return 1
    tab = SHELLS[shell](
        CommandGroup(), {"obj": ParseContext(live=live)}, PROGRAM, COMPLETE_VARIABLE
    )
    try:
        console.out.write(tab.complete() + "\n")
    finally:
        workplace.link.close()
    return 0
