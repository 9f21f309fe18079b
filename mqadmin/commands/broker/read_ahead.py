"""``broker read-ahead``: let the system read ahead in the commit log of brokers of 5.x, or not.

Requests: GET_BROKER_CONFIG, SET_COMMITLOG_READ_MODE, and GET_BROKER_CONFIG again.
"""

from typing import Literal

from mqadmin.changes.targets.storage import ReadAhead
from mqadmin.changes.write import carry_out, plan
from mqadmin.cli.declare import Call, Outcome, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, on_brokers
from mqadmin.cli.types import Choice
from mqadmin.cluster.brokers import brokers_and_slaves, master_of
from mqadmin.commands.broker._shared import StorageChange

NORMAL, RANDOM = "normal", "random"


@command(
    "broker read-ahead",
    examples=(
        ("mqadmin broker read-ahead random", "many groups read old messages here and there"),
        ("mqadmin broker read-ahead normal --broker broker-a", "and back"),
    ),
    details="With `random` the system reads only what is asked for from the commit log "
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
    results = await carry_out(call, steps, title=f"broker read-ahead {mode}")
    names = {True: NORMAL, False: RANDOM, None: None}
    rows = [
        StorageChange.of(
            step,
            master=master_of(step.target.node, nodes),
            mode=names[step.value],
            was=names[step.step.old],
        )
        for step in results
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
