"""``topic clusters``: show in which clusters a topic is.

Request: GET_ROUTEINFO_BY_TOPIC.
"""

from dataclasses import dataclass

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.decorators import topic_argument


@dataclass(frozen=True, slots=True)
class TopicCluster(Row):
    """One cluster that has the topic."""

    topic: str
    cluster: str
    brokers: tuple[str, ...]


@command(
    "topic clusters",
    examples=(("mqadmin topic clusters orders", "its clusters and brokers"),),
    rows=TopicCluster,
)
@topic_argument()
async def topic_clusters(call: Call, *, topic: str) -> Outcome:
    """Return one row for each cluster, sorted by name.

    Raises:
        NoRoute: the topic does not exist.
    """
    admin = await call.topics()
    clusters: dict[str, set[str]] = {}
    for data in (await admin.topic_route(topic)).broker_datas:
        clusters.setdefault(data.cluster or "", set()).add(data.broker_name)
    return Outcome(
        [
            TopicCluster(topic, cluster, tuple(sorted(clusters[cluster])))
            for cluster in sorted(clusters)
        ]
    )
