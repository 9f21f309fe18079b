"""``export configs``: write the settings of a cluster's masters as the file of the Java tool.

Requests: GET_BROKER_CLUSTER_INFO; GET_BROKER_CONFIG on each master.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin import exportdocuments
from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.places import masters
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Of which cluster, and where to."""

    cluster: Annotated[str | None, option("this cluster", kind=Kind.CLUSTER)] = None
    directory: Annotated[Path, option("where to", short="d", kind=Kind.DIR)] = Path()


@command(
    "export configs",
    "write the settings of a cluster's masters as the file of the Java tool",
    examples=(("mqadmin export configs --cluster DefaultCluster", "configs.json, here"),),
    details="Sixteen settings of each master, and how many servers there are.",
    rows=exportdocuments.Written,
    java=(
        Java(
            "exportConfigs",
            (
                JavaOption("c", "clusterName", "cluster", required=True),
                JavaOption("f", "filePath", "directory"),
            ),
            preset=(("directory", exportdocuments.DIRECTORY),),
        ),
    ),
)
async def export_configs(call: Call, args: Arguments) -> Outcome:
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
