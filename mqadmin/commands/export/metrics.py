"""``export metrics``: write what a cluster's masters counted as the file of the Java tool.

Requests: GET_BROKER_CLUSTER_INFO; on each master GET_BROKER_RUNTIME_INFO, GET_BROKER_CONFIG,
GET_ALL_TOPIC_CONFIG, GET_ALL_SUBSCRIPTIONGROUP_CONFIG, VIEW_BROKER_STATS_DATA and, for each
group, GET_CONSUMER_CONNECTION_LIST.
"""

from pathlib import Path

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where
from mqadmin.cluster.brokers import masters
from mqadmin.manifest import export_documents
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "export metrics",
    examples=(("mqadmin export metrics --cluster DefaultCluster", "metrics.json, here"),),
    details="Rates of now, numbers of yesterday, disks, and versions of brokers and clients.",
    rows=export_documents.Written,
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
    places = await masters(admin, Where(cluster=cluster))
    document = await export_documents.metrics(admin, places)
    return export_documents.written(
        call, directory, "metrics.json", document=document, brokers=len(places)
    )
