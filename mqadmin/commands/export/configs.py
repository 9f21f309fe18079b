"""``export configs``: write the settings of a cluster's masters as the file of the Java tool.

Requests: GET_BROKER_CLUSTER_INFO; GET_BROKER_CONFIG on each master.
"""

from pathlib import Path

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where
from mqadmin.cluster.brokers import masters
from mqadmin.manifest import export_documents
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "export configs",
    examples=(("mqadmin export configs --cluster DefaultCluster", "configs.json, here"),),
    details="Sixteen settings of each master, and how many servers there are.",
    rows=export_documents.Written,
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
    places = await masters(admin, Where(cluster=cluster))
    count = len((await call.client()).namesrv_addresses)
    document = await export_documents.configs(admin, places, namesrv_count=count)
    return export_documents.written(
        call, directory, "configs.json", document=document, brokers=len(places)
    )
