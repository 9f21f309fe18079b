"""``acl version``: how often the account files of each broker changed, and when last.

Requests on each broker: GET_BROKER_CONFIG, GET_BROKER_CLUSTER_ACL_INFO.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.accounts import WHERE, acl_places
from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.registry import Java, command
from mqadmin.rows import EpochMs, Outcome, Row
from mqadmin.things.account import check_acl
from storefmt.config import fastjson
from storefmt.config.tables import DataVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which brokers."""

    broker: Annotated[
        str | None, option("of this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("of the brokers of a cluster", kind=Kind.CLUSTER)] = None


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
    "show when the accounts of each broker changed",
    examples=(("mqadmin acl version", "file by file: brokers that differ were missed"),),
    rows=AclVersion,
    columns=("broker", "address", "file", "counter", "changed_time"),
    java=(Java("clusterAclConfigVersion", WHERE, any_of=("broker", "cluster")),),
)
async def acl_version(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker and file.

    Raises:
        Refused: a broker has no access control.
    """
    admin = await call.admin()
    rows = []
    for place in await acl_places(call, args.broker, args.cluster):
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
