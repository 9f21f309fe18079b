"""Lay out the declarations as the text of ``--help``, ``--version`` and ``--schema``.

Rule: nothing is repeated, and lists of commands import no command.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import click

from mqadmin.cli import tree
from mqadmin.cli.command import Command, Needs, ParsedLine
from mqadmin.cli.globals import GLOBALS
from mqadmin.cli.options import default_of, long_of, metavar_of
from mqadmin.session.global_options import GlobalOptions

TITLE = "mqadmin: inspect, change and repair RocketMQ 4.9 and 5.x clusters and stores"
INTRO = f"""\
{TITLE}

Usage: mqadmin [OPTIONS] COMMAND ...   `mqadmin COMMAND -h` explains one command
       mqadmin shell                   interactive, with completion
"""
FIRST_SCREEN = f"""\
{TITLE}

  mqadmin topic help           the commands of a group, here `topic`
  mqadmin topic list -h        one command, with examples
  mqadmin help all             every command, and the global options
  mqadmin shell                an interactive shell, with completion

"""
LINE_WIDTH_MAX = 79
NO_WAYS: Mapping[str, str] = MappingProxyType({})
OF_JAVA = """\
The names of RocketMQ's own mqadmin 4.9.7 work too, with their flags. With
MQADMIN_COMPAT=1 a command that it also has prints its layout, and asks nothing;
`--compat` does so for one line. As in Java's tool, a deletion of what is not
there succeeds then. With `strict` all exit codes are Java's, with `honest` all
are ours."""


def text_about(line: ParsedLine) -> str:
    """Return the text that a line with a command asks for instead of running it."""
    made, settings = line.command, line.settings
    if settings.version:
        # Only --version needs it.
        from mqadmin.installation import version_text

        return version_text()
    if settings.help:
        is_java = line.spelled != made.name
        return java_help(line.spelled, made, settings) if is_java else command_help(made)
    # Only --schema needs it.
    from mqadmin.output.schema import schema_of
    from mqadmin.output.structured import json_text

    return json_text(schema_of(made.name, made.summary, made.rows), pretty=True) + "\n"


def java_help(name: str, made: Command, settings: GlobalOptions) -> str:
    """Return the help of RocketMQ's tool for one of its names, and the command that it runs here.

    ``--compat`` leaves out what the tool does not print.
    """
    # Only these names need the texts.
    from mqadmin.cli.java.table import java_of
    from mqadmin.cli.java.usage import usage_text

    java = java_of(name, made.name)
    assert java is not None
    text = usage_text(java)
    if text is None:
        return command_help(made)
    if settings.compat:
        return text
    newer = ", ".join(
        option.spelled for option in java.options if option.since_5 and not option.refused
    )
    also = f"Flags of RocketMQ 5: {newer}\n" if newer else ""
    return f"{text}\n{also}The same as `{made.name}`: `mqadmin {made.name} -h` has examples.\n"


def first_screen() -> str:
    """Return the groups of commands by area; it fits on a terminal of 80x24."""
    lines = []
    for area, commands in tree.AREAS.items():
        words = [*dict.fromkeys(name.split()[0] for name in commands)]
        lines += [area, *_wrapped(words)]
    return FIRST_SCREEN + "\n".join(lines) + "\n"


def _wrapped(words: Sequence[str]) -> list[str]:
    """Return words on lines that fit on a terminal of 80 columns."""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 2 > LINE_WIDTH_MAX:
            lines.append("")
        lines[-1] += f"  {word}"
    return lines


def overview() -> str:
    """Return the list of all commands by area, and the global options."""
    lines = [INTRO]
    for area, commands in tree.AREAS.items():
        lines += [f"{area}:", *_summaries(commands), ""]
    lines += ["Global options, before or after the command:", *_listing(GLOBALS)]
    lines += ["", OF_JAVA]
    return "\n".join(lines) + "\n"


def listing(words: Sequence[str]) -> str:
    """Return one line for each command below some words."""
    commands = {
        name: tree.COMMANDS[name] for name in tree.commands_below(words) if name in tree.COMMANDS
    }
    lines = ["Commands:", *_summaries(commands), "", "`mqadmin COMMAND -h` explains one command"]
    return "\n".join(lines) + "\n"


def usage_of(made: Command) -> str:
    """Return the usage line of a command, without the program's name."""
    words = [made.name]
    if made.needs is Needs.STORE:
        words.append("DIR")
    for param in made.params:
        if isinstance(param, click.Argument):
            word = metavar_of(param) + ("..." if param.nargs == -1 else "")
            words.append(word if param.required else f"[{word}]")
        elif param.required and isinstance(param, click.Option):
            words.append(f"{long_of(param)} {metavar_of(param)}")
    if any(not param.required for param in made.options):
        words.append("[OPTIONS]")
    return " ".join(words)


def command_help(made: Command) -> str:
    """Return the help of one command."""
    lines = [f"{made.name}: {made.summary}", ""]
    if made.examples:
        lines.append("Examples:")
        for line, meaning in made.examples:
            lines += [f"  {line}", f"      {meaning}"]
        lines.append("")
    lines += [f"Usage: mqadmin {usage_of(made)}", ""]
    if made.needs is Needs.STORE:
        lines += ["  DIR  store directory (or --store DIR, or the shell's `store open DIR`)", ""]
    if made.needs is Needs.EITHER:
        instead = f": `{made.offline}`" if made.offline else ""
        lines += [f"  --store DIR reads a store directory instead of asking servers{instead}", ""]
    if made.positional:
        ways = {one.name: " or ".join(one.opts) for one in made.stand_ins}
        lines += ["Arguments:", *_listing(made.positional, ways), ""]
    if made.options:
        lines += ["Options:", *_listing(made.options), ""]
    if made.details:
        lines += [made.details, ""]
    if made.writes:
        lines += ["Makes changes: --dry-run shows what would change; -y skips confirmation.", ""]
    lines += [f"Also: {alias}" for alias, name in tree.ALIASES.items() if name == made.name]
    # Lists of commands do not need the names of Java's tool.
    from mqadmin.cli.java.table import JAVA

    for java in (one for one in JAVA if one.command == made.name):
        flags = " ".join(flag.spelled for flag in java.options if flag.field)
        lines.append(f"Also as in RocketMQ's tool: {java.name} {flags}")
    lines.append("Global options: `mqadmin help all`")
    return "\n".join(lines) + "\n"


def _summaries(commands: Mapping[str, str]) -> list[str]:
    width = max(map(len, commands), default=0)
    return [f"  {name:<{width}}  {summary}" for name, summary in commands.items()]


def _listing(parameters: Iterable[click.Parameter], ways: Mapping[str, str] = NO_WAYS) -> list[str]:
    """Return a line for each parameter; ``ways`` are options that replace an argument."""
    shown = [(_label(param), param) for param in parameters]
    width = min(max(len(label) for label, _ in shown), 34)
    lines = []
    for label, param in shown:
        way = f" (also {ways[param.name]})" if param.name in ways else ""
        text = (param.help or "") + _default(param) + way
        if len(label) > width:
            lines += [f"  {label}", f"  {'':<{width}}  {text}"]
        else:
            lines.append(f"  {label:<{width}}  {text}")
    return lines


def _label(parameter: click.Parameter) -> str:
    if not isinstance(parameter, click.Option):
        return metavar_of(parameter)
    letter = next((name for name in parameter.opts if len(name) == 2), None)
    short = f"{letter}, " if letter else "    "
    value = "" if parameter.is_flag else f" {metavar_of(parameter)}"
    return f"{short}{long_of(parameter)}{value}"


def _default(parameter: click.Parameter) -> str:
    if parameter.multiple or parameter.nargs == -1:
        return " (may be repeated)"
    default = default_of(parameter)
    if default in (None, False, ""):
        return ""
    return f" (default {getattr(default, 'value', default)})"
