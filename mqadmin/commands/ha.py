"""``ha status``: show masters and slaves, where each log ends, and the state of each slave.

``ha epochs`` shows under which masters each log was written, in groups with a controller.

``ha reset-flush-offset`` tells a slave how far its master has flushed.

Requests: GET_BROKER_CLUSTER_INFO, and on each broker GET_BROKER_RUNTIME_INFO with
GET_BROKER_HA_STATUS, GET_BROKER_EPOCH_CACHE or RESET_MASTER_FLUSH_OFFSET.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mqadmin.changes.write import attempt, result_of
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, of_broker, of_cluster, option_group
from mqadmin.cli.types import BROKER, Integer
from mqadmin.cluster.brokers import MASTER, ServerNode, peers_of, processes
from mqadmin.cluster.partial_answers import PASSED_OVER
from mqadmin.cluster.replicas import with_end
from mqadmin.cluster.server_tables import BrokerCounts, ask_counts
from mqadmin.output.rows import UNREACHABLE
from mqclient.errors import ClientError
from remoting.bodies import HAClientRuntimeInfo, HAConnectionRuntimeInfo, HARuntimeInfo

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class HaConnection(Row):
    """A slave, as its master of RocketMQ 5 sees it; sizes in bytes."""

    address: str
    ack_offset: int
    lag: int
    size_per_second: int
    is_in_sync: bool
    next_offset: int


@dataclass(frozen=True, slots=True)
class HaLink(Row):
    """The connection of a slave of RocketMQ 5 to its master; sizes in bytes, 0 ms for never."""

    master_address: str
    size_per_second: int
    last_read_ms: int
    last_write_ms: int
    master_flush_offset: int


@dataclass(frozen=True, slots=True)
class HaRow(Row):
    """One broker process.

    ``lag`` is in bytes of commit log behind the master; ``state`` is what our slaves report,
    with DIVERGED for a log that is not its master's, and FENCED for a master that was replaced;
    ``slaves`` those connected to a master; ``epoch`` that of the master in a group with a
    controller; elsewhere when the promotion that the broker follows was ordered, in ms since 1970,
    0 for none. What follows ``remark`` only our brokers and those of RocketMQ 5 say.
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
    in_sync_slaves: int | None = None
    connections: list[HaConnection] = field(default_factory=list)
    link: HaLink | None = None


@command(
    "ha status",
    examples=(
        ("mqadmin ha status", "every master with its slaves"),
        ("watch 1 mqadmin ha status -b broker-a", "one of them, every second"),
    ),
    details="A Java broker of 4.9 reports where its log ends, but not its connections; one of 5.x "
    "also reports how its slaves are connected, which -o json shows. The exit code is 4 if no "
    "broker answered, and 5 if only some did.",
    rows=HaRow,
    columns=(
        *("cluster", "broker", "broker_id", "role", "address", "log_end", "lag", "state"),
        *("slaves", "epoch", "remark"),
    ),
)
@option_group("where", Where, of_broker, of_cluster(help="of this cluster"))
async def ha_status(call: Call, *, where: Where) -> Outcome:
    """Return one row for each broker process, each master before its slaves.

    Raises:
        ItemNotFound: the cluster or broker does not exist.
    """
    admin = await call.admin()
    counts_by_node = await ask_counts(admin, await processes(admin, where))
    ends = {
        (node.cluster, node.broker): counted.number("commitLogMaxOffset")
        for node, counted in counts_by_node
        if node.broker_id == MASTER
    }
    infos = await _infos(admin, counts_by_node)
    rows = [
        _row(node, counted, ends.get((node.cluster, node.broker)), infos.get(node.address))
        for node, counted in counts_by_node
    ]
    # Replaced masters are not in a route; the new master reports their addresses.
    listed = {node.address for node, _ in counts_by_node}
    replaced = {peer for node, counted in counts_by_node for peer in peers_of(node, counted.counts)}
    unlisted = sorted(peer for peer in replaced if peer.address not in listed)
    rows += [_row(node, counted, None, None) for node, counted in await ask_counts(admin, unlisted)]
    results = [UNREACHABLE if row.log_end is None else "" for row in rows]
    return Outcome(rows, exit_code=exit_code_of(results))


async def _infos(
    admin: "Admin", counts_by_node: list[tuple[ServerNode, BrokerCounts]]
) -> dict[str, HARuntimeInfo]:
    """Return what brokers of RocketMQ 5 report about their connections, by address."""
    infos = {}

    async def ask(address: str) -> None:
        # A broker of 4.9 refuses the request.
        with contextlib.suppress(*PASSED_OVER):
            infos[address] = await admin.broker_ha_status(address)

    answering = [node.address for node, counted in counts_by_node if counted.error is None]
    await asyncio.gather(*map(ask, answering))
    return infos


def _row(
    node: ServerNode, counted: BrokerCounts, master_end: int | None, info: HARuntimeInfo | None
) -> HaRow:
    numbers = counted.counts
    end = counted.number("commitLogMaxOffset")
    is_master = node.broker_id == MASTER
    problems = (numbers.get(key) for key in ("haFence", "haDivergence", "haProblem"))
    slaves = counted.number("haConnectedSlaves")
    if slaves is None and info is not None:
        slaves = len(info.ha_connection_info)
    return HaRow.of(
        node,
        role=numbers.get("haRole", node.role),
        log_end=end,
        lag=None if is_master or end is None or master_end is None else master_end - end,
        state=numbers.get("haState") or ("FENCED" if numbers.get("haFence") else ""),
        slaves=slaves if is_master else None,
        # Promotions have no effect in a group with a controller.
        epoch=counted.number("masterEpoch" if "masterEpoch" in numbers else "haEpoch"),
        remark=counted.error or next(filter(None, problems), ""),
        in_sync_slaves=info.in_sync_slave_nums if info is not None and info.master else None,
        connections=[] if info is None else list(map(_connection, info.ha_connection_info)),
        link=None if info is None or info.master else _link(info.ha_client_runtime_info),
    )


def _connection(info: HAConnectionRuntimeInfo) -> HaConnection:
    return HaConnection(
        address=info.addr or "",
        ack_offset=info.slave_ack_offset,
        lag=info.diff,
        size_per_second=info.transferred_byte_in_second,
        is_in_sync=info.in_sync,
        next_offset=info.transfer_from_where,
    )


def _link(info: HAClientRuntimeInfo | None) -> HaLink | None:
    if info is None:
        return None
    return HaLink(
        master_address=info.master_addr or "",
        size_per_second=info.transferred_byte_in_second,
        last_read_ms=info.last_read_timestamp,
        last_write_ms=info.last_write_timestamp,
        master_flush_offset=info.master_flush_offset,
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

    ``log_end`` is None if the broker did not report it; ``remark`` has the reason.
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
    histories = await asyncio.gather(*(_epochs_of(admin, node) for node in nodes))
    return Outcome(
        [row for row, _ in histories], exit_code=exit_code_of(result for _, result in histories)
    )


async def _epochs_of(admin: "Admin", node: ServerNode) -> tuple[LogEpochs, str]:
    """Return the row of one broker, and why it has nothing to show ("" if it has)."""
    try:
        cache = await admin.broker_epochs(node.address)
    except ClientError as error:
        result, remark = result_of(error)
        return LogEpochs.of(node, log_end=None, epochs=[], remark=remark), result
    parts = [EpochPart.of(entry) for entry in with_end(cache.epoch_list, cache.max_offset)]
    row = LogEpochs(
        cache.cluster_name or node.cluster,
        cache.broker_name or node.broker,
        cache.broker_id,
        node.address,
        cache.max_offset,
        parts,
    )
    return row, ""


@dataclass(frozen=True, slots=True)
class FlushOffsetChange(Row):
    """A slave, and how far it shall assume that its master has flushed, in bytes."""

    address: str
    offset: int
    result: str
    remark: str | None


@command(
    "ha reset-flush-offset",
    examples=(("mqadmin ha reset-flush-offset 10.0.0.2:10911 0 -y", "the slave asks anew"),),
    details="A slave of RocketMQ 5 with asyncLearner or an acting master compares what it has with "
    "what its master last flushed. A master that starts with a shorter log leaves that figure too "
    "high; this sets it. A master ignores the request, and brokers of 4.9 and of ours refuse it.",
    rows=FlushOffsetChange,
    writes=True,
)
@argument("broker", type=BROKER, help="the slave: HOST:PORT")
@argument("offset", type=Integer(min=0), help="a commit log offset, in bytes")
async def reset_flush_offset(call: Call, *, broker: str, offset: int) -> Outcome:
    """Return one row."""
    admin = await call.admin()
    await call.confirm(f"let {broker} believe that its master has flushed up to {offset}?")
    result, remark = await attempt(call, lambda: admin.reset_master_flush_offset(broker, offset))
    row = FlushOffsetChange(broker, offset, result, remark)
    return Outcome([row], exit_code=exit_code_of([result]))
