"""``topic perm``: who may read and write a topic.

Requests: as ``topic update``.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, exit_code_of
from mqadmin.topicchange import TopicChange, Wanted, change_topics
from mqadmin.topics import parse_perm
from storefmt.paths import check_topic_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The topic and its permission."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    perm: Annotated[int, argument("RW, R, W, or 6, 4, 2", parse=parse_perm)]
    cluster: Annotated[str | None, option("on its masters", kind=Kind.CLUSTER)] = None
    broker: Annotated[str | None, option("only there: a name or HOST:PORT", kind=Kind.BROKER)] = (
        None
    )


@command(
    "topic perm",
    "set who may read and write a topic",
    examples=(
        ("mqadmin topic perm orders R -y", "nobody writes to it any more"),
        ("mqadmin topic perm orders RW --broker broker-a", "everybody, on one broker"),
    ),
    details="Taking a permission away is asked for first; giving one is not.",
    rows=TopicChange,
    columns=("topic", "broker", "perm", "was", "result", "remark"),
    writes=True,
    java=(
        Java(
            "updateTopicPerm",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("p", "perm", "perm", required=True),
                JavaOption("b", "brokerAddr", "broker"),
                JavaOption("c", "clusterName", "cluster"),
            ),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def set_topic_perm(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker, with the old permission where it changed.

    Raises:
        BadCall: the name is none for a topic.
        NotFound: there is no such cluster or broker.
    """
    check_topic_name(args.topic)
    rows = await change_topics(
        call,
        [Wanted(topic=args.topic, perm=args.perm)],
        cluster=args.cluster,
        broker=args.broker,
        update=True,
        create=False,
        asks=True,
    )
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
