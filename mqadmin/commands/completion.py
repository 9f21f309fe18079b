"""``completion``: print the script that completes commands in a shell, and the names it offers.

The script asks no server; of the names see ``mqadmin.completion.live``.
"""

from dataclasses import dataclass
from typing import Literal

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command
from mqadmin.cli.types import Choice, ValueKind
from mqadmin.completion.live import live_names
from mqadmin.completion.tab import script


@command(
    "completion",
    examples=(
        (
            "source <(mqadmin completion bash)",
            "for this bash; add the line to ~/.bashrc to keep it",
        ),
        ("mqadmin completion zsh > ~/.zfunc/_mqadmin", "for zsh, with ~/.zfunc in $fpath"),
        ("mqadmin completion fish > ~/.config/fish/completions/mqadmin.fish", "for fish"),
    ),
    details="Topics, groups, brokers, clusters and contexts complete with their live names.",
    needs=Needs.NONE,
)
@argument("shell", type=Choice(["bash", "zsh", "fish"]), help="the shell to print the script for")
def completion(call: Call, *, shell: Literal["bash", "zsh", "fish"]) -> Outcome:
    """Print the script, which is the result itself, without rows."""
    call.console.out.write(script(shell))
    return Outcome(())


@dataclass(frozen=True, slots=True)
class NameRow(Row):
    """One name."""

    name: str


@command(
    "completion names",
    examples=(("mqadmin completion names topic -o name", "the topics that Tab offers"),),
    details="Names may be up to 30 s old; older names are refreshed for the next call. The "
    "command never fails.",
    rows=NameRow,
    needs=Needs.NONE,
)
@argument(
    "kind",
    type=Choice(["topic", "group", "broker", "cluster", "context", "client"]),
    help="kind of names",
)
@click.option("--refresh", is_flag=True, help="ask the servers even if the cached names are recent")
def names_for_completion(
    call: Call,
    *,
    kind: Literal["topic", "group", "broker", "cluster", "context", "client"],
    refresh: bool,
) -> Outcome:
    """Return the names; empty if there is no server or no answer."""
    names = live_names(call, ValueKind[kind.upper()], refresh=refresh)
    return Outcome((NameRow(name) for name in names), silent=True)
