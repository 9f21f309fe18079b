"""Java's layouts of accounts and white lists.

Rule: no secret is printed. Java's tool prints the secrets of all accounts in clear; a script that
took one from there takes it from the account file of the broker.

Source: tools/command/acl/*.java (4.9.7).
"""

from collections.abc import Iterable, Iterator
from typing import Final

from mqadmin.output.compat.java_text import DONE, Line, Record, java_string, time_text

FIELDS: Final = {
    "accessKey": "access_key",
    "secretKey": "",
    "whiteRemoteAddress": "white_remote_address",
    "admin": "admin",
    "defaultTopicPerm": "default_topic_perm",
    "defaultGroupPerm": "default_group_perm",
    "topicPerms": "topic_perms",
    "groupPerms": "group_perms",
}
HIDDEN: Final = "******"
VERSION: Final = "%-16s  %-22s  %-22s  %-20s  %-22s  %-22s\n"
CONFIG: Final = "org.apache.rocketmq.common.PlainAccessConfig@0"
"""Java prints the object by its address in memory, which no script can use."""


def accounts(records: Iterable[Record]) -> Iterator[str]:
    """Print ``getAclConfig``: the white list of a broker, then its accounts."""
    for record in records:
        if "patterns" in record:
            yield f"\nglobalWhiteRemoteAddresses: {_listed(record['patterns'])}\n\naccounts:\n"
            continue
        for name, ours in FIELDS.items():
            yield f"  {name:<18}: {_told(record[ours]) if ours else HIDDEN}\n"
        yield "\n"


def versions(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``clusterAclConfigVersion``, which has a header for a cluster alone."""
    is_cluster = line.values["broker"] is None
    if is_cluster:
        yield VERSION % (
            *("#Cluster Name", "#Broker Name", "#Broker Addr"),
            *("#AclFilePath", "#AclConfigVersionNum", "#AclLastUpdateTime"),
        )
    for record in records:
        yield VERSION % (
            *(record["cluster"], record["broker"], record["address"]),
            *(record["file"], record["counter"], time_text(record["changed_ms"], millis=False)),
        )
    whose = "cluster" if is_cluster else "broker"
    yield f"get {whose}'s plain access config version success.\n"


def update(records: Iterable[Record]) -> Iterator[str]:
    """Print ``updateAclConfig``."""
    is_done = False
    for record in records:
        if record["result"] in DONE:
            is_done = True
            yield f"create or update plain access config to {record['address']} success.\n"
    if is_done:
        yield CONFIG


def delete(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``deleteAclConfig``."""
    is_done = False
    for record in records:
        if record["result"] in DONE:
            is_done = True
            yield f"delete plain access config account from {record['address']} success.\n"
    if is_done:
        yield f"account's accesskey is:{line.values['account']}"


def _listed(values: object) -> str:
    return f"[{', '.join(map(str, values))}]" if isinstance(values, list | tuple) else ""


def _told(value: object) -> str:
    """Return a field as Java does: nothing for one that is not set."""
    if isinstance(value, list | tuple):
        return _listed(value) if value else ""
    return "" if value is None else java_string(value)
