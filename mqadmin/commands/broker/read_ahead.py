"""``broker read-ahead``: let the system read ahead in the commit log of brokers of 5.x, or not.

Requests: GET_BROKER_CONFIG, SET_COMMITLOG_READ_MODE, and GET_BROKER_CONFIG again.
"""

from collections.abc import Mapping
from typing import Literal

from mqadmin.changes.targets.storage import ReadAhead
from mqadmin.changes.write import StepResult, carry_out, plan
from mqadmin.cli.declare import Call, Outcome, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, on_brokers
from mqadmin.cli.types import Choice
from mqadmin.cluster.brokers import MASTER, ServerNode, brokers_and_slaves
from mqadmin.commands.broker._shared import StorageChange


def _masters_of(nodes: list[ServerNode]) -> Mapping[str, str]:
    return {node.broker: node.address for node in nodes if node.broker_id == MASTER}


NORMAL, RANDOM = "normal", "random"


@command(
    "broker read-ahead",
    examples=(
        ("mqadmin broker read-ahead random", "many groups read old messages here and there"),
        ("mqadmin broker read-ahead normal --broker broker-a", "and back"),
    ),
    details="With `random` the system reads from the commit log what is asked for alone "
    "(madvise). The setting dataReadAheadEnable keeps the mode.",
    rows=StorageChange,
    columns=("broker", "address", "mode", "was", "result", "remark"),
    writes=True,
)
@argument("mode", type=Choice([NORMAL, RANDOM]), help="normal: the system reads ahead")
@on_brokers
async def set_read_ahead(call: Call, *, mode: Literal["normal", "random"], where: Where) -> Outcome:
    """Return one row for each broker and slave."""
    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)
    steps = await plan([ReadAhead(admin, node, ()) for node in nodes], lambda _: mode == NORMAL)
    done = await carry_out(call, steps, title=f"broker read-ahead {mode}")
    names = {True: NORMAL, False: RANDOM, None: None}
    masters_of = _masters_of(nodes)
    rows = [
        StorageChange.of(
            step,
            master=_master(step, masters_of),
            mode=names[step.value],
            was=names[step.step.old],
        )
        for step in done
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _master(done: StepResult[bool], masters_of: Mapping[str, str]) -> str | None:
    """Return the address of the master where the step is about a slave."""
    node = done.target.node
    return masters_of.get(node.broker) if node.broker_id != MASTER else None
