"""What the global options of one call say.

Rule: a value comes from the flag, else from the shell (``set``, ``connect``),
else from the environment, else from the context; see ``mqadmin.session.call`` for the address.
"""

from dataclasses import dataclass
from typing import Final, Literal

TIMEOUT_S_DEFAULT: Final = 5.0
COMPAT_VARIABLE: Final = "MQADMIN_COMPAT"
"""1 gives the layouts of Java's tool and asks nothing; strict and honest are as ``--compat``'s."""
LAYOUT, STRICT, HONEST = "layout", "strict", "honest"
"""What ``--compat`` may say."""
TEXT_OPTIONS: Final = frozenset({"help", "version", "schema"})
"""Options that ask for a text about a command, so that nothing runs."""
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
        """Return whether a text about the command answers the line."""
        return any(getattr(self, name) for name in TEXT_OPTIONS)
