"""Java's layouts of accounts and white lists.

Rule: no secret is printed. Java's tool prints the secrets of all accounts in clear text; a script
that needs one reads it from the account file of the broker.

Source: tools/command/acl/*.java (4.9.7).
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final

from mqadmin.output.compat.java_text import DONE, Line, Record, java_string, time_text
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order

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
STOP: Final = ("broker", "address")
"""The columns of a row of a broker without access control."""
VERSION: Final = "%-16s  %-22s  %-22s  %-20s  %-22s  %-22s\n"
CONFIG: Final = "org.apache.rocketmq.common.PlainAccessConfig@0"
"""Java prints the address of the object in memory, which no script can use."""


def accounts(records: Iterable[Record]) -> Iterator[str]:
    """Print ``getAclConfig``: the white list of a broker, then its accounts."""
    for record in _up_to_stop(records):
        if "patterns" in record:
            yield f"\nglobalWhiteRemoteAddresses: {_listed(record['patterns'])}\n\naccounts:\n"
            continue
        for name, ours in FIELDS.items():
            yield f"  {name:<18}: {_told(record[ours]) if ours else HIDDEN}\n"
        yield "\n"


def versions(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``clusterAclConfigVersion``, which has a header only for a cluster."""
    is_cluster = line.values["broker"] is None
    if is_cluster:
        yield VERSION % (
            *("#Cluster Name", "#Broker Name", "#Broker Addr"),
            *("#AclFilePath", "#AclConfigVersionNum", "#AclLastUpdateTime"),
        )
    made = list(records)
    shown = list(_up_to_stop(made))
    for record in shown:
        yield VERSION % (
            *(record["cluster"], record["broker"], record["address"]),
            *(record["file"], record["counter"], time_text(record["changed_ms"], millis=False)),
        )
    if len(shown) == len(made):
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


def _up_to_stop(records: Iterable[Record]) -> Iterator[Record]:
    """Yield what Java's tool prints before it meets a broker without access control.

    That broker refuses the request, which ends the command. Addresses are in the order of a
    ``HashSet``.
    """
    rows = list(records)
    addresses = hash_order(dict.fromkeys(str(row["address"]) for row in rows), string_hash)
    ordered = sorted(rows, key=lambda row: addresses.index(str(row["address"])))
    return takewhile(lambda record: len(record) > len(STOP), ordered)


def _listed(values: object) -> str:
    return f"[{', '.join(map(str, values))}]" if isinstance(values, list | tuple) else ""


def _told(value: object) -> str:
    """Return a field as Java does: an empty text if it is not set."""
    if isinstance(value, list | tuple):
        return _listed(value) if value else ""
    return "" if value is None else java_string(value)
