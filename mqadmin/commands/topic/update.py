"""``topic update``: change the settings that are named, and only those.

Requests: GET_BROKER_CLUSTER_INFO, then on each master GET_ALL_TOPIC_CONFIG,
UPDATE_AND_CREATE_TOPIC, and GET_ALL_TOPIC_CONFIG again to read it back.
"""

import click

from mqadmin.changes.topic_change import (
    TopicChange,
    Wanted,
    change_topics,
    message_type_option,
)
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, on_masters, topic_argument
from mqadmin.cli.types import BOOLEAN, INTEGER, Word
from mqadmin.output.rows import Outcome
from mqadmin.output.topic_kinds import parse_perm
from mqadmin.session.call import Call


@command(
    "topic update",
    examples=(
        ("mqadmin topic update orders -q 16", "16 queues, everything else as it was"),
        ("mqadmin topic update orders --perm R", "nobody writes to it any more"),
    ),
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "was", "result", "remark"),
    writes=True,
)
@topic_argument()
@click.option("--queues", "-q", type=INTEGER, help="queues to read and to write")
@click.option("--read-queues", type=INTEGER, help="queues to read")
@click.option("--write-queues", type=INTEGER, help="queues to write")
@click.option("--perm", type=Word(read=parse_perm), help="RW, R, W, or 6, 4, 2")
@click.option("--order", type=BOOLEAN, help="an ordered topic or not")
@click.option("--unit", type=BOOLEAN, help="a topic of one unit (topicSysFlag 1)")
@click.option("--unit-sub", type=BOOLEAN, help="read by groups of units (topicSysFlag 2)")
@click.option("--replace", is_flag=True, help="reset what is not named, as Java does")
@click.option("--create", is_flag=True, help="make it where it is not there")
@message_type_option
@on_masters
async def update_topic(
    call: Call,
    *,
    topic: str,
    queues: int | None,
    read_queues: int | None,
    write_queues: int | None,
    perm: int | None,
    order: bool | None,
    unit: bool | None,
    unit_sub: bool | None,
    replace: bool,
    create: bool,
    message_type: str | None,
    where: Where,
) -> Outcome:
    """Return one row a broker, with the old values of what changed.

    Raises:
        BadCall: the name is none for a topic.
        NotFound: there is no such cluster or broker.
    """
    wanted = Wanted(
        topic=topic,
        read_queues=queues if read_queues is None else read_queues,
        write_queues=queues if write_queues is None else write_queues,
        perm=perm,
        order=order,
        unit=unit,
        unit_sub=unit_sub,
        message_type=message_type,
        replace=replace,
    )
    return await change_topics(call, [wanted], where=where, update=True, create=create)
