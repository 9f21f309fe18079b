"""``topic create``, ``update``, ``perm``, ``import``: set topics on masters, or on one broker.

Requests: GET_BROKER_CLUSTER_INFO, then on each master GET_ALL_TOPIC_CONFIG,
UPDATE_AND_CREATE_TOPIC, and GET_ALL_TOPIC_CONFIG again to read it back; where queues are taken
away, those of ``mqadmin.changes.unread_queues``.

``import`` takes a file, as the 5.x tool's updateTopicList:

    [{"topicName": "orders", "readQueueNums": 8, "writeQueueNums": 8, "perm": 6}, …]

Every entry is read before the first topic is changed. Settings that an entry leaves out are
those of Java's TopicConfig: 16 queues, perm 6. The file is one change for ``undo``.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mqadmin.changes.import_list import entries_of, list_argument
from mqadmin.changes.topic_change import (
    FLAG_UNIT,
    FLAG_UNIT_SUB,
    TopicChange,
    TopicUpdate,
    change_topics,
    force_option,
    message_type_option,
)
from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.decorators import Where, on_masters, option_group, topic_argument
from mqadmin.cli.types import BOOLEAN, INTEGER, TextType
from mqadmin.output.topic_kinds import parse_perm
from storefmt.config.tables import TopicConfig


def _named(
    *, queues: int | None, read_queues: int | None, write_queues: int | None, **others: Any
) -> TopicUpdate:
    """Return the settings that a line names; ``--queues`` is both numbers that are not given."""
    return TopicUpdate(
        read_queues=queues if read_queues is None else read_queues,
        write_queues=queues if write_queues is None else write_queues,
        **others,
    )


@command(
    "topic create",
    examples=(
        ("mqadmin topic create orders", "8 queues on every master"),
        ("mqadmin topic create orders -q 2 --broker broker-a", "2 queues on one broker"),
        ("mqadmin topic create payments --message-type FIFO", "for messages in order (5.x)"),
    ),
    details="A topic that exists with the same settings is left unchanged. One with other "
    "settings is refused; `topic update` changes it.",
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "result", "remark"),
    writes=True,
)
@option_group(
    "wanted",
    _named,
    topic_argument(),
    click.option(
        "--queues", "-q", type=INTEGER, default=8, help="read and write queues on each broker"
    ),
    click.option("--read-queues", type=INTEGER, help="read queues, if the two numbers differ"),
    click.option("--write-queues", type=INTEGER, help="write queues, if the two numbers differ"),
    click.option("--perm", type=TextType(read=parse_perm), default=6, help="RW, R, W, or 6, 4, 2"),
    click.option("--order", is_flag=True, help="make it an ordered topic"),
    message_type_option,
)
@force_option
@on_masters
async def create_topic(call: Call, *, wanted: TopicUpdate, force: bool, where: Where) -> Outcome:
    """Return one row for each broker.

    Raises:
        BadCall: the name is not allowed for a topic.
        ItemNotFound: there is no such cluster or broker.
    """
    # A topic that exists and is ordered stays so.
    wanted = replace(wanted, order=wanted.order or None)
    return await change_topics(call, [wanted], where=where, update=False, create=True, force=force)


@command(
    "topic update",
    examples=(
        ("mqadmin topic update orders -q 16", "16 queues, everything else as it was"),
        ("mqadmin topic update orders --perm R", "nobody writes to it any more"),
    ),
    details="A change that takes queues away is refused while groups have unread messages there, "
    "or while messages would go on to queues that are never read; --force makes it all the same.",
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "was", "result", "remark"),
    writes=True,
)
@option_group(
    "wanted",
    _named,
    topic_argument(),
    click.option("--queues", "-q", type=INTEGER, help="read and write queues"),
    click.option("--read-queues", type=INTEGER, help="read queues"),
    click.option("--write-queues", type=INTEGER, help="write queues"),
    click.option("--perm", type=TextType(read=parse_perm), help="RW, R, W, or 6, 4, 2"),
    click.option("--order", type=BOOLEAN, help="whether the topic is ordered"),
    click.option("--unit", type=BOOLEAN, help="whether it is a topic of one unit (topicSysFlag 1)"),
    click.option(
        "--unit-sub", type=BOOLEAN, help="whether groups of units read it (topicSysFlag 2)"
    ),
    click.option(
        "--replace", is_flag=True, help="reset the settings that are not named, as Java does"
    ),
)
@click.option("--create", is_flag=True, help="create it where it does not exist")
@message_type_option
@force_option
@on_masters
async def update_topic(
    call: Call,
    *,
    wanted: TopicUpdate,
    create: bool,
    message_type: str | None,
    force: bool,
    where: Where,
) -> Outcome:
    """Return one row for each broker, with the old values of what changed.

    Raises:
        BadCall: the name is not allowed for a topic.
        ItemNotFound: there is no such cluster or broker.
    """
    wanted = replace(wanted, message_type=message_type)
    return await change_topics(call, [wanted], where=where, update=True, create=create, force=force)


@command(
    "topic perm",
    examples=(
        ("mqadmin topic perm orders R -y", "nobody writes to it any more"),
        ("mqadmin topic perm orders RW --broker broker-a", "everybody, on one broker"),
    ),
    details="A question is asked before a permission is taken away, and none before one is given.",
    rows=TopicChange,
    columns=("topic", "broker", "perm", "was", "result", "remark"),
    writes=True,
)
@topic_argument()
@argument("perm", type=TextType(read=parse_perm), help="RW, R, W, or 6, 4, 2")
@force_option
@on_masters
async def set_topic_perm(
    call: Call, *, topic: str, perm: int, force: bool, where: Where
) -> Outcome:
    """Return one row for each broker, with the old permission where it changed.

    Raises:
        BadCall: the name is not allowed for a topic.
        ItemNotFound: there is no such cluster or broker.
    """
    done = await change_topics(
        call,
        [TopicUpdate(topic=topic, perm=perm)],
        where=where,
        update=True,
        create=False,
        asks=True,
        force=force,
    )
    return replace(done, layout="--broker" if where.broker else "")


@command(
    "topic import",
    examples=(
        ("mqadmin topic import topics.json --dry-run", "what would change"),
        ("mqadmin topic import topics.json --broker broker-a", "on one broker"),
    ),
    details='Entries are as {"topicName": "orders", "readQueueNums": 8, "writeQueueNums": 8, '
    '"perm": 6, "order": false}. A topic without these settings has 16 queues and perm 6.',
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "was", "result", "remark"),
    writes=True,
)
@list_argument
@force_option
@on_masters
async def import_topics(call: Call, *, file: Path, force: bool, where: Where) -> Outcome:
    """Return one row for each topic and broker.

    Raises:
        Usage: the file is no list of topics.
        BadCall: a name is not allowed for a topic.
        ItemNotFound: there is no such cluster or broker.
    """
    topics = entries_of(call, file, TopicConfig.from_json, name=lambda one: one.topic_name)
    return await change_topics(
        call,
        [_wanted(topic) for topic in topics],
        where=where,
        update=True,
        create=True,
        force=force,
    )


def _wanted(topic: TopicConfig) -> TopicUpdate:
    return TopicUpdate(
        topic=topic.topic_name,
        read_queues=topic.read_queue_nums,
        write_queues=topic.write_queue_nums,
        perm=topic.perm,
        order=topic.order or None,
        unit=bool(topic.topic_sys_flag & FLAG_UNIT),
        unit_sub=bool(topic.topic_sys_flag & FLAG_UNIT_SUB),
    )
