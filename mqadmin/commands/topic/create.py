"""``topic create``: create a topic on masters, or on one broker.

Requests: those of ``mqadmin.changes.topic_change``.
"""

from dataclasses import replace

import click

from mqadmin.changes.attributes import attributes_option
from mqadmin.changes.topic_change import (
    TopicChange,
    TopicUpdate,
    change_topics,
    force_option,
    message_type_option,
    topic_update_of,
)
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import Where, on_masters, option_group, topic_argument
from mqadmin.cli.types import INTEGER, TextType
from mqadmin.output.topic_kinds import parse_perm


@command(
    "topic create",
    examples=(
        ("mqadmin topic create orders", "8 queues on every master"),
        ("mqadmin topic create orders -q 2 --broker broker-a", "2 queues on one broker"),
        ("mqadmin topic create payments --message-type FIFO", "for FIFO messages (5.x)"),
    ),
    details="A topic that exists with the same settings is left unchanged. One with other "
    "settings is refused; `topic update` changes it.",
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "result", "remark"),
    writes=True,
)
@option_group(
    "wanted",
    topic_update_of,
    topic_argument(),
    click.option(
        "--queues", "-q", type=INTEGER, default=8, help="read and write queues on each broker"
    ),
    click.option("--read-queues", type=INTEGER, help="read queues, if the two numbers differ"),
    click.option("--write-queues", type=INTEGER, help="write queues, if the two numbers differ"),
    click.option("--perm", type=TextType(read=parse_perm), default=6, help="RW, R, W, or 6, 4, 2"),
    click.option("--order", is_flag=True, help="create an ordered topic"),
    message_type_option,
    attributes_option,
)
@force_option
@on_masters
async def create_topic(call: Call, *, wanted: TopicUpdate, force: bool, where: Where) -> Outcome:
    """Return one row for each broker.

    Raises:
        BadCall: the name is not allowed for a topic.
        ItemNotFound: the cluster or broker does not exist.
    """
    # A topic that exists and is ordered stays so.
    wanted = replace(wanted, order=wanted.order or None)
    return await change_topics(call, [wanted], where=where, update=False, create=True, force=force)
