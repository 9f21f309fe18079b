"""``topic import``: create or change every topic of a file, as the 5.x tool's updateTopicList.

    [{"topicName": "orders", "readQueueNums": 8, "writeQueueNums": 8, "perm": 6}, …]

Rule: every entry is read before the first topic is changed. Settings that an entry leaves out are
those of Java's TopicConfig: 16 queues, perm 6. The file is one change for ``undo``.
"""

from pathlib import Path

from mqadmin.changes.import_list import entries_of, list_argument
from mqadmin.changes.topic_change import (
    FLAG_UNIT,
    FLAG_UNIT_SUB,
    TopicChange,
    Wanted,
    change_topics,
)
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, on_masters
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from storefmt.config.tables import TopicConfig


@command(
    "topic import",
    examples=(
        ("mqadmin topic import topics.json --dry-run", "what would change"),
        ("mqadmin topic import topics.json --broker broker-a", "on one broker"),
    ),
    details='Entries are as {"topicName": "orders", "readQueueNums": 8, "writeQueueNums": 8, '
    '"perm": 6, "order": false}.\nWhat is left out is 16 queues, perm 6.',
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "was", "result", "remark"),
    writes=True,
)
@list_argument
@on_masters
async def import_topics(call: Call, *, file: Path, where: Where) -> Outcome:
    """Return one row a topic and broker.

    Raises:
        Usage: the file is no list of topics.
        BadCall: a name is none for a topic.
        NotFound: there is no such cluster or broker.
    """
    topics = entries_of(call, file, TopicConfig.from_json, name=lambda one: one.topic_name)
    return await change_topics(
        call,
        [_wanted(topic) for topic in topics],
        where=where,
        update=True,
        create=True,
    )


def _wanted(topic: TopicConfig) -> Wanted:
    return Wanted(
        topic=topic.topic_name,
        read_queues=topic.read_queue_nums,
        write_queues=topic.write_queue_nums,
        perm=topic.perm,
        order=topic.order or None,
        unit=bool(topic.topic_sys_flag & FLAG_UNIT),
        unit_sub=bool(topic.topic_sys_flag & FLAG_UNIT_SUB),
    )
