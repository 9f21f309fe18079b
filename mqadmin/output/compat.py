"""``--compat``: rows printed as RocketMQ's own mqadmin 4.9.7 prints them, for scripts.

    topic status   #Broker Name  #QID  #Min Offset ...     fixed widths, names cut as Java cuts them

Rule: a layout is here where a test has compared it with the output of the real tool; any other
command refuses ``--compat`` by name. Times are local and without zone, exit codes stay ours.

Source: tools/command/** (4.9.7), the printf of each command.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from mqadmin.errors import Usage
from mqadmin.output import compatbrokers, compatgroups, compatmessages
from mqadmin.output.javatext import BROKER_MAX, NAME_MAX, Layout, Record, cut, number, time_text


def layout_of(command: str, *, variant: str = "") -> Layout:
    """Return how a command is printed; ``variant`` is what an outcome says, if anything.

    Raises:
        Usage: there is no layout for it.
    """
    found = LAYOUTS.get(f"{command} {variant}".rstrip())
    if found is None:
        names = [name for name in LAYOUTS if " --" not in name and " of " not in name]
        hint = "it is there for " + ", ".join(names)
        raise Usage(f"{command} has no --compat layout", hint=hint)
    return found


def _topics(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield f"{record['topic']}\n"


def _clusters(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield f"{record['cluster']}\n"


def _topic_status(records: Iterable[Record]) -> Iterator[str]:
    form = "%-32s  %-4s  %-20s  %-20s    %s\n"
    yield form % ("#Broker Name", "#QID", "#Min Offset", "#Max Offset", "#Last Updated")
    for record in records:
        last_ms = number(record["last_updated_ms"])
        yield form % (
            cut(record["broker"], BROKER_MAX),
            record["queue_id"],
            record["min_offset"],
            record["max_offset"],
            time_text(last_ms, millis=True) if last_ms > 0 else "",
        )


def _by_key(records: Iterable[Record]) -> Iterator[str]:
    form = "%-50s %4s %40s\n"
    yield form % ("#Message ID", "#QID", "#Offset")
    for record in records:
        shown = record["unique_key"] or record["msg_id"]
        yield form % (shown, record["queue_id"], record["queue_offset"])


def _status(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield f"{record['key']!s:<32}: {record['value']}\n"


def _settings(records: Iterable[Record]) -> Iterator[str]:
    address = None
    for record in records:
        if record["address"] != address:
            address = record["address"]
            yield f"============{address}============\n"
        yield f"{record['key']!s:<50}=  {record['value']}\n"


def _consume_stats(records: Iterable[Record]) -> Iterator[str]:
    form = "%-64s  %-64s  %-32s  %-4s  %-20s  %-20s  %-20s  %s\n"
    yield form % (
        *("#Topic", "#Group", "#Broker Name", "#QID"),
        *("#Broker Offset", "#Consumer Offset", "#Diff", "#LastTime"),
    )
    total = 0
    for record in records:
        lag, last_ms = number(record["lag"]), number(record["last_consumed_ms"])
        total += lag
        if last_ms <= 0:
            continue
        yield form % (
            cut(record["topic"], NAME_MAX),
            cut(record["group"], NAME_MAX),
            cut(record["broker"], BROKER_MAX),
            record["queue_id"],
            record["broker_offset"],
            record["consumer_offset"],
            lag,
            time_text(last_ms, millis=False),
        )
    yield f"\nDiff Total: {total}\n"


def _sent(records: Iterable[Record]) -> Iterator[str]:
    form = "%-32s  %-4s  %-20s    %s\n"
    yield form % ("#Broker Name", "#QID", "#Send Result", "#MsgId")
    for record in records:
        yield form % (
            record["broker"],
            record["queue_id"],
            record["status"],
            record["unique_key"],
        )


LAYOUTS: Final[dict[str, Layout]] = {
    "topic list": _topics,
    "topic clusters": _clusters,
    "topic status": _topic_status,
    "message query key": _by_key,
    "message send": _sent,
    "broker status": _status,
    "broker config get": _settings,
    "namesrv config get": _settings,
    "broker consume-stats": _consume_stats,
    "broker config set": compatbrokers.broker_setting,
    "broker connections": compatbrokers.producers,
    "broker connections of a group": compatbrokers.producer_connections,
    "cluster list": compatbrokers.cluster_list,
    "cluster list --totals": compatbrokers.cluster_totals,
    "cluster rt": compatbrokers.round_trips,
    "acl white-addr": compatbrokers.white_addresses,
    "namesrv kv set": compatbrokers.kv_set,
    "namesrv kv delete": compatbrokers.kv_delete,
    "export configs": compatbrokers.exported,
    "export metadata": compatbrokers.exported,
    "export metrics": compatbrokers.exported,
    "group config": compatgroups.settings,
    "group lag": compatgroups.progress_with_clients,
    "group lag --no-clients": compatgroups.progress,
    "group show": compatgroups.connection,
    "group tps": compatgroups.paces,
    "group update": compatgroups.updated,
    "message bench": compatmessages.sends,
    "message consume-direct": compatmessages.handed,
    "message query id": compatmessages.message,
    "message query offset": compatmessages.message,
    "message query unique-key": compatmessages.message_of_producer,
    "queue show": compatmessages.queue,
    "rebalance plan": compatmessages.allocation,
    "topic route": compatmessages.route,
    "topic route --brief": compatmessages.route_list,
}
"""By the native name, and the option that makes another layout of it."""
