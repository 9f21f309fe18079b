"""``export metrics``: write what a cluster's masters counted as the file of the Java tool.

Requests: GET_BROKER_CLUSTER_INFO; on each master GET_BROKER_RUNTIME_INFO, GET_BROKER_CONFIG,
GET_ALL_TOPIC_CONFIG, GET_ALL_SUBSCRIPTIONGROUP_CONFIG, VIEW_BROKER_STATS_DATA and, for each
group, GET_CONSUMER_CONNECTION_LIST.
"""

from mqadmin import exportdocuments
from mqadmin.call import Call
from mqadmin.places import masters
from mqadmin.registry import command
from mqadmin.rows import Outcome


@command(
    "export metrics",
    "write what a cluster's masters counted as the file of the Java tool",
    examples=(("mqadmin export metrics --cluster DefaultCluster", "metrics.json, here"),),
    details="Rates of now, numbers of yesterday, disks, and versions of brokers and clients.",
    rows=exportdocuments.Written,
    java=(exportdocuments.java("exportMetrics"),),
)
async def export_metrics(call: Call, args: exportdocuments.OfCluster) -> Outcome:
    """Return one row: the file.

    Raises:
        NotFound: there is no such cluster.
        OSError: the file cannot be written.
    """
    admin = await call.admin()
    places = await masters(admin, cluster=args.cluster)
    document = await exportdocuments.metrics(admin, places)
    return exportdocuments.written(
        call, args.directory, "metrics.json", document=document, brokers=len(places)
    )
