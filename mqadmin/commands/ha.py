"""``ha status``: masters and slaves, how far each log is and what the slaves are at.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker.
"""

import asyncio
from dataclasses import dataclass

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, gathered, of_broker, of_cluster
from mqadmin.cluster.brokers import MASTER, ServerNode, peers_of, processes
from mqadmin.output.rows import UNREACHABLE, Outcome, Row, exit_code_of
from mqadmin.session.call import Call
from mqclient.errors import ClientError


@dataclass(frozen=True, slots=True)
class HaRow(Row):
    """One broker process.

    ``lag`` is in bytes of commit log behind the master; ``state`` is what a slave of ours says,
    with DIVERGED for a log that is not its master's, and FENCED for a master that was replaced;
    ``slaves`` those connected to a master; ``epoch`` when the promotion that it follows was
    ordered, in ms since 1970, 0 for none.
    """

    cluster: str
    broker: str
    broker_id: int
    role: str
    address: str
    log_end: int | None
    lag: int | None
    state: str
    slaves: int | None
    epoch: int | None
    remark: str


@command(
    "ha status",
    examples=(
        ("mqadmin ha status", "every master with its slaves"),
        ("watch 1 mqadmin ha status -b broker-a", "one of them, again and again"),
    ),
    details="A Java broker says where its log ends and nothing of its connections. The exit code "
    "is 4 where a broker did not answer.",
    rows=HaRow,
)
@gathered("where", Where, of_broker, of_cluster(help="of a cluster"))
async def ha_status(call: Call, *, where: Where) -> Outcome:
    """Return one row a broker process, each master before its slaves.

    Raises:
        NotFound: there is no such cluster or broker.
    """
    admin = await call.admin()
    nodes = await processes(admin, where)
    found = await asyncio.gather(
        *(admin.broker_runtime(node.address) for node in nodes), return_exceptions=True
    )
    listed = {node.address for node in nodes}
    unlisted = sorted(
        {
            peer
            for node, numbers in zip(nodes, found, strict=True)
            if not isinstance(numbers, BaseException)
            for peer in peers_of(node, numbers)
            if peer.address not in listed
        }
    )
    ends = {
        (node.cluster, node.broker): int(numbers["commitLogMaxOffset"])
        for node, numbers in zip(nodes, found, strict=True)
        if node.broker_id == MASTER and not isinstance(numbers, BaseException)
    }
    rows = []
    for node, numbers in zip(nodes, found, strict=True):
        if isinstance(numbers, BaseException):
            if not isinstance(numbers, ClientError):
                raise numbers
            rows.append(_silent(node, str(numbers)))
        else:
            rows.append(_row(node, numbers, ends.get((node.cluster, node.broker))))
    # Masters that were replaced are in no route; the new master says where they are.
    for node in unlisted:
        try:
            rows.append(_row(node, await admin.broker_runtime(node.address), None))
        except ClientError as error:
            rows.append(_silent(node, str(error)))
    results = [UNREACHABLE if row.log_end is None else "" for row in rows]
    return Outcome(rows, exit_code=exit_code_of(results) if any(results) else 0)


def _silent(node: ServerNode, why: str) -> HaRow:
    return HaRow.of(node, log_end=None, lag=None, state="", slaves=None, epoch=None, remark=why)


def _row(node: ServerNode, numbers: dict[str, str], master_end: int | None) -> HaRow:
    end = int(numbers["commitLogMaxOffset"])
    is_master = node.broker_id == MASTER
    slaves = numbers.get("haConnectedSlaves") if is_master else None
    problems = (numbers.get(key) for key in ("haFence", "haDivergence", "haProblem"))
    return HaRow.of(
        node,
        role=numbers.get("haRole", node.role),
        log_end=end,
        lag=None if is_master or master_end is None else master_end - end,
        state=numbers.get("haState") or ("FENCED" if numbers.get("haFence") else ""),
        slaves=None if slaves is None else int(slaves),
        epoch=int(numbers["haEpoch"]) if "haEpoch" in numbers else None,
        remark=next(filter(None, problems), ""),
    )
