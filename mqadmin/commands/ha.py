"""``ha status``: show masters and slaves, where each log ends, and the state of each slave.

``ha epochs`` shows under which masters each log was written, in groups with a controller.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO or GET_BROKER_EPOCH_CACHE on each broker.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.changes.write import result_of
from mqadmin.cli.declare import Call, Outcome, Row, command, exit_code_of
from mqadmin.cli.decorators import Where, of_broker, of_cluster, option_group
from mqadmin.cluster.brokers import MASTER, ServerNode, peers_of, processes
from mqadmin.cluster.server_tables import BrokerCounts, ask_counts
from mqadmin.output.rows import UNREACHABLE
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class HaRow(Row):
    """One broker process.

    ``lag`` is in bytes of commit log behind the master; ``state`` is what our slaves report,
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
        ("watch 1 mqadmin ha status -b broker-a", "one of them, every second"),
    ),
    details="A Java broker reports where its log ends, but not its connections. The exit code is "
    "4 if no broker answered, and 5 if only some did.",
    rows=HaRow,
)
@option_group("where", Where, of_broker, of_cluster(help="of this cluster"))
async def ha_status(call: Call, *, where: Where) -> Outcome:
    """Return one row for each broker process, each master before its slaves.

    Raises:
        ItemNotFound: the cluster or broker does not exist.
    """
    admin = await call.admin()
    told = await ask_counts(admin, await processes(admin, where))
    ends = {
        (node.cluster, node.broker): counted.number("commitLogMaxOffset")
        for node, counted in told
        if node.broker_id == MASTER
    }
    rows = [_row(node, counted, ends.get((node.cluster, node.broker))) for node, counted in told]
    # Masters that were replaced are in no route; the new master says where they are.
    listed = {node.address for node, _ in told}
    replaced = {peer for node, counted in told for peer in peers_of(node, counted.counts)}
    unlisted = sorted(peer for peer in replaced if peer.address not in listed)
    rows += [_row(node, counted, None) for node, counted in await ask_counts(admin, unlisted)]
    results = [UNREACHABLE if row.log_end is None else "" for row in rows]
    return Outcome(rows, exit_code=exit_code_of(results))


def _row(node: ServerNode, counted: BrokerCounts, master_end: int | None) -> HaRow:
    numbers = counted.counts
    end = counted.number("commitLogMaxOffset")
    is_master = node.broker_id == MASTER
    problems = (numbers.get(key) for key in ("haFence", "haDivergence", "haProblem"))
    return HaRow.of(
        node,
        role=numbers.get("haRole", node.role),
        log_end=end,
        lag=None if is_master or end is None or master_end is None else master_end - end,
        state=numbers.get("haState") or ("FENCED" if numbers.get("haFence") else ""),
        slaves=counted.number("haConnectedSlaves") if is_master else None,
        epoch=counted.number("haEpoch"),
        remark=counted.error or next(filter(None, problems), ""),
    )


@dataclass(frozen=True, slots=True)
class EpochPart(Row):
    """A part of a log; ``end_offset`` is the end of the log for the newest one."""

    epoch: int
    start_offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class LogEpochs(Row):
    """The log of one broker; ``broker_id`` is 0 for the master, else the id in the group.

    ``log_end`` is None where the broker did not say it; ``remark`` has the reason.
    """

    cluster: str
    broker: str
    broker_id: int
    address: str
    log_end: int | None
    epochs: list[EpochPart]
    remark: str | None = None

    def in_table(self) -> Mapping[str, str]:
        """Return the parts as ``epoch: start-end``, the oldest first."""
        return {
            "epochs": ", ".join(
                f"{part.epoch}: {part.start_offset}-{part.end_offset}" for part in self.epochs
            )
        }


@command(
    "ha epochs",
    examples=(("mqadmin ha epochs -b broker-a", "the logs of one group, side by side"),),
    details="Two logs are equal up to the end of the newest epoch that began at the same offset "
    "in both. Only brokers with enableControllerMode=true have epochs. The exit code is 4 if no "
    "broker answered, and 5 if only some did.",
    rows=LogEpochs,
)
@option_group("where", Where, of_broker, of_cluster(help="of this cluster"))
async def ha_epochs(call: Call, *, where: Where) -> Outcome:
    """Return one row for each broker process.

    Raises:
        ItemNotFound: the cluster or broker does not exist.
    """
    admin = await call.admin()
    nodes = await processes(admin, where)
    told = await asyncio.gather(*(_epochs_of(admin, node) for node in nodes))
    return Outcome([row for row, _ in told], exit_code=exit_code_of(result for _, result in told))


async def _epochs_of(admin: "Admin", node: ServerNode) -> tuple[LogEpochs, str]:
    """Return the row of one broker, and why it has nothing to show, "" where it has."""
    try:
        cache = await admin.broker_epochs(node.address)
    except ClientError as error:
        result, remark = result_of(error)
        return LogEpochs.of(node, log_end=None, epochs=[], remark=remark), result
    parts = [EpochPart.of(entry) for entry in cache.epoch_list]
    if parts:
        parts[-1] = EpochPart.of(parts[-1], end_offset=cache.max_offset)
    row = LogEpochs(
        cache.cluster_name or node.cluster,
        cache.broker_name or node.broker,
        cache.broker_id,
        node.address,
        cache.max_offset,
        parts,
    )
    return row, ""
