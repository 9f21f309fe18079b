"""``topic import``: create or change every topic of a file, as the 5.x tool's updateTopicList.

    [{"topicName": "orders", "readQueueNums": 8, "writeQueueNums": 8, "perm": 6}, …]

Rule: every entry is read before the first topic is changed. Settings that an entry leaves out are
those of Java's TopicConfig: 16 queues, perm 6. Each topic is a change of its own, with ``undo``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.inputfile import objects_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, exit_code_of
from mqadmin.topicchange import FLAG_UNIT, FLAG_UNIT_SUB, TopicChange, Wanted, change_topic
from storefmt.configs import TopicConfig
from storefmt.errors import StoreError
from storefmt.paths import check_topic_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The file, and where its topics go."""

    file: Annotated[Path, argument("a JSON array of topics; - is standard input", kind=Kind.FILE)]
    cluster: Annotated[str | None, option("on its masters", kind=Kind.CLUSTER)] = None
    broker: Annotated[str | None, option("only there: a name or HOST:PORT", kind=Kind.BROKER)] = (
        None
    )


@command(
    "topic import",
    "create or change the topics of a file",
    examples=(
        ("mqadmin topic import topics.json --dry-run", "what would change"),
        ("mqadmin topic import topics.json --broker broker-a", "on one broker"),
    ),
    details='Entries are as {"topicName": "orders", "readQueueNums": 8, "writeQueueNums": 8, '
    '"perm": 6, "order": false}.\nWhat is left out is 16 queues, perm 6.',
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "was", "result", "remark"),
    writes=True,
    java=(
        Java(
            "updateTopicList",
            (
                JavaOption("b", "brokerAddr", "broker"),
                JavaOption("c", "clusterName", "cluster"),
                JavaOption("f", "filename", "file", required=True),
            ),
        ),
    ),
)
async def import_topics(call: Call, args: Arguments) -> Outcome:
    """Return one row a topic and broker.

    Raises:
        Usage: the file is no list of topics.
        BadCall: a name is none for a topic.
        NotFound: there is no such cluster or broker.
    """
    wanted: list[Wanted] = []
    for number, entry in enumerate(objects_of(call, args.file), start=1):
        try:
            topic = TopicConfig.from_json(entry)
        except StoreError as error:
            raise Usage(f"{args.file} entry {number}: {error}") from None
        check_topic_name(topic.topic_name)
        wanted.append(_wanted(topic))
    rows: list[TopicChange] = []
    for one in wanted:
        rows += await change_topic(
            call, one, cluster=args.cluster, broker=args.broker, update=True, create=True
        )
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


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
