"""Man pages from the declarations: the help of a command, as roff.

    mqadmin.1                 all commands, the global options, exit codes
    mqadmin-topic-list.1      one command

Rule: the text is that of ``mqadmin.cli.help``, laid out; a leading dot or apostrophe and a
backslash mean something to man and are escaped; nothing depends on the day it is printed.

Source: groff_man(7).
"""

from typing import Final

from mqadmin.cli.command import Command
from mqadmin.cli.help import command_help, overview
from mqadmin.cli.parse import everything

EXIT_MEANINGS: Final = {
    0: "done",
    1: "failed: the server refused, or a check did not hold",
    2: "wrong usage; nothing was sent",
    3: "not found: topic, group, message, file",
    4: "cannot connect, or timed out",
    5: "partly done; the rows say which part",
    6: "damage found in a store",
    7: "no error was found, but a check could not be run (doctor, report)",
    130: "interrupted",
}


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    made = {"mqadmin.1": _overview()}
    return made | {file_name(command): page_of(command) for command in everything()}


def file_name(made: Command) -> str:
    """Return the file of a command's page: ``mqadmin-topic-list.1``."""
    return f"mqadmin-{made.name.replace(' ', '-')}.1"


def page_of(made: Command) -> str:
    """Return the page of one command."""
    title = file_name(made).removesuffix(".1")
    help_text = command_help(made).split("\n", 1)[1].strip("\n")
    lines = [
        *_head(title, made.summary),
        ".SH DESCRIPTION",
        *_verbatim(help_text),
        *_exits(),
        ".SH SEE ALSO",
        ".BR mqadmin (1)",
    ]
    return "\n".join(lines) + "\n"


def _overview() -> str:
    lines = [
        *_head("mqadmin", "inspect, change and repair RocketMQ clusters and their stores"),
        ".SH DESCRIPTION",
        *_verbatim(overview().split("\n", 2)[2].strip("\n")),
        *_exits(),
    ]
    return "\n".join(lines) + "\n"


def _head(title: str, summary: str) -> list[str]:
    return [
        f'.TH {escape(title).upper()} 1 "" "mqadmin" "RocketMQ"',
        ".SH NAME",
        f"{escape(title)} \\- {escape(summary)}",
    ]


def _exits() -> list[str]:
    lines = [".SH EXIT STATUS"]
    for number, meaning in EXIT_MEANINGS.items():
        lines += [".TP", f".B {number}", escape(meaning)]
    return lines


def _verbatim(text: str) -> list[str]:
    return [".nf", *(escape(line) for line in text.split("\n")), ".fi"]


def escape(line: str) -> str:
    """Return a line with its roff characters escaped."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line.startswith((".", "'")) else line
