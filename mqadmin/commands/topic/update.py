"""``topic update``: change settings of a topic on masters, or on one broker.

Requests: those of ``mqadmin.changes.topic_change``; if queues are removed, also those of
``mqadmin.changes.unread_queues``.
"""

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
from mqadmin.cli.types import BOOLEAN, INTEGER, TextType
from mqadmin.output.topic_kinds import parse_perm


@command(
    "topic update",
    examples=(
        ("mqadmin topic update orders -q 16", "16 queues, everything else as it was"),
        ("mqadmin topic update orders --perm R", "producers can no longer write"),
        ("mqadmin topic update orders --attributes +reserve.time=72", "on brokers of 5.x"),
    ),
    details="Removing queues is refused while groups have unread messages in them, or if "
    "messages would still go to queues that are not read; --force removes them anyway.",
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "was", "result", "remark"),
    writes=True,
)
@option_group(
    "wanted",
    topic_update_of,
    topic_argument(),
    click.option("--queues", "-q", type=INTEGER, help="read and write queues"),
    click.option("--read-queues", type=INTEGER, help="read queues"),
    click.option("--write-queues", type=INTEGER, help="write queues"),
    click.option("--perm", type=TextType(read=parse_perm), help="RW, R, W, or 6, 4, 2"),
    click.option("--order", type=BOOLEAN, help="whether the topic is ordered"),
    click.option(
        "--unit", type=BOOLEAN, help="whether the topic belongs to one unit (topicSysFlag 1)"
    ),
    click.option(
        "--unit-sub", type=BOOLEAN, help="whether groups of units read the topic (topicSysFlag 2)"
    ),
    click.option(
        "--replace", is_flag=True, help="reset the settings that are not named, as Java does"
    ),
    message_type_option,
    attributes_option,
)
@click.option("--create", is_flag=True, help="create the topic if it does not exist")
@force_option
@on_masters
async def update_topic(
    call: Call,
    *,
    wanted: TopicUpdate,
    create: bool,
    force: bool,
    where: Where,
) -> Outcome:
    """Return one row for each broker, with the old values of what changed.

    Raises:
        BadCall: the name is not allowed for a topic.
        ItemNotFound: the cluster or broker does not exist.
    """
    return await change_topics(call, [wanted], where=where, update=True, create=create, force=force)
