"""``diff``: what two clusters, or a file and a cluster, do not have alike.

Requests: see ``mqadmin.declaredfrom``; nothing is changed.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.declared import Setting, differences
from mqadmin.declaredfrom import aligned, source
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome, Row

DIFFERENT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The two sides."""

    left: Annotated[str, argument("a YAML file, HOST:PORT or a context", kind=Kind.FILE)]
    right: Annotated[
        str | None, argument("another one; this call's cluster where left out", kind=Kind.FILE)
    ] = None
    cluster: Annotated[
        str | None, option("this cluster, where there are several", kind=Kind.CLUSTER)
    ] = None


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
    "compare topics, groups and accounts of two clusters, or of a file and a cluster",
    examples=(
        ("mqadmin diff cluster.yaml", "the file against the cluster"),
        ("mqadmin diff staging production", "two contexts"),
        ("mqadmin diff 10.0.0.1:9876 10.0.1.1:9876", "two addresses"),
    ),
    details="Exit code 0 where they are alike, 1 where they differ. Broker `*` is every master.",
    rows=DifferenceRow,
)
async def diff(call: Call, args: Arguments) -> Outcome:
    """Return one row a difference.

    Raises:
        NotFound: a side is neither file nor cluster.
        Usage: a file is no document.
    """
    one = await source(call, args.left, cluster=args.cluster)
    other = await source(call, args.right, cluster=args.cluster)
    rows = [
        DifferenceRow(d.kind, d.name, d.broker, d.setting, d.left, d.right)
        for d in differences(*aligned(one, other))
    ]
    notes = () if rows else (f"{one.name} and {other.name} are alike",)
    return Outcome(rows, exit_code=DIFFERENT if rows else 0, notes=notes)
