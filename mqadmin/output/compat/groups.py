"""Java's layouts of groups: settings, members and progress.

Source: tools/command/consumer/*.java, connection/*.java, stats/StatsAllSubCommand.java (4.9.7).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Final

from mqadmin.errors import ItemNotFound
from mqadmin.output.compat.java_text import (
    BROKER_MAX,
    DONE,
    NAME_MAX,
    Line,
    Record,
    cut,
    java_string,
    mapping,
    number,
    object_text,
    parts,
    peek,
    rate,
    time_text,
)
from mqadmin.output.versions import version_name
from storefmt.config.tables import SubscriptionGroup
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX, camel_case

SETTINGS: Final = {"groupName": "group"} | {
    camel_case(spot.name): spot.name
    for spot in fields(SubscriptionGroup)
    if spot.name not in {"group_name", "extra"}
}
OF_5: Final = frozenset({"consumeMessageOrderly", "p", "attributes"})
"""Flags of ``updateSubGroup`` that came with 5.x."""
IN_5: Final = (
    *("groupName", "consumeEnable", "consumeFromMinEnable", "consumeBroadcastEnable"),
    *("consumeMessageOrderly", "retryQueueNums", "retryMaxTimes", "groupRetryPolicy"),
    *("brokerId", "whichBrokerWhenConsumeSlowly", "notifyConsumerIdsChangedEnable"),
    *("groupSysFlag", "consumeTimeoutMinute", "subscriptionDataSet", "attributes"),
)
"""The settings in the order in which the tool of 5.x prints them."""
PUSHED: Final = "CONSUME_PASSIVELY"
OVERVIEW: Final = "%-64s  %-6s  %-24s %-5s  %-14s  %-7s  %s\n"
SUBSCRIPTION: Final = "%-20s %s\n"
SETTING: Final = "%-40s=  %s\n"
PACE_HEAD: Final = "%-64s  %-64s %12s %11s %11s %14s %14s\n"
PACE: Final = "%-64s  %-64s %12d %11.2f %11s %14d %14s\n"


def progress(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``consumerProgress``: a line per group, or for one group a line per queue."""
    if line.values["group"] is None:
        yield from _overview(records)
    else:
        yield from _progress(records, with_clients=not line.values["no_clients"])


def _overview(records: Iterable[Record]) -> Iterator[str]:
    head = ("#Group", "#Count", "#Version", "#Type", "#Model", "#TPS", "#Diff Total")
    yield OVERVIEW % head
    for record in records:
        is_online, is_push = number(record["members"]) > 0, record["consume_type"] == PUSHED
        yield OVERVIEW % (
            cut(record["group"], NAME_MAX),
            record["members"],
            version_name(number(record["version"])) if is_online else "OFFLINE",
            ("PUSH" if is_push else "PULL") if is_online else "",
            record["message_model"] if is_online and is_push else "",
            int(rate(record["consume_tps"])),
            record["lag"],
        )


def _progress(records: Iterable[Record], *, with_clients: bool) -> Iterator[str]:
    client = "%-20s " if with_clients else ""
    form = f"%-64s  %-32s  %-4s  %-20s  %-20s  {client}%-20s  %s\n"
    heads = ["#Topic", "#Broker Name", "#QID", "#Broker Offset", "#Consumer Offset"]
    shown = ["#Client IP"] if with_clients else []
    total, tps = 0, dict[object, float]()
    # Java prints nothing for a group that does not exist.
    listed = peek(records)
    yield form % (*heads, *shown, "#Diff", "#LastTime")
    for record in listed:
        last_ms, lag = number(record["last_consumed_ms"]), number(record["lag"])
        total += lag
        tps[record["broker"]] = rate(record["consume_tps"])
        who = str(record["client_id"] or "N/A").partition("@")[0]
        yield form % (
            cut(record["topic"], NAME_MAX),
            cut(record["broker"], BROKER_MAX),
            record["queue_id"],
            record["broker_offset"],
            record["consumer_offset"],
            *([who] if with_clients else []),
            lag,
            time_text(last_ms, millis=False) if last_ms > 0 else "N/A",
        )
    yield f"\nConsume TPS: {sum(tps.values()):.2f}\nDiff Total: {total}\n"


def connection(records: Iterable[Record]) -> Iterator[str]:
    """Print ``consumerConnection``.

    Raises:
        ItemNotFound: no member is online; Java does not have a layout for that.
    """
    form = "%-36s %-22s %-10s %s\n"
    for record in records:
        if not record["online"]:
            raise ItemNotFound(
                f"group {record['group']} has no members online", hint="start a consumer"
            )
        yield form % ("#ClientId", "#ClientAddr", "#Language", "#Version")
        for one in parts(record["connections"]):
            version = version_name(number(one["version"]))
            yield form % (one["client_id"], one["client_address"], one["language"], version)
        yield "\nBelow is subscription:\n"
        yield SUBSCRIPTION % ("#Topic", "#SubExpression")
        for one in parts(record["subscriptions"]):
            yield SUBSCRIPTION % (one["topic"], one["expression"])
        yield f"\nConsumeType: {record['consume_type']}\n"
        yield f"MessageModel: {record['message_model']}\n"
        yield f"ConsumeFromWhere: {record['consume_from_where']}\n"


def settings(records: Iterable[Record]) -> Iterator[str]:
    """Print ``getConsumerConfig``."""
    line = "=" * 29
    for record in records:
        yield f"{line}{record['cluster']}:{record['broker']}{line}\n"
        for name, ours in SETTINGS.items():
            yield SETTING % (name, java_string(record[ours]))


def update(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``updateSubGroup``; its flags of 5.x have the layout of 5.x."""
    last: Record | None = None
    changed = [record for record in records if record["result"] in DONE]
    for last in hash_order(changed, lambda record: string_hash(str(record["address"]))):
        yield f"create subscription group to {last['address']} success.\n"
    if last is not None and OF_5 & line.flags.keys():
        yield _settings_of_5(last, line)
    elif last is not None:
        settings = {name: last[ours] for name, ours in SETTINGS.items()}
        yield object_text("SubscriptionGroupConfig", settings)


def _settings_of_5(record: Record, line: Line) -> str:
    """Return the settings that Java's tool of 5.x sent, as it prints them."""
    policy = record["group_retry_policy"] if "p" in line.flags else None
    shown = {name: java_string(record[ours]) for name, ours in SETTINGS.items()}
    shown["consumeMessageOrderly"] = java_string(bool(record["consume_message_orderly"]))
    shown["groupRetryPolicy"] = _policy_text(mapping(policy or {"type": "CUSTOMIZED"}))
    shown |= {"groupSysFlag": "0", "consumeTimeoutMinute": "15", "subscriptionDataSet": "null"}
    # Java's tool prints the changes, not what the group has then.
    shown["attributes"] = map_text(mapping(line.values["attributes"]))
    return f"SubscriptionGroupConfig{{{', '.join(f'{name}={shown[name]}' for name in IN_5)}}}"


def _policy_text(policy: Mapping[str, object]) -> str:
    shown = {"type": str(policy["type"])}
    for name in ("exponentialRetryPolicy", "customizedRetryPolicy"):
        value = policy.get(name)
        shown[name] = f"{name[0].upper()}{name[1:]}{map_text(mapping(value))}" if value else "null"
    return f"GroupRetryPolicy{map_text(shown)}"


def map_text(values: Mapping[str, object]) -> str:
    """Return a map as Java prints it."""
    return f"{{{', '.join(f'{name}={value}' for name, value in values.items())}}}"


def delete(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``deleteSubGroup``: with ``-c`` also its topics, even if they did not exist."""
    removed = list(records)
    group, cluster = line.values["group"], line.values["cluster"]
    for record in removed:
        if record["kind"] == "group" and record["result"] in DONE:
            where = f"broker [{record['address']}]" + (
                f" in cluster [{cluster}]" if cluster else ""
            )
            yield f"delete subscription group [{group}] from {where} success.\n"
    if cluster and all(record["result"] in DONE for record in removed):
        for prefix in (RETRY_PREFIX, DLQ_PREFIX):
            yield f"delete topic [{prefix}{group}] from cluster [{cluster}] success.\n"
            yield f"delete topic [{prefix}{group}] from NameServer success.\n"


def stats(records: Iterable[Record]) -> Iterator[str]:
    """Print ``statsAll``."""
    yield PACE_HEAD % (
        *("#Topic", "#Consumer Group", "#Accumulation", "#InTPS", "#OutTPS"),
        *("#InMsg24Hour", "#OutMsg24Hour"),
    )
    for record in records:
        alone = record["group"] is None
        yield PACE % (
            cut(record["topic"], NAME_MAX),
            "" if alone else cut(record["group"], NAME_MAX),
            number(record["lag"]),
            float(str(record["in_tps"])),
            "" if alone else f"{float(str(record['out_tps'])):.2f}",
            number(record["in_24h"]),
            "NO_CONSUMER" if alone else number(record["out_24h"]),
        )
