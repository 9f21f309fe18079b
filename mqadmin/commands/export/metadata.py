"""``export metadata``: topics and groups as the file that the Java tool writes.

Requests: GET_BROKER_CLUSTER_INFO; on each master GET_ALL_TOPIC_CONFIG and
GET_ALL_SUBSCRIPTIONGROUP_CONFIG.
"""

from pathlib import Path
from typing import Literal

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where
from mqadmin.cli.types import BROKER, Choice
from mqadmin.cluster.brokers import masters
from mqadmin.manifest import export_documents
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call

FILES = {None: "metadata.json", "topics": "topic.json", "groups": "subscriptionGroup.json"}


@command(
    "export metadata",
    examples=(
        ("mqadmin export metadata --cluster DefaultCluster", "metadata.json, here"),
        ("mqadmin export metadata --only topics -d /backup", "topic.json, there"),
    ),
    details="Queues of all masters are added up, as Java does; `export` keeps them apart and "
    "`apply` reads that.",
    rows=export_documents.Written,
)
@export_documents.this_cluster
@click.option("--broker", "-b", type=BROKER, help="this broker: a name or HOST:PORT")
@click.option("--only", type=Choice(["topics", "groups"]), help="one of the two")
@click.option("--special", is_flag=True, help="retry and dead-letter topics, too")
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
    places = await masters(admin, Where(broker=broker, cluster=cluster))
    document = await export_documents.metadata(
        admin,
        places,
        topics=only != "groups",
        groups=only != "topics",
        special=special,
        now_ms=call.now_ms(),
    )
    return export_documents.written(
        call, directory, FILES[only], document=document, brokers=len(places)
    )
