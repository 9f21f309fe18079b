"""The help that RocketMQ's own tool prints for one of its names, byte for byte.

    usage: mqadmin topicRoute [-h] [-l] [-n <arg>] -t <arg>
     -h,--help                Print help
     -l,--list                Use list format to print data
     -n,--namesrvAddr <arg>   Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'
     -t,--topic <arg>         topic name

Rule: options come in the order of their letters, and lines are broken at 110 columns, as
commons-cli 1.2 does it. Descriptions are in ``descriptions.py``.

Source: tools/command/MQAdminStartup.java, srvutil/ServerUtil.java (4.9.7).
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mqadmin.cli.java.descriptions import EITHER, HELP, NAMESRV, STRAY_BLANKS, TEXTS
from mqadmin.cli.java.names import Java

WIDTH: Final = 110
LEFT_PAD: Final = " "
GAP: Final = 3
"""Blanks between an option and its description."""


class UsageOption(NamedTuple):
    """An option as the help shows it; ``group`` names alternatives of which one may be given."""

    short: str
    long: str
    has_arg: bool
    required: bool
    text: str
    group: str = ""

    @property
    def usage(self) -> str:
        """Return the option in the usage line."""
        name = f"-{self.short}" if self.short else f"--{self.long}"
        return f"{name} <arg>" if self.has_arg else name

    @property
    def label(self) -> str:
        """Return the option at the start of its own line."""
        names = f"-{self.short},--{self.long}" if self.short else f"   --{self.long}"
        return LEFT_PAD + names + (" <arg>" if self.has_arg else "")


def usage_text(java: Java) -> str | None:
    """Return the output of `mqadmin help NAME` of 4.9.7; None for a name that came with 5.x."""
    if java.name not in TEXTS:
        return None
    options = sorted(_options(java), key=lambda option: (option.short or option.long).lower())
    usage = f"usage: mqadmin {java.name} {' '.join(_usage_words(options))}"
    column = max(len(option.label) for option in options) + GAP
    lines = _wrapped(usage, indent=usage.index(" ") + 1)
    for option in options:
        lines += _wrapped(option.label.ljust(column) + option.text, indent=column)
    return "\n".join(lines) + "\n"


def _options(java: Java) -> Iterator[UsageOption]:
    texts, either = TEXTS[java.name], EITHER.get(java.name, "")
    yield UsageOption("h", "help", False, False, HELP)
    yield UsageOption("n", "namesrvAddr", True, False, texts.get("n", NAMESRV))
    for flag in java.options:
        if not flag.since_5:
            blank = " " if flag.short in STRAY_BLANKS.get(java.name, "") else ""
            group = either if flag.short in either else ""
            text = texts[flag.short]
            yield UsageOption(
                flag.short, flag.long + blank, flag.has_arg, flag.required, text, group
            )


def _usage_words(options: Sequence[UsageOption]) -> Iterator[str]:
    """Yield the word of each option; the first of a group stands for all, the others are empty."""
    shown: set[str] = set()
    for option in options:
        if not option.group:
            yield option.usage if option.required else f"[{option.usage}]"
        elif option.group in shown:
            yield ""
        else:
            shown.add(option.group)
            yield " | ".join(other.usage for other in options if other.group == option.group)


def _wrapped(text: str, *, indent: int) -> list[str]:
    """Return a text in lines of ``WIDTH``; all but the first are indented."""
    lines = []
    while (end := _line_end(text)) is not None:
        lines.append(text[:end].rstrip())
        text = " " * indent + text[end:].strip()
    return [*lines, text.rstrip()]


def _line_end(text: str) -> int | None:
    """Return where to break a line: at its last blank that fits; None if all of it fits."""
    if len(text) <= WIDTH:
        return None
    end = text.rfind(" ", 0, WIDTH + 1)
    return end if end > 0 else WIDTH
