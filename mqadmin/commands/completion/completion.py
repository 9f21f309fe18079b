"""``completion``: the script that makes Tab work in the user's own shell. Asks no server."""

from typing import Literal

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import Choice
from mqadmin.completion.tab import script
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "completion",
    examples=(
        ("source <(mqadmin completion bash)", "for this bash; put it into ~/.bashrc to keep it"),
        ("mqadmin completion zsh > ~/.zfunc/_mqadmin", "for zsh, with ~/.zfunc in $fpath"),
        ("mqadmin completion fish > ~/.config/fish/completions/mqadmin.fish", "for fish"),
    ),
    details="Topics, groups, brokers, clusters and contexts complete by their live names.",
    needs=Needs.NONE,
)
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]), help="the shell that will read it")
def completion(call: Call, *, shell: Literal["bash", "zsh", "fish"]) -> Outcome:
    """Print the script: it is the result itself, not a row of one."""
    call.console.out.write(script(shell))
    return Outcome(())
