"""``topic list``: list all topics that the name server knows.

Requests: GET_ALL_TOPIC_LIST_FROM_NAMESERVER, GET_BROKER_CLUSTER_INFO; with --groups
GET_ROUTEINFO_BY_TOPIC and QUERY_TOPIC_CONSUME_BY_WHO for each topic.
"""

from dataclasses import dataclass
from typing import get_args

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.types import CLUSTER, Choice
from mqadmin.errors import ItemNotFound
from mqadmin.output.topic_kinds import TopicKindName, kind_of


@dataclass(frozen=True, slots=True)
class TopicRow(Row):
    """One topic."""

    topic: str
    kind: str


@command(
    "topic list",
    examples=(
        ("mqadmin topic list --kind normal", "topics that users created"),
        ("mqadmin topic list -o name | wc -l", "count the topics"),
    ),
    rows=TopicRow,
    needs=Needs.EITHER,
    direct=True,
)
@click.option("--kind", type=Choice(get_args(TopicKindName)), help="only topics of this kind")
@click.option("--cluster", type=CLUSTER, help="only topics of this cluster")
@click.option(
    "--groups",
    is_flag=True,
    help="also show clusters and groups of each topic (two requests per topic)",
)
async def list_topics(
    call: Call, *, kind: TopicKindName | None, cluster: str | None, groups: bool
) -> Outcome:
    """Return one row for each topic, sorted by name.

    Raises:
        ItemNotFound: the cluster does not exist.
    """
    if call.is_offline:
        from mqadmin.store_access.stored_rows import stored_topics

        stored = (TopicRow(name, kind_of(name)) for name in stored_topics(call))
        return Outcome([row for row in stored if kind in (None, row.kind)])
    admin = await call.topics()
    info = await admin.cluster_info()
    own = {*info.cluster_addr_table, *info.broker_addr_table}
    if cluster not in (None, *info.cluster_addr_table):
        raise ItemNotFound(f"cluster {cluster!r} not found", hint="`cluster list` shows them")
    if cluster is None:
        names = await admin.topic_list()
    else:
        names = await admin.topics_by_cluster(cluster)
    kinds = ((name, kind_of(name, brokers_and_clusters=own)) for name in names)
    shown = ((name, its) for name, its in kinds if kind in (None, its))
    if not groups:
        return Outcome(TopicRow(name, its) for name, its in shown)
    # Only this needs an event loop: a list of names alone need not wait for its import.
    from mqadmin.cluster.topic_readers import readers_of

    return Outcome(readers_of(call, shown))
