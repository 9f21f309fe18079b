"""Global options: they may stand before or after the command, for every command.

Rule: a value comes from the flag, else from what the shell was told (``set``, ``connect``),
else from the environment, else from the context; see ``mqadmin.call`` for the address.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from mqadmin.parameters import Kind, Parameter, option, parameters_of

TIMEOUT_S_DEFAULT: Final = 5.0
Format = Literal["table", "json", "jsonl", "yaml", "msgpack", "csv", "name"]


def positive_seconds(text: str) -> float:
    """Read a number of seconds above zero.

    Raises:
        ValueError: it is no number, or not above zero.
    """
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number of seconds") from None
    if not 0 < value < float("inf"):
        raise ValueError(f"{text!r} is not above zero")
    return value


STRICT: Final = "strict"


def parse_compat(text: str) -> str:
    """Check ``layout`` or ``strict``.

    Raises:
        ValueError: it is neither.
    """
    if text not in {"layout", STRICT}:
        raise ValueError(f"{text!r} is neither layout nor strict")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The global options of one call."""

    namesrv: Annotated[
        str | None,
        option(
            "name servers (also NAMESRV_ADDR)",
            short="n",
            kind=Kind.ADDRESS,
            metavar="ADDR[;ADDR...]",
        ),
    ] = None
    context: Annotated[
        str | None, option("a named context instead of the current one", kind=Kind.CONTEXT)
    ] = None
    output: Annotated[Format | None, option("how to print the rows", short="o")] = None
    columns: Annotated[
        str | None,
        option("which columns, in this order", kind=Kind.COLUMN, metavar="A,B,..."),
    ] = None
    sort: Annotated[
        str | None,
        option("sort rows by these columns; -A is descending", kind=Kind.COLUMN, metavar="A,-B"),
    ] = None
    compat: Annotated[
        str | None,
        option(
            "print the layout of RocketMQ's own mqadmin 4.9.7; strict: its exit codes, too",
            metavar="[strict]",
            parse=parse_compat,
            implied="layout",
        ),
    ] = None
    no_headers: Annotated[bool, option("leave out the header line")] = False
    watch: Annotated[
        float | None,
        option(
            "show it again and again, every SECONDS, until Ctrl-C",
            metavar="[SECONDS]",
            parse=positive_seconds,
            implied="2",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        option("for each request (default 5)", metavar="SECONDS", parse=positive_seconds),
    ] = None
    yes: Annotated[bool, option("do not ask before a destructive write", short="y")] = False
    dry_run: Annotated[bool, option("print what would change, and change nothing")] = False
    no_color: Annotated[bool, option("no colours (also NO_COLOR)")] = False
    verbose: Annotated[bool, option("say more; a trace for errors of our own", short="v")] = False
    explain: Annotated[bool, option("print each request on standard error")] = False
    access_key: Annotated[
        str | None, option("user of an ACL (also MQADMIN_ACCESS_KEY)", metavar="KEY")
    ] = None
    secret_key: Annotated[
        str | None, option("its secret (better: MQADMIN_SECRET_KEY)", metavar="KEY")
    ] = None
    schema: Annotated[bool, option("print the JSON schema of the rows, and do nothing")] = False
    help: Annotated[bool, option("this text", short="h")] = False
    version: Annotated[bool, option("print the version")] = False


GLOBALS: tuple[Parameter, ...] = parameters_of(Settings)
GLOBAL_NAMES = frozenset(parameter.name for parameter in GLOBALS)

JAVA_GLOBAL_LONG = {"namesrvaddr": "namesrv"}
"""Long names of the Java tool's own common options, folded, and our name."""
