"""Make the three documents of the Java tool's export commands, of one cluster or broker.

    metadata.json   topics and groups; queues of all masters added up
    configs.json    sixteen settings of each master, and how large the cluster is
    metrics.json    what each master counted, and the sums

Rule: keys, nesting and sums are Java's, so that what reads its files reads these; values are
what brokers say. ``cpuNum`` is no number of CPUs but ``clientCallbackExecutorThreads``, as
there.

Source: tools/command/export/ExportMetadataCommand.java, ExportConfigsCommand.java,
ExportMetricsCommand.java (4.9.7).
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mqadmin.cli.types import CLUSTER, DIR_PATH
from mqadmin.cluster.brokers import MASTER, ServerNode, all_brokers
from mqadmin.cluster.groups import connection, is_system
from mqadmin.cluster.server_tables import count_of_day, statistic
from mqadmin.output.rows import Outcome, Row
from mqadmin.output.topic_kinds import kind_of
from mqadmin.output.versions import version_name
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from storefmt.names import HALF_TOPIC, SCHEDULE_TOPIC

if TYPE_CHECKING:
    from mqadmin.session.call import Call
    from mqclient.admin.admin import Admin

Json = dict[str, object]

CONFIGS: Final = (
    *("brokerClusterName", "brokerId", "brokerName", "brokerRole", "fileReservedTime"),
    *("filterServerNums", "flushDiskType", "maxMessageSize", "messageDelayLevel"),
    *("msgTraceTopicName", "slaveReadEnable", "traceOn", "traceTopicEnable", "useTLS"),
    *("autoCreateTopicEnable", "autoCreateSubscriptionGroup"),
)


this_cluster = click.option("--cluster", type=CLUSTER, help="only this cluster")
directory_option = click.option(
    "--directory", "-d", type=DIR_PATH, default=Path(), help="directory to write to"
)


@dataclass(frozen=True, slots=True)
class ExportedFile(Row):
    """A file that was written, and its size in bytes; ``brokers`` is how many were asked."""

    path: str
    size: int
    brokers: int


def write_document(
    call: "Call", directory: Path, name: str, *, document: Json, brokers: int
) -> Outcome:
    """Write a document to ``directory/name`` as Java prints JSON, and return the row.

    Raises:
        OSError: it cannot be written.
    """
    text = json.dumps(document, indent="\t", separators=(",", ":"), ensure_ascii=False)
    path = directory / name
    if not call.dry_run:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Outcome((ExportedFile(str(path), len(text.encode()), brokers),))


async def metadata(
    admin: "Admin",
    nodes: list[ServerNode],
    *,
    topics: bool,
    groups: bool,
    special: bool,
    now_ms: int,
) -> Json:
    """Return topics and groups that people made.

    Args:
        special: retry and dead-letter topics, too.
    """
    own = {node.broker for node in nodes} | {node.cluster for node in nodes}
    wanted = {"normal", "retry", "dead_letter"} if special else {"normal"}
    found: dict[str, TopicConfig] = {}
    known: dict[str, SubscriptionGroup] = {}
    for node in nodes:
        for topic, config in (await admin.topic_configs(node.address)).topics.items():
            if kind_of(topic, brokers_and_clusters=own) in wanted:
                found[topic] = _added(config, found.get(topic))
        for name, group in (await admin.subscription_groups(node.address)).groups.items():
            if not is_system(name):
                before = known[name].retry_queue_nums if name in known else 0
                known[name] = replace(group, retry_queue_nums=group.retry_queue_nums + before)
    document: Json = {"exportTime": now_ms}
    if topics:
        document["topicConfigTable"] = {name: found[name].to_json() for name in sorted(found)}
    if groups:
        document["subscriptionGroupTable"] = {name: known[name].to_json() for name in sorted(known)}
    return document


def _added(config: TopicConfig, before: TopicConfig | None) -> TopicConfig:
    if before is None:
        return config
    return replace(
        config,
        read_queue_nums=config.read_queue_nums + before.read_queue_nums,
        write_queue_nums=config.write_queue_nums + before.write_queue_nums,
    )


async def configs(admin: "Admin", nodes: list[ServerNode], *, namesrv_count: int) -> Json:
    """Return the settings that count of each master, and how many servers there are."""
    clusters = {node.cluster for node in nodes}
    every = [node for node in await all_brokers(admin) if node.cluster in clusters]
    held = {}
    for node in nodes:
        settings = await admin.broker_config(node.address)
        held[node.broker] = {key: settings[key] for key in CONFIGS if key in settings}
    return {
        "clusterScale": {
            "namesrvSize": namesrv_count,
            "masterBrokerSize": sum(node.broker_id == MASTER for node in every),
            "slaveBrokerSize": sum(node.broker_id != MASTER for node in every),
        },
        "brokerConfigs": held,
    }


async def metrics(admin: "Admin", nodes: list[ServerNode]) -> Json:
    """Return what each master counted, and the sums over all of them."""
    report: dict[str, Json] = {}
    tps: dict[str, float] = {}
    day: dict[str, int] = {}
    for node in nodes:
        report[node.broker], rates, numbers = await _evaluated(admin, node)
        tps = {name: tps.get(name, 0.0) + value for name, value in rates.items()}
        day = {name: day.get(name, 0) + value for name, value in numbers.items()}
    totals = {f"total{name[0].upper()}{name[1:]}": value for name, value in tps.items()}
    return {"evaluateReport": report, "totalData": {"totalTps": totals, "totalOneDayNum": day}}


async def _evaluated(
    admin: "Admin", node: ServerNode
) -> tuple[Json, dict[str, float], dict[str, int]]:
    """Return a master's report, its rates, and its numbers of a day."""
    runtime, settings = await asyncio.gather(
        admin.broker_runtime(node.address), admin.broker_config(node.address)
    )
    topics, table = await asyncio.gather(
        admin.topic_configs(node.address), admin.subscription_groups(node.address)
    )
    own = {node.broker, node.cluster}
    topic_count = sum(kind_of(name, brokers_and_clusters=own) == "normal" for name in topics.topics)
    groups = [name for name in table.groups if not is_system(name)]
    half, delayed = [
        await _counted(admin, node.address, name) for name in (HALF_TOPIC, SCHEDULE_TOPIC)
    ]
    rates = {
        "normalInTps": _first(runtime, "putTps"),
        "normalOutTps": _first(runtime, "getTransferedTps"),
        "transInTps": half[0],
        "scheduleInTps": delayed[0],
    }
    numbers = {
        "normalOneDayInNum": _between(runtime, "msgPutTotal"),
        "normalOneDayOutNum": _between(runtime, "msgGetTotal"),
        "transOneDayInNum": half[1],
        "scheduleOneDayInNum": delayed[1],
    }
    environment: Json = {"cpuNum": settings.get("clientCallbackExecutorThreads")}
    if "totalMemKBytes" in runtime:
        environment["totalMemKBytes"] = runtime["totalMemKBytes"]
    report: Json = {
        "runtimeEnv": environment,
        "runtimeQuota": {
            "diskRatio": {
                key: runtime.get(key) for key in ("commitLogDiskRatio", "consumeQueueDiskRatio")
            },
            "tps": rates,
            "oneDayNum": numbers,
            "messageAverageSize": runtime.get("putMessageAverageSize"),
            "topicSize": topic_count,
            "groupSize": len(groups),
        },
        "runtimeVersion": {
            "rocketmqVersion": runtime.get("brokerVersionDesc"),
            "clientInfo": await _clients(admin, node, groups),
        },
    }
    return report, rates, numbers


async def _clients(admin: "Admin", node: ServerNode, groups: list[str]) -> list[str]:
    """Return languages and versions of the members of groups, as ``JAVA%V4_9_7``."""
    told = await asyncio.gather(*(connection(admin, node, group) for group in groups))
    return sorted(
        {
            f"{one.language.name if one.language is not None else ''}%{version_name(one.version)}"
            for members in told
            if members is not None
            for one in members.connection_set
        }
    )


async def _counted(admin: "Admin", address: str, topic: str) -> tuple[float, int]:
    """Return a topic's rate of the last minute and its messages of a day, 0 for none."""
    told = await statistic(admin, address, "TOPIC_PUT_NUMS", key=topic)
    return (told.stats_minute.tps if told.stats_minute else 0.0), count_of_day(told)


def _first(runtime: Mapping[str, str], key: str) -> float:
    words = runtime.get(key, "").split()
    return float(words[0]) if words else 0.0


def _between(runtime: Mapping[str, str], stem: str) -> int:
    """Return what was counted yesterday."""
    marks = (f"{stem}TodayMorning", f"{stem}YesterdayMorning")
    today, yesterday = (int(runtime.get(mark, "0")) for mark in marks)
    return today - yesterday
