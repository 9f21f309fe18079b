"""``diff``: what two clusters, or a file and a cluster, do not have alike.

Requests: see ``mqadmin.manifest.sources``; nothing is changed.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import command
from mqadmin.cli.types import CLUSTER, FILE
from mqadmin.manifest.declared import Setting, differences
from mqadmin.manifest.sources import aligned, source
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call

DIFFERENT = 1


@dataclass(frozen=True, slots=True)
class DifferenceRow(Row):
    """One difference; ``setting`` is None where a side lacks the whole thing."""

    kind: str
    name: str
    broker: str
    setting: str | None
    left: Setting | None
    right: Setting | None


@command(
    "diff",
    examples=(
        ("mqadmin diff cluster.yaml", "the file against the cluster"),
        ("mqadmin diff staging production", "two contexts"),
        ("mqadmin diff 10.0.0.1:9876 10.0.1.1:9876", "two addresses"),
    ),
    details="Exit code 0 where they are alike, 1 where they differ. Broker `*` is every master.",
    rows=DifferenceRow,
)
@click.argument("left", type=FILE, help="a YAML file, HOST:PORT or a context")
@click.argument(
    "right", type=FILE, required=False, help="another one; this call's cluster where left out"
)
@click.option("--cluster", type=CLUSTER, help="this cluster, where there are several")
async def diff(call: Call, *, left: str, right: str | None, cluster: str | None) -> Outcome:
    """Return one row a difference.

    Raises:
        NotFound: a side is neither file nor cluster.
        Usage: a file is no document.
    """
    one = await source(call, left, cluster=cluster)
    other = await source(call, right, cluster=cluster)
    rows = [
        DifferenceRow(d.kind, d.name, d.broker, d.setting, d.left, d.right)
        for d in differences(*aligned(one, other))
    ]
    notes = () if rows else (f"{one.name} and {other.name} are alike",)
    return Outcome(rows, exit_code=DIFFERENT if rows else 0, notes=notes)
