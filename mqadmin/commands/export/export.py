"""``export``: write topics, groups and accounts as a YAML document for `diff` and `apply`.

Requests: see ``mqadmin.manifest.sources``.
"""

from dataclasses import dataclass, field
from pathlib import Path

import click

from mqadmin.cli.declare import Call, Outcome, Row, command, one
from mqadmin.cli.decorators import replace_option, to_file
from mqadmin.cli.types import CLUSTER
from mqadmin.manifest.declared import ACCOUNTS, GROUPS, TOPICS, Settings
from mqadmin.manifest.sources import source
from mqadmin.output.files import STDOUT, check_is_new, write_whole
from mqadmin.output.formats import text_of
from mqadmin.output.rows import OMIT


@dataclass(frozen=True, slots=True)
class Document(Row):
    """Settings by name and broker; ``*`` is every master."""

    topics: dict[str, dict[str, Settings]]
    groups: dict[str, dict[str, Settings]]
    accounts: dict[str, dict[str, Settings]] | None = field(default=None, metadata={OMIT: True})


@dataclass(frozen=True, slots=True)
class ExportedDocument(Row):
    """A document that was written, and how many settings it names."""

    file: str
    topics: int
    groups: int
    accounts: int


@command(
    "export",
    examples=(
        ("mqadmin export --to cluster.yaml", "what `diff` and `apply` read"),
        ("mqadmin export -o json", "the same for a program"),
    ),
    details="Topics and groups that brokers make themselves are left out, and so are the secrets "
    "of accounts. The format is YAML unless -o names another one.",
    rows=Document,
    summary_rows=ExportedDocument,
)
@click.option("--cluster", type=CLUSTER, help="only this cluster")
@to_file(default=STDOUT)
@replace_option
async def export(call: Call, *, cluster: str | None, to: Path, replace: bool) -> Outcome:
    """Return the document, or what was written.

    Raises:
        ItemNotFound: there is no such cluster, or no broker.
        Usage: the file is there already.
    """
    check_is_new(to, replace=replace)
    manifest = (await source(call, None, cluster=cluster)).manifest
    document = Document(manifest[TOPICS.name], manifest[GROUPS.name], manifest.get(ACCOUNTS.name))
    if to == STDOUT:
        return Outcome((document,), single=True, format="yaml")
    write_whole(to, text_of(document, call.settings.output or "yaml"))
    counts = (len(document.topics), len(document.groups), len(document.accounts or ()))
    return one(ExportedDocument(str(to), *counts))
