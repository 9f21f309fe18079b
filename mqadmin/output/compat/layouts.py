"""``--compat``: rows printed as RocketMQ's own mqadmin 4.9.7 prints them, for scripts.

    topic status   #Broker Name  #QID  #Min Offset ...     fixed widths, names cut as Java cuts them

Rule: every name of that tool has a layout, which a test compares with its output byte for byte
(``tests/interop/test_compat.py``); a command that it does not have refuses ``--compat``. Times are
local and without zone; exit codes stay ours.

Source: tools/command/** (4.9.7), the printf of each command.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Final

from mqadmin.errors import Usage
from mqadmin.output.compat import (
    accounts,
    auth,
    brokers,
    controllers,
    groups,
    messages,
    offsets,
    printed,
    rocksdb,
    running,
    storage,
    topics,
)
from mqadmin.output.compat.java_text import (
    BROKER_MAX,
    NAME_MAX,
    Layout,
    Line,
    LineLayout,
    Record,
    cut,
    each,
    each_done,
    number,
    time_text,
)

HOUR_MS: Final = 3_600_000


def layout_of(command: str, line: Line, *, variant: str = "") -> Layout:
    """Return the layout of a command; ``variant`` is that of the outcome, if any.

    Raises:
        Usage: the command has no layout.
    """
    for name in (line.name, f"{command} {variant}".rstrip()):
        if name in LAYOUTS:
            return LAYOUTS[name]
        if name in LINE_LAYOUTS:
            layout = LINE_LAYOUTS[name]
            return lambda records: layout(records, line)
    raise Usage(
        f"{command} has no --compat layout", hint="the commands of Java's tool 4.9.7 have one"
    )


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


def _by_key(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``queryMsgByKey``; its flags of 5.x have the layout of 5.x."""
    form = "%-50s %4s %40s"
    kind = line.flags.get("p")
    is_of_5 = kind is not None or "l" in line.flags
    heads = ("#Message ID", "#QID", "#Offset")
    yield f"{form % heads} {'#IndexKey':<200}\n" if is_of_5 else f"{form % heads}\n"
    for record in records:
        shown = record["unique_key"] or record["msg_id"]
        place = form % (shown, record["queue_id"], record["queue_offset"])
        yield f"{place} {_entry(record, kind, line):<200}\n" if kind else f"{place}\n"


def _entry(record: Record, kind: str, line: Line) -> str:
    """Return the entry of a message in an index of 5.x, for the next ``-l``."""
    store_ms = number(record["store_ms"])
    found = (line.values["topic"], kind.strip(), line.values["key"], record["unique_key"])
    parts = (store_ms - store_ms % HOUR_MS, *found, record["log_offset"])
    return "@".join(map(str, parts))


def _status(records: Iterable[Record], line: Line) -> Iterator[str]:
    of_cluster = line.values["broker"] is None
    for record in records:
        address = f"{record['address']:<24} " if of_cluster else ""
        yield f"{address}{record['key']!s:<32}: {record['value']}\n"


def _broker_settings(records: Iterable[Record], line: Line) -> Iterator[str]:
    title = "" if line.values["broker"] is not None else "Master: "
    for address, settings in groupby(records, lambda record: record["address"]):
        yield from _settings(f"{title}{address}", settings)
        yield "\n"


def _namesrv_settings(records: Iterable[Record]) -> Iterator[str]:
    for address, settings in groupby(records, lambda record: record["address"]):
        yield from _settings(address, settings)


def _settings(title: object, settings: Iterable[Record]) -> Iterator[str]:
    yield f"============{title}============\n"
    for record in settings:
        yield f"{record['key']!s:<50}=  {record['value']}\n"


def _consume_stats(records: Iterable[Record], line: Line) -> Iterator[str]:
    form = "%-64s  %-64s  %-32s  %-4s  %-20s  %-20s  %-20s  %s\n"
    yield form % (
        *("#Topic", "#Group", "#Broker Name", "#QID"),
        *("#Broker Offset", "#Consumer Offset", "#Diff", "#LastTime"),
    )
    total = 0
    for record in records:
        lag, last_ms = number(record["lag"]), number(record["last_consumed_ms"])
        total += lag
        if last_ms <= 0 or lag < number(line.values["min_lag"]):
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
        yield form % (record["broker"], record["queue_id"], record["status"], record["unique_key"])


_EXPORTED: Final = each("export {path} success")
LAYOUTS: Final[dict[str, Layout]] = {
    "topic clusters": each("{cluster}\n"),
    "topic status": _topic_status,
    "message send": _sent,
    "namesrv config get": _namesrv_settings,
    "broker config set": each_done("update broker config success, {address}\n"),
    "broker connections": each(
        "producer group ({group}) instance : clientId={client_id},remoteIP=/{client_address}, "
        "language={language}, version={version}, lastUpdateTimestamp={last_heartbeat_ms}\n"
    ),
    "broker connections of a group": brokers.producer_connections,
    "cluster list": brokers.cluster_list,
    "cluster list --totals": brokers.cluster_totals,
    "cluster rt": brokers.round_trips,
    "acl list": accounts.accounts,
    "acl set": accounts.update,
    "acl white-addr": each_done("update global white remote addresses to {address} success.\n"),
    "acl2 delete": auth.each_server("delete acl to {address} success.\n"),
    "acl2 list": auth.rules,
    "acl2 show": auth.rules,
    "createAcl": auth.each_server("create acl to {address} success.\n"),
    "updateAcl": auth.each_server("update acl to {address} success.\n"),
    "user create": auth.each_server("create user to {address} success.\n"),
    "user delete": auth.each_server("delete user to {address} success.\n"),
    "user show": auth.user,
    "user update": auth.each_server("update user to {address} success.\n"),
    "broker pop-records transfer": storage.pop_records,
    "broker rocksdb check": storage.queue_check,
    "cold-data remove": storage.cold_data_removed,
    "cold-data set": storage.cold_data_limit,
    "store compaction": storage.compaction_log,
    "broker clean expired-log": brokers.clean,
    "broker clean expired-queues": brokers.clean,
    "broker clean unused-topics": brokers.clean,
    "namesrv kv set": brokers.once_a_key("create or update kv config to namespace success.\n"),
    "namesrv kv delete": brokers.once_a_key("delete kv config from namespace success.\n"),
    "export configs": _EXPORTED,
    "export metadata": _EXPORTED,
    "export metrics": _EXPORTED,
    "broker container add": each_done("add broker to {container} success\n"),
    "broker container remove": each_done("remove broker from {container} success\n"),
    "controller clean": controllers.cleaned,
    "controller config get": _namesrv_settings,
    "controller elect": controllers.elected,
    "controller leader": controllers.metadata,
    "controller status": controllers.sync_state_set,
    "ha epochs": controllers.epochs,
    "ha reset-flush-offset": each_done("reset master flush offset to {offset} success\n"),
    "group config": groups.settings,
    "group show": groups.connection,
    "group tps": groups.stats,
    "offset skip": offsets.skip,
    "startMonitoring": brokers.nothing,
    "message bench": messages.sends,
    "message consume-direct": messages.consume_directly,
    "message query id": messages.message,
    "message resend": messages.resend,
    "message trace": messages.trace,
    "sendMsgStatus": messages.statuses,
    "message query offset": messages.message,
    "message query unique-key": partial(messages.message, with_id=False),
    "queue show": messages.queue,
    "rebalance plan": messages.allocation,
    "topic delete": topics.delete,
    "topic perm": topics.permission,
    "topic perm --broker": partial(topics.permission, with_config=True),
    "topic route": messages.route,
    "topic route --brief": messages.route_list,
}
"""By the native name and what makes another layout of it, or by Java's name where that does."""

LINE_LAYOUTS: Final[dict[str, LineLayout]] = {
    "acl delete": accounts.delete,
    "acl version": accounts.versions,
    "acl2 copy": auth.copied("acl", "subject"),
    "user copy": auth.copied("user", "username"),
    "user list": auth.users,
    "group consume-mode set": auth.consume_mode,
    "broker read-ahead": storage.read_ahead,
    "broker rocksdb dump": storage.exported_config,
    "broker timer-engine": storage.timer_engine,
    "cold-data list": storage.cold_data,
    "exportMetadataInRocksDB": rocksdb.metadata,
    "store rocksdb": rocksdb.config_to_json,
    "broker config get": _broker_settings,
    "broker consume-stats": _consume_stats,
    "broker status": _status,
    "broker write-perm add": brokers.write_perm,
    "broker write-perm wipe": brokers.write_perm,
    "consumeMessage": printed.consume,
    "controller config set": controllers.setting_changed,
    "group delete": groups.delete,
    "group lag": groups.progress,
    "group running": running.members,
    "group update": groups.update,
    "ha status": controllers.ha_status,
    "message print": printed.queues,
    "message query key": _by_key,
    "namesrv config set": brokers.namesrv_setting,
    "offset clone": offsets.clone,
    "offset reset": offsets.reset,
    "printMsgByQueue": printed.one_queue,
    "topic list": topics.names,
    "topic static grow": topics.static_topic,
    "topic static remap": topics.static_topic,
    "topic order-conf": topics.order_conf,
    "topic update": topics.update,
}
"""The same for layouts that also show parts of the command line."""
