"""``group consume-mode get``: by PULL or by POP, as it was set for the topics of groups.

Request on each master: GET_ALL_MESSAGE_REQUEST_MODE (RocketMQ 5).
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, of_masters, of_topic
from mqadmin.cli.types import GROUP
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.partial_answers import Answers, address_of
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call


@dataclass(frozen=True, slots=True)
class ConsumeModeRow(Row):
    """A group and topic; ``share_queues`` further members read each queue, 0 means all."""

    group: str
    topic: str
    broker: str
    address: str
    mode: str
    share_queues: int


@command(
    "group consume-mode get",
    examples=(("mqadmin group consume-mode get billing", "of one group, topic by topic"),),
    details="Only what was set is listed: a group pulls from its other topics. Simple consumers\n"
    "pop whatever the mode is; it is for push consumers that let the broker assign queues.",
    rows=ConsumeModeRow,
    columns=("group", "topic", "broker", "mode", "share_queues"),
)
@click.argument("group", type=GROUP, required=False, help="only of this group")
@of_topic()
@of_masters
async def get_consume_mode(
    call: Call, *, group: str | None, topic: str | None, where: Where
) -> Outcome:
    """Return one row for each group, topic and broker that a mode was set for.

    Raises:
        NotFound: there is no such broker.
    """
    admin = await call.admin()
    places = await masters(admin, where, every=True)
    answers = Answers(call)
    tables = await answers.each(
        places, lambda at: admin.message_request_modes(at.address), at=address_of
    )
    rows = [
        ConsumeModeRow(
            name,
            of,
            place.broker,
            place.address,
            body.mode.name if body.mode else "PULL",
            body.pop_share_queue_num,
        )
        for place, table in tables
        for (name, of), body in sorted(table.items())
        if group in (None, name) and topic in (None, of)
    ]
    return Outcome(rows, exit_code=answers.exit_code)
