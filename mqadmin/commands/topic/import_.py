"""``topic import``: create or change the topics of a file.

The file is that of the 5.x tool's updateTopicList:

    [{"topicName": "orders", "readQueueNums": 8, "writeQueueNums": 8, "perm": 6}, …]

Every entry is read before the first topic is changed. A setting that an entry leaves out has the
default of Java's TopicConfig: 16 queues, perm 6. ``undo`` treats the file as one change.

Requests: those of ``mqadmin.changes.topic_change``.
"""

from pathlib import Path

from mqadmin.changes.import_list import entries_of, list_argument
from mqadmin.changes.topic_change import (
    FLAG_UNIT,
    FLAG_UNIT_SUB,
    TopicChange,
    TopicUpdate,
    change_topics,
    force_option,
)
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import Where, on_masters
from storefmt.config.tables import TopicConfig


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
        Usage: the file is not a list of topics.
        BadCall: a name is not allowed for a topic.
        ItemNotFound: the cluster or broker does not exist.
    """
    topics = entries_of(call, file, TopicConfig.from_json, name=lambda config: config.topic_name)
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
        # Files for Java's tool name changes (+message.type), those of an export what there was.
        attributes={
            name if name.startswith(("+", "-")) else f"+{name}": value
            for name, value in topic.attributes.items()
        },
    )
