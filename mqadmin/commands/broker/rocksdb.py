"""``broker rocksdb``: check and export what brokers of 5.x keep in RocksDB.

check    CHECK_ROCKSDB_CQ_WRITE_PROGRESS
dump     GET_BROKER_CONFIG, EXPORT_ROCKSDB_CONFIG_TO_JSON
"""

from dataclasses import dataclass
from typing import Final

import click

from mqadmin.cli.declare import Call, Outcome, Row, argument, command
from mqadmin.cli.decorators import Where, of_masters, of_topic, to_clean
from mqadmin.cli.times import TIME
from mqadmin.cli.types import Choice
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.partial_answers import Answers
from mqadmin.commands.broker._shared import StorageTask, give_task
from mqadmin.output.times import When

MONTH_MS: Final = 30 * 86_400_000
CONFIG_KINDS: Final = ("topics", "subscriptionGroups", "consumerOffsets")
STATUSES: Final = ("EQUAL", "DIFFERENT", "IN_PROGRESS", "FAILED")
"""What a comparison of consume queues answers, by its number."""


@command(
    "broker rocksdb dump",
    examples=(
        ("mqadmin broker rocksdb dump", "topics, groups and offsets of every master"),
        ("mqadmin broker rocksdb dump topics --broker broker-a", "topics alone"),
    ),
    details="A broker with storeType=defaultRocksDB writes topics, groups and offsets as the JSON "
    "files that other brokers have, into its own directory config.",
    rows=StorageTask,
    writes=True,
)
@argument(
    "kinds",
    nargs=-1,
    type=Choice(CONFIG_KINDS),
    metavar="KIND",
    help="of " + ", ".join(CONFIG_KINDS) + "; all if left out",
)
@to_clean
async def export_config(call: Call, *, kinds: tuple[str, ...], where: Where) -> Outcome:
    """Return one row for each master."""
    admin = await call.admin()
    return await give_task(
        call,
        await masters(admin, where, every=True),
        lambda node: admin.export_rocksdb_config(node.address, kinds or CONFIG_KINDS),
        needs=("storeType", "defaultRocksDB"),
        otherwise="its configuration is in files already: storeType is not defaultRocksDB",
    )


@dataclass(frozen=True, slots=True)
class QueueCheckRow(Row):
    """How far the comparison of consume queues is at one broker."""

    broker: str
    address: str
    status: str
    remark: str | None


@command(
    "broker rocksdb check",
    examples=(
        ("mqadmin broker rocksdb check", "of the last 30 days, on every master"),
        ("mqadmin broker rocksdb check --topic orders --from -2d", "of one topic"),
    ),
    details="A broker that writes consume queues to RocksDB and to files compares both in the "
    "background, and writes the result to its log.",
    rows=QueueCheckRow,
)
@of_topic()
@click.option("--from", "from_", type=TIME, help="what was stored at this time or later")
@of_masters
async def check_queues(
    call: Call, *, topic: str | None, from_: When | None, where: Where
) -> Outcome:
    """Return one row for each master."""
    admin = await call.admin()
    from_ms = call.now_ms() - MONTH_MS if from_ is None else from_.ms(call.now_ms())
    answers = Answers(call)
    said = await answers.each(
        await masters(admin, where, every=True),
        lambda node: admin.check_rocksdb_queues(node.address, topic=topic or "", from_ms=from_ms),
    )
    rows = [
        QueueCheckRow(
            node.broker,
            node.address,
            STATUSES[answer.check_status],
            answer.check_result or "the broker writes the result to its log",
        )
        for node, answer in said
    ]
    return Outcome(rows, exit_code=answers.exit_code)
