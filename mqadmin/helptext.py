"""Help from the declarations: examples first, then arguments and options.

Rule: nothing is said twice; the text of a command is its declaration laid out.
"""

from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from mqadmin.catalog import everything
from mqadmin.parameters import Parameter
from mqadmin.registry import Command, Needs
from mqadmin.settings import GLOBALS

INTRO = """\
mqadmin: look at, change and repair RocketMQ 4.9 and 5.x clusters and their stores

Usage: mqadmin [OPTIONS] COMMAND ...    `mqadmin COMMAND -h` explains one command
       mqadmin shell                    interactive, with completion
"""


def version_text() -> str:
    """Return the version as ``--version`` prints it."""
    try:
        number = version("mqadmin")
    except PackageNotFoundError:
        number = "unknown"
    return f"mqadmin {number} (RocketMQ 4.9 and 5.x)\n"


def overview() -> str:
    """Return the list of all commands and the global options."""
    lines = [INTRO, "Commands:", *_summaries(list(everything()))]
    lines += ["", "Global options, before or after the command:", *_listing(GLOBALS)]
    lines += ["", "The names of RocketMQ's own mqadmin work too, with their flags."]
    return "\n".join(lines) + "\n"


def listing(commands: Sequence[Command[object]]) -> str:
    """Return what the commands below a word do, a line each."""
    lines = ["Commands:", *_summaries(commands), "", "`mqadmin COMMAND -h` explains one command"]
    return "\n".join(lines) + "\n"


def usage_of(made: Command[object]) -> str:
    """Return the usage line of a command, without the program's name."""
    words = [made.name]
    if made.needs is Needs.STORE:
        words.append("DIR")
    for parameter in made.parameters:
        if parameter.positional:
            word = parameter.metavar + ("..." if parameter.many else "")
            words.append(word if parameter.required else f"[{word}]")
        elif parameter.required:
            words.append(f"--{parameter.long} {parameter.metavar}")
    if any(not p.positional and not p.required for p in made.parameters):
        words.append("[OPTIONS]")
    return " ".join(words)


def command_help(made: Command[object]) -> str:
    """Return the help of one command."""
    lines = [f"{made.name}: {made.summary}", ""]
    if made.examples:
        lines.append("Examples:")
        for line, meaning in made.examples:
            lines += [f"  {line}", f"      {meaning}"]
        lines.append("")
    lines += [f"Usage: mqadmin {usage_of(made)}", ""]
    positional = [p for p in made.parameters if p.positional]
    options = [p for p in made.parameters if not p.positional]
    if made.needs is Needs.STORE:
        lines += ["  DIR  store directory (or --store DIR, or the shell's `store open DIR`)", ""]
    if made.needs is Needs.EITHER:
        lines += ["  --store DIR reads a store directory instead of asking servers", ""]
    if positional:
        lines += ["Arguments:", *_listing(positional), ""]
    if options:
        lines += ["Options:", *_listing(options), ""]
    if made.details:
        lines += [made.details.strip(), ""]
    if made.writes:
        lines += ["Changes something: --dry-run shows what would change; -y does not ask.", ""]
    for java in made.java:
        flags = " ".join(
            f"-{flag.short}/--{flag.long.strip()}" for flag in java.options if flag.field
        )
        lines.append(f"Also as in RocketMQ's tool: {java.name} {flags}")
    lines.append("Global options: `mqadmin -h`")
    return "\n".join(lines) + "\n"


def _summaries(commands: Sequence[Command[object]]) -> list[str]:
    width = max((len(one.name) for one in commands), default=0)
    return [f"  {one.name:<{width}}  {one.summary}" for one in commands]


def _listing(parameters: Iterable[Parameter]) -> list[str]:
    shown = [(_label(parameter), parameter) for parameter in parameters]
    width = min(max(len(label) for label, _ in shown), 34)
    lines = []
    for label, parameter in shown:
        text = parameter.help + _default(parameter)
        if len(label) > width:
            lines += [f"  {label}", f"  {'':<{width}}  {text}"]
        else:
            lines.append(f"  {label:<{width}}  {text}")
    return lines


def _label(parameter: Parameter) -> str:
    if parameter.positional:
        return parameter.metavar
    short = f"-{parameter.short}, " if parameter.short else "    "
    value = f" {parameter.metavar}" if parameter.takes_value else ""
    return f"{short}--{parameter.long}{value}"


def _default(parameter: Parameter) -> str:
    if parameter.many:
        return " (may be repeated)"
    if parameter.default in (None, False, (), ""):
        return ""
    shown = getattr(parameter.default, "value", parameter.default)
    return f" (default {shown})"
