"""``export configs``: write the settings of a cluster's masters as the file of the Java tool.

Requests: GET_BROKER_CLUSTER_INFO; GET_BROKER_CONFIG on each master.
"""

from mqadmin import exportdocuments
from mqadmin.call import Call
from mqadmin.places import masters
from mqadmin.registry import command
from mqadmin.rows import Outcome


@command(
    "export configs",
    "write the settings of a cluster's masters as the file of the Java tool",
    examples=(("mqadmin export configs --cluster DefaultCluster", "configs.json, here"),),
    details="Sixteen settings of each master, and how many servers there are.",
    rows=exportdocuments.Written,
    java=(exportdocuments.java("exportConfigs"),),
)
async def export_configs(call: Call, args: exportdocuments.OfCluster) -> Outcome:
    """Return one row: the file.

    Raises:
        NotFound: there is no such cluster.
        OSError: the file cannot be written.
    """
    admin = await call.admin()
    places = await masters(admin, cluster=args.cluster)
    count = len((await call.client()).namesrv_addresses)
    document = await exportdocuments.configs(admin, places, namesrv_count=count)
    return exportdocuments.written(
        call, args.directory, "configs.json", document=document, brokers=len(places)
    )
