"""``diff``: compare two clusters, or a file and a cluster.

Requests: see ``mqadmin.manifest.sources``; nothing is changed.
"""

import click

from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.types import CLUSTER, FILE
from mqadmin.manifest.declared import Difference, differences
from mqadmin.manifest.sources import align, source

DIFFERENT = 1


@command(
    "diff",
    examples=(
        ("mqadmin diff cluster.yaml", "compare the file with the cluster"),
        ("mqadmin diff staging production", "two contexts"),
        ("mqadmin diff 10.0.0.1:9876 10.0.1.1:9876", "two addresses"),
    ),
    details="The exit code is 0 if both are equal, and 1 if they differ. Broker `*` means every "
    "master.",
    rows=Difference,
)
@argument("left", type=FILE, help="a YAML file, - for standard input, HOST:PORT or a context")
@argument(
    "right", type=FILE, required=False, help="the other side; the current cluster if left out"
)
@click.option("--cluster", type=CLUSTER, help="the cluster, if there are several")
async def diff(call: Call, *, left: str, right: str | None, cluster: str | None) -> Outcome:
    """Return one row for each difference.

    Raises:
        ItemNotFound: a side is neither file nor cluster.
        Usage: the file is not a document.
    """
    left_source = await source(call, left, cluster=cluster)
    other = await source(call, right, cluster=cluster)
    rows = list(differences(*align(left_source, other)))
    notes = () if rows else (f"{left_source.name} and {other.name} are equal",)
    return Outcome(rows, exit_code=DIFFERENT if rows else 0, notes=notes)
