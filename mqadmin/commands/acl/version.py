"""``acl version``: how often the account files of each broker changed, and when last.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_INFO.
"""

from dataclasses import dataclass

from mqadmin.changes.accounts import acl_places
from mqadmin.changes.targets.account import check_acl
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, of_brokers
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.session.call import Call
from storefmt.config import fastjson
from storefmt.config.tables import DataVersion


@dataclass(frozen=True, slots=True)
class AclVersion(Row):
    """One account file of one broker."""

    cluster: str
    broker: str
    address: str
    file: str
    counter: int
    changed_ms: EpochMs


@command(
    "acl version",
    examples=(("mqadmin acl version", "file by file: brokers that differ were missed"),),
    rows=AclVersion,
    columns=("broker", "address", "file", "counter", "changed_time"),
)
@of_brokers
async def acl_version(call: Call, *, where: Where) -> Outcome:
    """Return one row a broker and file.

    Raises:
        Refused: a broker has no access control.
    """
    admin = await call.admin()
    rows = []
    for place in await acl_places(call, where):
        await check_acl(admin, place.address)
        told = await admin.acl_version(place.address)
        files = fastjson.loads(told.all_acl_file_version or "{}")
        if not isinstance(files, dict) or not files:
            files = {"": fastjson.loads(told.version)}
        for file, value in sorted(files.items(), key=str):
            version = DataVersion.from_json(value)
            rows.append(
                AclVersion(
                    *(told.cluster_name, told.broker_name, place.address, str(file)),
                    version.counter,
                    version.timestamp_ms,
                )
            )
    return Outcome(rows)
