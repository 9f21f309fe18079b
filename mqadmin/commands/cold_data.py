"""``cold-data …``: limits for groups that read old messages from disk (RocketMQ 5).

list            GET_COLD_DATA_FLOW_CTR_INFO
set, remove     the same, UPDATE_ or REMOVE_COLD_DATA_FLOW_CTR_CONFIG, and the first again
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mqadmin.changes.targets.storage import ColdDataLimit
from mqadmin.changes.write import Choose, carry_out, delete_existing, plan
from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, group_argument, of_brokers, on_masters
from mqadmin.cli.types import Integer
from mqadmin.cluster.brokers import ServerNode, brokers_and_slaves, master_of, masters
from mqadmin.cluster.partial_answers import Answers
from remoting.bodies import ColdDataFlowCtrInfo, ColdDataReads


@dataclass(frozen=True, slots=True)
class ColdDataRow(Row):
    """A group that reads from disk or has a limit of its own; bytes for each count of the broker.

    A broker without such a group has one row, whose ``group`` is None.
    """

    identity = "group"

    broker: str
    address: str
    master: str | None
    group: str | None
    read_bytes: int
    limit: int
    is_own_limit: bool
    last_read_ms: EpochMs
    since_ms: EpochMs
    all_read_bytes: int
    all_limit: int
    common_limit: int


@command(
    "cold-data list",
    examples=(("mqadmin cold-data list", "who reads from disk, and how much it may"),),
    details="A broker counts anew every 5 s (180 s without coldDataFlowControlEnable). A group "
    "over its limit gets no more old messages until then. It is left out a minute after its "
    "last read from disk.",
    rows=ColdDataRow,
    columns=("broker", "group", "read_bytes", "limit", "is_own_limit", "last_read_time"),
)
@of_brokers
async def list_cold_data(call: Call, *, where: Where) -> Outcome:
    """Return one row for each group and broker."""
    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    answers = Answers(call)
    said = await answers.each(nodes, lambda node: admin.cold_data_info(node.address))
    rows = [row for node, info in said for row in _rows(node, info, master_of(node, nodes))]
    return Outcome(rows, exit_code=answers.exit_code)


def _rows(node: ServerNode, info: ColdDataFlowCtrInfo, master: str | None) -> Iterator[ColdDataRow]:
    groups = dict.fromkeys((*info.runtime_table, *info.config_table))
    for group in groups or (None,):
        reads = info.runtime_table.get(group or "", ColdDataReads())
        yield ColdDataRow(
            node.broker,
            node.address,
            master,
            group,
            reads.cold_acc,
            info.config_table.get(group or "", info.cg_cold_read_threshold),
            group in info.config_table,
            reads.last_cold_read_time_mills,
            reads.create_time_mills,
            info.global_acc,
            info.global_cold_read_threshold,
            info.cg_cold_read_threshold,
        )


@dataclass(frozen=True, slots=True)
class ColdDataChange(Row):
    """The limit of a group at one broker after the call, in bytes; None for the common one."""

    group: str
    broker: str
    address: str
    limit: int | None
    was: int | None
    result: str
    remark: str | None


@command(
    "cold-data set",
    examples=(("mqadmin cold-data set billing 1048576", "at most 1 MiB for each count"),),
    details="The broker keeps the limit in memory: it is gone after a restart.",
    rows=ColdDataChange,
    writes=True,
)
@group_argument()
@argument("limit", type=Integer(min=0), help="bytes that the group may read from disk")
@on_masters
async def set_cold_data_limit(call: Call, *, group: str, limit: int, where: Where) -> Outcome:
    """Return one row for each broker."""
    return await _change(call, group, where, lambda _: limit, title="set")


@command(
    "cold-data remove",
    examples=(("mqadmin cold-data remove billing -y", "the common limit counts again"),),
    rows=ColdDataChange,
    writes=True,
)
@group_argument()
@on_masters
async def remove_cold_data_limit(call: Call, *, group: str, where: Where) -> Outcome:
    """Return one row for each broker; exit code 3 where none has a limit for the group."""
    return await _change(call, group, where, delete_existing, title="remove")


async def _change(
    call: Call, group: str, where: Where, choose: Choose[int], *, title: str
) -> Outcome:
    admin = await call.admin()
    nodes = await masters(admin, where)
    steps = await plan([ColdDataLimit(admin, node, (group,)) for node in nodes], choose)
    results = await carry_out(call, steps, title=f"cold-data {title} {group}")
    rows = [
        ColdDataChange.of(step, group=group, limit=step.value, was=step.step.old)
        for step in results
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
