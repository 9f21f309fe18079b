"""``export configs``, ``metadata``, ``metrics``: write the files that the Java tool writes.

Requests: GET_BROKER_CLUSTER_INFO; then on each master

    configs     GET_BROKER_CONFIG
    metadata    GET_ALL_TOPIC_CONFIG, GET_ALL_SUBSCRIPTIONGROUP_CONFIG
    metrics     all of these, GET_BROKER_RUNTIME_INFO, VIEW_BROKER_STATS_DATA and, for each
                group, GET_CONSUMER_CONNECTION_LIST
"""

from pathlib import Path
from typing import Literal

import click

from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import Where
from mqadmin.cli.types import BROKER, Choice
from mqadmin.cluster.brokers import masters
from mqadmin.manifest import export_documents


@command(
    "export configs",
    examples=(("mqadmin export configs --cluster DefaultCluster", "configs.json, here"),),
    details="The file has sixteen settings of each master, and the number of servers.",
    rows=export_documents.ExportedFile,
)
@export_documents.this_cluster
@export_documents.directory_option
async def export_configs(call: Call, *, cluster: str | None, directory: Path) -> Outcome:
    """Return one row: the file.

    Raises:
        NotFound: there is no such cluster.
        OSError: the file cannot be written.
    """
    admin = await call.admin()
    nodes = await masters(admin, Where(cluster=cluster))
    count = len((await call.client()).namesrv_addresses)
    document = await export_documents.configs(admin, nodes, namesrv_count=count)
    return export_documents.write_document(
        call, directory, "configs.json", document=document, brokers=len(nodes)
    )


FILES = {None: "metadata.json", "topics": "topic.json", "groups": "subscriptionGroup.json"}


@command(
    "export metadata",
    examples=(
        ("mqadmin export metadata --cluster DefaultCluster", "metadata.json, here"),
        ("mqadmin export metadata --only topics -d /backup", "topic.json, there"),
    ),
    details="The queues of all masters are added up, as Java does. `export` keeps them apart, and "
    "`apply` reads its document.",
    rows=export_documents.ExportedFile,
)
@export_documents.this_cluster
@click.option("--broker", "-b", type=BROKER, help="only this broker: a name or HOST:PORT")
@click.option(
    "--only", type=Choice(["topics", "groups"]), help="export only topics, or only groups"
)
@click.option("--special", is_flag=True, help="include retry and dead-letter topics")
@export_documents.directory_option
async def export_metadata(
    call: Call,
    *,
    cluster: str | None,
    broker: str | None,
    only: Literal["topics", "groups"] | None,
    special: bool,
    directory: Path,
) -> Outcome:
    """Return one row: the file.

    Raises:
        NotFound: there is no such cluster or broker.
        OSError: the file cannot be written.
    """
    admin = await call.admin()
    nodes = await masters(admin, Where(broker=broker, cluster=cluster))
    document = await export_documents.metadata(
        admin,
        nodes,
        topics=only != "groups",
        groups=only != "topics",
        special=special,
        now_ms=call.now_ms(),
    )
    return export_documents.write_document(
        call, directory, FILES[only], document=document, brokers=len(nodes)
    )


@command(
    "export metrics",
    examples=(("mqadmin export metrics --cluster DefaultCluster", "metrics.json, here"),),
    details="The file has the present rates, the numbers of yesterday, disks, and versions of "
    "brokers and clients.",
    rows=export_documents.ExportedFile,
)
@export_documents.this_cluster
@export_documents.directory_option
async def export_metrics(call: Call, *, cluster: str | None, directory: Path) -> Outcome:
    """Return one row: the file.

    Raises:
        NotFound: there is no such cluster.
        OSError: the file cannot be written.
    """
    admin = await call.admin()
    nodes = await masters(admin, Where(cluster=cluster))
    document = await export_documents.metrics(admin, nodes)
    return export_documents.write_document(
        call, directory, "metrics.json", document=document, brokers=len(nodes)
    )
