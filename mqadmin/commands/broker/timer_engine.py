"""``broker timer-engine``: choose what keeps the delayed messages of brokers of 5.x.

Requests: GET_BROKER_CONFIG, SWITCH_TIMER_ENGINE, and GET_BROKER_CONFIG again.
"""

from typing import Literal

from mqadmin.changes.targets.storage import FILES, ROCKSDB, TimerEngine
from mqadmin.changes.write import carry_out, plan
from mqadmin.cli.declare import Call, Outcome, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, on_masters
from mqadmin.cli.types import Choice
from mqadmin.cluster.brokers import masters
from mqadmin.commands.broker._shared import StorageChange


@command(
    "broker timer-engine",
    examples=(("mqadmin broker timer-engine ROCKSDB --broker broker-a", "from the time wheel"),),
    details="Delayed messages that wait stay with the engine that took them; new ones go to the "
    "other. A broker can be switched to ROCKSDB only if it was started with "
    "timerRocksDBEnable=true.",
    rows=StorageChange,
    columns=("broker", "address", "mode", "was", "result", "remark"),
    writes=True,
)
@argument(
    "engine", type=Choice([FILES, ROCKSDB]), help="the time wheel in files, or RocksDB's timeline"
)
@on_masters
async def switch_timer_engine(
    call: Call, *, engine: Literal["FILES", "ROCKSDB"], where: Where
) -> Outcome:
    """Return one row for each master."""
    admin = await call.admin()
    nodes = await masters(admin, where)
    steps = await plan([TimerEngine(admin, node, ()) for node in nodes], lambda _: engine)
    results = await carry_out(
        call,
        steps,
        title=f"broker timer-engine {engine}",
        question=f"switch the timer of {len(nodes)} broker(s) to {engine}?",
    )
    rows = [
        StorageChange.of(step, master=None, mode=step.value, was=step.step.old) for step in results
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
