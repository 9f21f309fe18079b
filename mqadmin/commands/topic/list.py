"""``topic list``: all topics that the name server knows.

Requests: GET_ALL_TOPIC_LIST_FROM_NAMESERVER, GET_BROKER_CLUSTER_INFO; with --groups
GET_ROUTEINFO_BY_TOPIC and QUERY_TOPIC_CONSUME_BY_WHO for each topic.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind as Completion
from mqadmin.parameters import option
from mqadmin.registry import Java, JavaOption, Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.topics import Kind, kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which topics."""

    kind: Annotated[Kind | None, option("only topics of this kind")] = None
    cluster: Annotated[
        str | None, option("only topics with a queue in it", kind=Completion.CLUSTER)
    ] = None
    groups: Annotated[
        bool, option("clusters and groups of each topic too: two requests a topic")
    ] = False


@dataclass(frozen=True, slots=True)
class TopicRow(Row):
    """One topic."""

    topic: str
    kind: str


@command(
    "topic list",
    "list the topics",
    examples=(
        ("mqadmin topic list --kind normal", "topics that users made"),
        ("mqadmin topic list -o name | wc -l", "how many there are"),
    ),
    rows=TopicRow,
    needs=Needs.EITHER,
    direct=True,
    java=(
        Java(
            "topicList",
            (JavaOption("c", "clusterModel", "groups", has_arg=False),),
        ),
    ),
)
async def list_topics(call: Call, args: Arguments) -> Outcome:
    """Return one row a topic, sorted by name."""
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.offline import stored_topics

        kinds = ((name, kind_of(name)) for name in stored_topics(call))
        return Outcome([TopicRow(name, kind) for name, kind in kinds if args.kind in (None, kind)])
    admin = await call.topics()
    info = await admin.cluster_info()
    own = {*info.cluster_addr_table, *info.broker_addr_table}
    if args.cluster is None:
        names = await admin.topic_list()
    else:
        names = await admin.topics_by_cluster(args.cluster)
    kinds = ((name, kind_of(name, brokers_and_clusters=own)) for name in names)
    shown = ((name, kind) for name, kind in kinds if args.kind in (None, kind))
    if not args.groups:
        return Outcome(TopicRow(name, kind) for name, kind in shown)
    # Many requests at a time need a loop, which nobody should wait for who asks for names.
    from mqadmin.topicreaders import readers_of

    return Outcome(readers_of(call, shown))
