"""Java's layouts of users and rules of ACL 2.0, and of consume modes.

Rule: no password is printed. Java's tool prints the passwords of all users in clear text.

Source: tools/command/auth/*.java, tools/command/consumer/SetConsumeModeSubCommand.java (5.4.0).
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from mqadmin.output.compat.java_text import DONE, Layout, Line, LineLayout, Record
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order

USER_FORM: Final = "%-16s  %-22s  %-22s  %-22s\n"
RULE_FORM: Final = "%-16s  %-10s  %-22s  %-20s  %-24s  %-10s\n"
USER_HEAD: Final = USER_FORM % ("#UserName", "#Password", "#UserType", "#UserStatus")
RULE_HEAD: Final = RULE_FORM % (
    *("#Subject", "#PolicyType", "#Resource", "#Actions", "#SourceIp", "#Decision"),
)
HIDDEN: Final = "******"


def users(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``listUser``: for a cluster, the users of the first master that has any."""
    for address, group in _by_address(records):
        yield USER_HEAD
        yield from map(_user, group)
        if line.values["broker"] is None:
            yield f"get user from {address} success.\n"
        return


def user(records: Iterable[Record]) -> Iterator[str]:
    """Print ``getUser``: what the first master says that has the user."""
    for record in list(records)[:1]:
        yield USER_HEAD + _user(record)


def rules(records: Iterable[Record]) -> Iterator[str]:
    """Print ``listAcl`` and ``getAcl``: the rules of each master below its own header."""
    for _, group in _by_address(records):
        yield RULE_HEAD
        yield from map(_rule, group)


def each_server(form: str) -> Layout:
    """Return the layout that has one line for each server that accepted a change.

    Args:
        form: the line, with ``{address}``.
    """

    def layout(records: Iterable[Record]) -> Iterator[str]:
        for address, group in _by_address(records):
            if all(record["result"] in DONE for record in group):
                yield form.format(address=address)

    return layout


def copied(what: str, name: str) -> LineLayout:
    """Return the layout of ``copyUser`` and ``copyAcl``: one line for each user.

    Args:
        what: ``user`` or ``acl``.
        name: the column that names it.
    """

    def layout(records: Iterable[Record], line: Line) -> Iterator[str]:
        for copy, group in groupby(records, lambda record: record[name]):
            if all(record["result"] in DONE for record in group):
                where = f"from {line.flags['f']} to {line.flags['t']}"
                yield f"copy {what} of {copy} {where} success.\n"

    return layout


def consume_mode(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``setConsumeMode``, which prints nothing if a single broker refuses."""
    made = list(records)
    changed = [record for record in made if record["result"] in DONE]
    for record in changed:
        yield f"set consume mode to {record['address']} success.\n"
    if changed or "c" in line.flags:
        values = line.values
        yield (
            f"topic[{values['topic']}] group[{values['group']}] consume mode[{values['mode']}] "
            f"popShareQueueNum[{values['share_queues']}]"
        )


def _user(record: Record) -> str:
    return USER_FORM % (record["username"], HIDDEN, record["user_type"], record["user_status"])


def _rule(record: Record) -> str:
    return RULE_FORM % (
        *(record["subject"], record["policy_type"], record["resource"]),
        *(_listed(record["actions"]), _listed(record["source_ips"]), record["decision"]),
    )


def _listed(values: object) -> str:
    """Return a list as Java prints it; a broker has null for an empty one."""
    items = values if isinstance(values, list | tuple) else ()
    return f"[{', '.join(map(str, items))}]" if items else "null"


def _by_address(records: Iterable[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield the rows of each server, in the order of a ``HashSet`` as in Java's tool."""
    tables: dict[str, list[Record]] = {}
    for record in records:
        tables.setdefault(str(record["address"]), []).append(record)
    for address in hash_order(tables, string_hash):
        yield address, tables[address]
