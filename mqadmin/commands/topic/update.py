"""``topic update``: change the settings that are named, and only those.

Requests: GET_BROKER_CLUSTER_INFO, then on each master GET_ALL_TOPIC_CONFIG,
UPDATE_AND_CREATE_TOPIC, and GET_ALL_TOPIC_CONFIG again to read it back.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import NOT_IN_4, Java, JavaOption, command
from mqadmin.rows import Outcome, exit_code_of
from mqadmin.topicchange import TopicChange, Wanted, change_topics
from mqadmin.topics import parse_perm
from storefmt.paths import check_topic_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The topic and what changes."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    queues: Annotated[int | None, option("queues to read and to write", short="q")] = None
    read_queues: Annotated[int | None, option("queues to read")] = None
    write_queues: Annotated[int | None, option("queues to write")] = None
    perm: Annotated[int | None, option("RW, R, W, or 6, 4, 2", parse=parse_perm)] = None
    order: Annotated[Literal["true", "false"] | None, option("an ordered topic or not")] = None
    unit: Annotated[
        Literal["true", "false"] | None, option("a topic of one unit (topicSysFlag 1)")
    ] = None
    unit_sub: Annotated[
        Literal["true", "false"] | None, option("read by groups of units (topicSysFlag 2)")
    ] = None
    replace: Annotated[bool, option("reset what is not named, as Java does")] = False
    create: Annotated[bool, option("make it where it is not there")] = False
    cluster: Annotated[str | None, option("on its masters", kind=Kind.CLUSTER)] = None
    broker: Annotated[str | None, option("only there: a name or HOST:PORT", kind=Kind.BROKER)] = (
        None
    )


@command(
    "topic update",
    "change settings of a topic",
    examples=(
        ("mqadmin topic update orders -q 16", "16 queues, everything else as it was"),
        ("mqadmin topic update orders --perm R", "nobody writes to it any more"),
    ),
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "was", "result"),
    writes=True,
    java=(
        Java(
            "updateTopic",
            (
                JavaOption("b", "brokerAddr", "broker"),
                JavaOption("c", "clusterName", "cluster"),
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("r", "readQueueNums", "read_queues"),
                JavaOption("w", "writeQueueNums", "write_queues"),
                JavaOption("p", "perm", "perm"),
                JavaOption("o", "order", "order"),
                JavaOption("u", "unit", "unit"),
                JavaOption("s", "hasUnitSub", "unit_sub"),
                JavaOption("a", "attributes", since_5=True, refused=NOT_IN_4),
            ),
            preset=(("create", "true"),),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def update_topic(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker, with the old values of what changed.

    Raises:
        BadCall: the name is none for a topic.
        NotFound: there is no such cluster or broker.
    """
    check_topic_name(args.topic)
    wanted = Wanted(
        topic=args.topic,
        read_queues=args.queues if args.read_queues is None else args.read_queues,
        write_queues=args.queues if args.write_queues is None else args.write_queues,
        perm=args.perm,
        order=None if args.order is None else args.order == "true",
        unit=None if args.unit is None else args.unit == "true",
        unit_sub=None if args.unit_sub is None else args.unit_sub == "true",
        replace=args.replace,
    )
    rows = await change_topics(
        call, [wanted], cluster=args.cluster, broker=args.broker, update=True, create=args.create
    )
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
