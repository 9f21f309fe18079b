"""``export``: write topics, groups and accounts as a YAML document for `diff` and `apply`.

Requests: see ``mqadmin.manifest.sources``.
"""

from dataclasses import dataclass, field

import click

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.types import CLUSTER
from mqadmin.manifest.declared import ACCOUNTS, GROUPS, TOPICS, Settings
from mqadmin.manifest.sources import source
from mqadmin.output.rows import OMIT


@dataclass(frozen=True, slots=True)
class Document(Row):
    """Settings by name and broker; ``*`` is every master."""

    topics: dict[str, dict[str, Settings]]
    groups: dict[str, dict[str, Settings]]
    accounts: dict[str, dict[str, Settings]] | None = field(default=None, metadata={OMIT: True})


@command(
    "export",
    examples=(
        ("mqadmin export > cluster.yaml", "what `diff` and `apply` read"),
        ("mqadmin export -o json", "the same for a program"),
    ),
    details="Topics and groups that brokers make themselves are left out, and so are the secrets "
    "of accounts. The format is YAML unless -o names another one.",
    rows=Document,
)
@click.option("--cluster", type=CLUSTER, help="only this cluster")
async def export(call: Call, *, cluster: str | None) -> Outcome:
    """Return the document.

    Raises:
        ItemNotFound: there is no such cluster, or no broker.
    """
    manifest = (await source(call, None, cluster=cluster)).manifest
    document = Document(manifest[TOPICS.name], manifest[GROUPS.name], manifest.get(ACCOUNTS.name))
    return Outcome((document,), single=True, format="yaml")
