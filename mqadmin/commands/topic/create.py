"""``topic create``: make a topic on the masters of a cluster, or on one broker.

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
from mqadmin.cli.types import INTEGER, Word
from mqadmin.output.rows import Outcome
from mqadmin.output.topic_kinds import parse_perm
from mqadmin.session.call import Call


@command(
    "topic create",
    examples=(
        ("mqadmin topic create orders", "8 queues on every master"),
        ("mqadmin topic create orders -q 2 --broker broker-a", "2 queues on one broker"),
        ("mqadmin topic create payments --message-type FIFO", "for messages in order (5.x)"),
    ),
    details="A topic that is there with the same settings is left unchanged; one with others is\n"
    "refused: `topic update` changes it.",
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "result", "remark"),
    writes=True,
)
@topic_argument()
@click.option(
    "--queues", "-q", type=INTEGER, default=8, help="queues to read and to write, a broker"
)
@click.option("--read-queues", type=INTEGER, help="queues to read, where they differ")
@click.option("--write-queues", type=INTEGER, help="queues to write, where they differ")
@click.option("--perm", type=Word(read=parse_perm), default=6, help="RW, R, W, or 6, 4, 2")
@click.option("--order", is_flag=True, help="an ordered topic")
@message_type_option
@on_masters
async def create_topic(
    call: Call,
    *,
    topic: str,
    queues: int,
    read_queues: int | None,
    write_queues: int | None,
    perm: int,
    order: bool,
    message_type: str | None,
    where: Where,
) -> Outcome:
    """Return one row a broker.

    Raises:
        BadCall: the name is none for a topic.
        NotFound: there is no such cluster or broker.
    """
    wanted = Wanted(
        topic=topic,
        read_queues=queues if read_queues is None else read_queues,
        write_queues=queues if write_queues is None else write_queues,
        perm=perm,
        order=order or None,
        message_type=message_type,
    )
    return await change_topics(call, [wanted], where=where, update=False, create=True)
