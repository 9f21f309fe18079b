"""Global options, which every command takes, before or after its name."""

from collections.abc import Iterator
from typing import Final, get_args

import click
from click.core import ParameterSource

from mqadmin.cli.types import ADDRESS, CONTEXT, SECONDS, Choice, TextType, ValueKind
from mqadmin.session.global_options import HONEST, LAYOUT, STRICT, Format, GlobalOptions

GLOBALS: Final = (
    click.Option(
        ["-n", "--namesrv", "--namesrvAddr"],
        type=ADDRESS,
        metavar="ADDR[,ADDR...]",
        help="name servers (also NAMESRV_ADDR)",
    ),
    click.Option(["--context"], type=CONTEXT, help="a named context instead of the current one"),
    click.Option(
        ["-o", "--output"], type=Choice(get_args(Format)), help="output format of the rows"
    ),
    click.Option(
        ["--columns"],
        type=TextType(ValueKind.COLUMN),
        metavar="A,B,...",
        help="columns to print, in this order",
    ),
    click.Option(
        ["--sort"],
        type=TextType(ValueKind.COLUMN),
        metavar="A,-B",
        help="sort by these columns; -A is descending",
    ),
    click.Option(
        ["--compat"],
        type=Choice((LAYOUT, STRICT, HONEST)),
        is_flag=False,
        flag_value=LAYOUT,
        metavar="[strict|honest]",
        help="the layout of Java's mqadmin, see below",
    ),
    click.Option(["--no-headers"], is_flag=True, help="omit the header line"),
    click.Option(["--csv-raw"], is_flag=True, help="csv: leave formula-like texts unescaped"),
    click.Option(
        ["--watch"],
        type=SECONDS,
        is_flag=False,
        flag_value="2",
        metavar="[SECONDS]",
        help="repeat every SECONDS, until Ctrl-C",
    ),
    click.Option(["--timeout"], type=SECONDS, help="time limit of each request (default 5)"),
    click.Option(["-y", "--yes"], is_flag=True, help="do not ask before a destructive write"),
    click.Option(["--dry-run"], is_flag=True, help="print what would change; change nothing"),
    click.Option(["--no-color"], is_flag=True, help="no colours (also NO_COLOR)"),
    click.Option(["-v", "--verbose"], is_flag=True, help="print more detail, including tracebacks"),
    click.Option(["--explain"], is_flag=True, help="print each request on standard error"),
    click.Option(
        ["--access-key"],
        type=TextType(),
        metavar="KEY",
        help="its access key (also MQADMIN_ACCESS_KEY)",
    ),
    click.Option(
        ["--secret-key"],
        type=TextType(),
        metavar="KEY",
        help="its secret (better: MQADMIN_SECRET_KEY)",
    ),
    click.Option(["--schema"], is_flag=True, help="print the JSON schema of the rows"),
    click.Option(["-h", "--help"], is_flag=True, help="this text"),
    click.Option(["--version"], is_flag=True, help="print the version"),
)
NAMES: Final = frozenset(option.name for option in GLOBALS)


def settings_of(ctx: click.Context, **implied: object) -> GlobalOptions:
    """Return the values of the global options before and after the command of a line.

    Args:
        implied: values implied by the name of the command; an option on the line takes precedence.
    """
    values = dict(implied)
    for level in reversed(list(levels(ctx))):
        values |= {
            name: level.params[name]
            for name in NAMES & level.params.keys()
            if is_given(level, name)
        }
    return GlobalOptions(**values)  # type: ignore[arg-type]


def is_given(ctx: click.Context, name: str) -> bool:
    """Return whether an option is on the line."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def levels(ctx: click.Context) -> Iterator[click.Context]:
    """Yield a context, then those of the groups above it up to that of the program."""
    level: click.Context | None = ctx
    while level is not None:
        yield level
        level = level.parent
