"""``topic clusters``: in which clusters a topic is, and on which of their brokers.

Request: GET_ROUTEINFO_BY_TOPIC.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which topic."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]


@dataclass(frozen=True, slots=True)
class TopicCluster(Row):
    """One cluster that has the topic."""

    topic: str
    cluster: str
    brokers: tuple[str, ...]


@command(
    "topic clusters",
    "show in which clusters a topic is",
    examples=(("mqadmin topic clusters orders", "clusters and brokers that have it"),),
    rows=TopicCluster,
    java=(Java("topicClusterList", (JavaOption("t", "topic", "topic", required=True),)),),
)
async def topic_clusters(call: Call, args: Arguments) -> Outcome:
    """Return one row a cluster, sorted by name.

    Raises:
        NoRoute: there is no such topic.
    """
    admin = await call.topics()
    found: dict[str, set[str]] = {}
    for data in (await admin.topic_route(args.topic)).broker_datas:
        found.setdefault(data.cluster or "", set()).add(data.broker_name)
    return Outcome(
        [
            TopicCluster(args.topic, cluster, tuple(sorted(found[cluster])))
            for cluster in sorted(found)
        ]
    )
