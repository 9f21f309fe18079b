"""``completion``: the script that makes Tab work in the user's own shell. Asks no server."""

import importlib
from dataclasses import dataclass
from typing import Annotated, Literal

from mqadmin.call import Call
from mqadmin.parameters import argument
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which shell."""

    shell: Annotated[Literal["bash", "zsh", "fish"], argument("the shell that will read it")]


@command(
    "completion",
    "print the completion script for a shell",
    examples=(
        ("source <(mqadmin completion bash)", "for this bash; put it into ~/.bashrc to keep it"),
        ("mqadmin completion zsh > ~/.zfunc/_mqadmin", "for zsh, with ~/.zfunc in $fpath"),
        ("mqadmin completion fish > ~/.config/fish/completions/mqadmin.fish", "for fish"),
    ),
    details="Topics, groups, brokers, clusters and contexts complete by their live names.",
    needs=Needs.NONE,
)
def completion(call: Call, args: Arguments) -> Outcome:
    """Print the script: it is the result itself, not a row of one."""
    made = importlib.import_module(f"mqadmin.completion.{args.shell}")
    call.console.out.write(made.script())
    return Outcome(())
