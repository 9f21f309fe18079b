"""``broker pop-records transfer``: move records of POP from RocksDB to files (RocketMQ 5).

Requests: GET_BROKER_CONFIG, POP_ROLLBACK.
"""

from typing import Final

from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import Where, on_brokers
from mqadmin.cluster.brokers import ServerNode, brokers_and_slaves
from mqadmin.commands.broker._shared import StorageTask, give_task

PATIENCE_S: Final = 30.0
"""How long Java's tool waits for the transfer."""


@command(
    "broker pop-records transfer",
    examples=(
        ("mqadmin broker pop-records transfer -y", "before popConsumerKVServiceEnable=false"),
    ),
    details="Move what POP gave out and what was acknowledged from RocksDB to the files of the "
    "broker, which a broker without popConsumerKVServiceEnable reads.",
    rows=StorageTask,
    writes=True,
)
@on_brokers
async def transfer_pop_records(call: Call, *, where: Where) -> Outcome:
    """Return one row for each broker and slave."""
    admin = await call.admin()
    nodes = await brokers_and_slaves(admin, where)

    async def transfer(node: ServerNode) -> None:
        await admin.transfer_pop_records(
            node.address, timeout_s=max(call.settings.timeout or 0, PATIENCE_S)
        )

    question = f"move the POP records of {len(nodes)} broker(s) from RocksDB to files?"
    return await give_task(
        call,
        nodes,
        transfer,
        question=question,
        needs=("popConsumerKVServiceEnable", "true"),
        otherwise="its POP records are in files already: popConsumerKVServiceEnable is false",
    )
