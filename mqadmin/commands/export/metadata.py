"""``export metadata``: topics and groups as the file that the Java tool writes.

Requests: GET_BROKER_CLUSTER_INFO; on each master GET_ALL_TOPIC_CONFIG and
GET_ALL_SUBSCRIPTIONGROUP_CONFIG.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from mqadmin import exportdocuments
from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.places import masters
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome

FILES = {
    None: "metadata.json",
    "topics": "topic.json",
    "groups": "subscriptionGroup.json",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Of which cluster or broker, and where to."""

    cluster: Annotated[str | None, option("this cluster", kind=Kind.CLUSTER)] = None
    broker: Annotated[
        str | None, option("this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    only: Annotated[Literal["topics", "groups"] | None, option("one of the two")] = None
    special: Annotated[bool, option("retry and dead-letter topics, too")] = False
    directory: Annotated[Path, option("where to", short="d", kind=Kind.DIR)] = Path()


@command(
    "export metadata",
    "write topics and groups as the file of the Java tool",
    examples=(
        ("mqadmin export metadata --cluster DefaultCluster", "metadata.json, here"),
        ("mqadmin export metadata --only topics -d /backup", "topic.json, there"),
    ),
    details="Queues of all masters are added up, as Java does; `export` keeps them apart and "
    "`apply` reads that.",
    rows=exportdocuments.Written,
    java=(
        Java(
            "exportMetadata",
            (
                JavaOption("c", "clusterName", "cluster"),
                JavaOption("b", "brokerAddr", "broker"),
                JavaOption("f", "filePath", "directory"),
                JavaOption("t", "topic", "only", has_arg=False, value="topics"),
                JavaOption("g", "subscriptionGroup", "only", has_arg=False, value="groups"),
                JavaOption("s", "specialTopic", "special", has_arg=False),
            ),
            preset=(("directory", exportdocuments.DIRECTORY),),
            any_of=("cluster", "broker"),
        ),
    ),
)
async def export_metadata(call: Call, args: Arguments) -> Outcome:
    """Return one row: the file.

    Raises:
        NotFound: there is no such cluster or broker.
        OSError: the file cannot be written.
    """
    admin = await call.admin()
    places = await masters(admin, broker=args.broker, cluster=args.cluster)
    document = await exportdocuments.metadata(
        admin,
        places,
        topics=args.only != "groups",
        groups=args.only != "topics",
        special=args.special,
        now_ms=call.now_ms(),
    )
    return exportdocuments.written(
        call, args.directory, FILES[args.only], document=document, brokers=len(places)
    )
