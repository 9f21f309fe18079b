"""``topic list``: all topics that the name server knows.

Requests: GET_ALL_TOPIC_LIST_FROM_NAMESERVER, GET_BROKER_CLUSTER_INFO.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind as Completion
from mqadmin.parameters import option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, Row
from mqadmin.topics import Kind, kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which topics."""

    kind: Annotated[Kind | None, option("only topics of this kind")] = None
    cluster: Annotated[
        str | None, option("only topics with a queue in it", kind=Completion.CLUSTER)
    ] = None


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
    java=(
        Java(
            "topicList",
            (
                JavaOption(
                    "c",
                    "clusterModel",
                    has_arg=False,
                    why_not="use `topic list --cluster NAME`, and `group list` for the groups",
                ),
            ),
        ),
    ),
)
async def list_topics(call: Call, args: Arguments) -> Outcome:
    """Return one row a topic, sorted by name."""
    admin = await call.topics()
    info = await admin.cluster_info()
    own = {*info.cluster_addr_table, *info.broker_addr_table}
    if args.cluster is None:
        names = await admin.topic_list()
    else:
        names = await admin.topics_by_cluster(args.cluster)
    rows = (TopicRow(name, kind_of(name, brokers_and_clusters=own)) for name in names)
    return Outcome(row for row in rows if args.kind in (None, row.kind))
