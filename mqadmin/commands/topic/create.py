"""``topic create``: make a topic on the masters of a cluster, or on one broker.

Requests: GET_BROKER_CLUSTER_INFO, then on each master GET_ALL_TOPIC_CONFIG,
UPDATE_AND_CREATE_TOPIC, and GET_ALL_TOPIC_CONFIG again to read it back.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome, exit_code_of
from mqadmin.topicchange import TopicChange, Wanted, change_topics
from mqadmin.topics import parse_perm
from storefmt.paths import check_topic_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The topic and where it goes."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    queues: Annotated[int, option("queues to read and to write, a broker", short="q")] = 8
    read_queues: Annotated[int | None, option("queues to read, where they differ")] = None
    write_queues: Annotated[int | None, option("queues to write, where they differ")] = None
    perm: Annotated[int, option("RW, R, W, or 6, 4, 2", parse=parse_perm)] = 6
    order: Annotated[bool, option("an ordered topic")] = False
    cluster: Annotated[str | None, option("on its masters", kind=Kind.CLUSTER)] = None
    broker: Annotated[str | None, option("only there: a name or HOST:PORT", kind=Kind.BROKER)] = (
        None
    )


@command(
    "topic create",
    "create a topic",
    examples=(
        ("mqadmin topic create orders", "8 queues on every master"),
        ("mqadmin topic create orders -q 2 --broker broker-a", "2 queues on one broker"),
    ),
    details="A topic that is there with the same settings is left unchanged; one with others is\n"
    "refused: `topic update` changes it.",
    rows=TopicChange,
    columns=("topic", "broker", "read_queues", "write_queues", "perm", "result"),
    writes=True,
)
async def create_topic(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker.

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
        order=args.order or None,
    )
    rows = await change_topics(
        call, [wanted], cluster=args.cluster, broker=args.broker, update=False, create=True
    )
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
