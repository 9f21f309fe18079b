"""The values of the global options of one call.

Rule: a value comes from the flag, else from the shell (``set``, ``connect``),
else from the environment, else from the context; see ``mqadmin.session.call`` for the address.
"""

from dataclasses import dataclass
from typing import Final, Literal

TIMEOUT_S_DEFAULT: Final = 5.0
COMPAT_VARIABLE: Final = "MQADMIN_COMPAT"
"""1 selects the layouts of Java's tool without confirmations; strict and honest are values of
``--compat``."""
LAYOUT, STRICT, HONEST = "layout", "strict", "honest"
"""The values of ``--compat``."""
TEXT_OPTIONS: Final = frozenset({"help", "version", "schema"})
"""Options that print a text about a command instead of running it."""
Format = Literal["table", "json", "jsonl", "yaml", "msgpack", "csv", "name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalOptions:
    """The global options of one call; ``mqadmin.cli.globals`` declares them."""

    namesrv: str | None = None
    context: str | None = None
    output: Format | None = None
    columns: str | None = None
    sort: str | None = None
    compat: str | None = None
    no_headers: bool = False
    csv_raw: bool = False
    watch: float | None = None
    timeout: float | None = None
    yes: bool = False
    dry_run: bool = False
    no_color: bool = False
    verbose: bool = False
    explain: bool = False
    access_key: str | None = None
    secret_key: str | None = None
    schema: bool = False
    help: bool = False
    version: bool = False

    @property
    def wants_text(self) -> bool:
        """Return whether the line asks for a text about the command."""
        return any(getattr(self, name) for name in TEXT_OPTIONS)
