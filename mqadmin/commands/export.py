"""``export …``: write the configuration of a cluster to files.

    export             a YAML document for `diff` and `apply`
    export metadata    metadata.json: topics and groups; queues of all masters added up
    export configs     configs.json: sixteen settings of each master, and cluster sizes
    export metrics     metrics.json: what each master counted, and the sums

Requests: of ``export`` those of ``mqadmin.manifest.sources``; of the others
GET_BROKER_CLUSTER_INFO, then on each master

    configs     GET_BROKER_CONFIG
    metadata    GET_ALL_TOPIC_CONFIG, GET_ALL_SUBSCRIPTIONGROUP_CONFIG
    metrics     all of these, GET_BROKER_RUNTIME_INFO, VIEW_BROKER_STATS_DATA and, for each
                group, GET_CONSUMER_CONNECTION_LIST

Rule: keys, nesting and sums of the three JSON files are Java's, so that programs that read its
files can read these; the values are those that brokers report. As in Java, ``cpuNum`` is
``clientCallbackExecutorThreads``, not a number of CPUs.

Source: tools/command/export/ExportMetadataCommand.java, ExportConfigsCommand.java,
ExportMetricsCommand.java (4.9.7).
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import click

from mqadmin.cli.declare import Call, Outcome, Row, command, one
from mqadmin.cli.decorators import Where, broker_option, option_group, replace_option, to_file
from mqadmin.cli.types import CLUSTER, DIR_PATH, Choice
from mqadmin.cluster.brokers import MASTER, ServerNode, all_brokers, masters
from mqadmin.cluster.groups import connection, is_system
from mqadmin.cluster.server_tables import count_of_day, statistic
from mqadmin.manifest.declared import ACCOUNTS, GROUPS, TOPICS, Settings
from mqadmin.manifest.sources import source
from mqadmin.output.files import STDOUT, check_is_new, write_whole
from mqadmin.output.formats import text_of
from mqadmin.output.rows import OMIT
from mqadmin.output.topic_kinds import kind_of
from mqadmin.output.versions import version_name
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from storefmt.names import HALF_TOPIC, SCHEDULE_TOPIC

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class Document(Row):
    """Settings by name and broker; ``*`` is every master."""

    topics: dict[str, dict[str, Settings]]
    groups: dict[str, dict[str, Settings]]
    accounts: dict[str, dict[str, Settings]] | None = field(default=None, metadata={OMIT: True})


@dataclass(frozen=True, slots=True)
class ExportedDocument(Row):
    """A document that was written, and how many settings it names."""

    file: str
    topics: int
    groups: int
    accounts: int


@command(
    "export",
    examples=(
        ("mqadmin export --to cluster.yaml", "what `diff` and `apply` read"),
        ("mqadmin export -o json", "the same for a program"),
    ),
    details="Topics and groups that brokers create themselves and the secrets of accounts are "
    "left out. The format is YAML unless -o names another.",
    rows=Document,
    summary_rows=ExportedDocument,
)
@click.option("--cluster", type=CLUSTER, help="only brokers of this cluster")
@to_file(default=STDOUT)
@replace_option
async def export(call: Call, *, cluster: str | None, to: Path, replace: bool) -> Outcome:
    """Return the document, or what was written.

    Raises:
        ItemNotFound: the cluster does not exist, or no broker is registered.
        Usage: the file already exists.
    """
    check_is_new(to, replace=replace)
    manifest = (await source(call, None, cluster=cluster)).manifest
    document = Document(manifest[TOPICS.name], manifest[GROUPS.name], manifest.get(ACCOUNTS.name))
    if to == STDOUT:
        return Outcome((document,), single=True, format="yaml")
    write_whole(to, text_of(document, call.settings.output or "yaml"))
    counts = (len(document.topics), len(document.groups), len(document.accounts or ()))
    return one(ExportedDocument(str(to), *counts))


Json = dict[str, object]

CONFIGS: Final = (
    *("brokerClusterName", "brokerId", "brokerName", "brokerRole", "fileReservedTime"),
    *("filterServerNums", "flushDiskType", "maxMessageSize", "messageDelayLevel"),
    *("msgTraceTopicName", "slaveReadEnable", "traceOn", "traceTopicEnable", "useTLS"),
    *("autoCreateTopicEnable", "autoCreateSubscriptionGroup"),
)


this_cluster = click.option("--cluster", type=CLUSTER, help="only brokers of this cluster")


class JavaFile(NamedTuple):
    """The destination of a document: a file, or a file named as by Java in a directory."""

    directory: Path
    to: Path | None


target_options = option_group(
    "target",
    JavaFile,
    click.option("--directory", "-d", type=DIR_PATH, default=Path(), help="directory to write to"),
    to_file(help="file to write, instead of Java's name; - writes to standard output"),
)


@dataclass(frozen=True, slots=True)
class ExportedFile(Row):
    """A file that was written, and its size in bytes; ``brokers`` is how many were asked."""

    path: str
    size: int
    brokers: int


def _write(
    call: Call, target: JavaFile, name: str, document: Json, nodes: list[ServerNode]
) -> Outcome:
    """Write a document as Java prints JSON, and return the row.

    Args:
        name: of the file in the directory, as Java calls it.

    Raises:
        OSError: it cannot be written.
    """
    text = json.dumps(document, indent="\t", separators=(",", ":"), ensure_ascii=False)
    if target.to == STDOUT:
        return Outcome((), document=f"{text}\n")
    path = target.to or target.directory / name
    if not call.dry_run:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    return Outcome((ExportedFile(str(path), len(text.encode()), len(nodes)),))


@command(
    "export configs",
    examples=(("mqadmin export configs --cluster DefaultCluster", "writes configs.json here"),),
    details="The file contains sixteen settings of each master, and the number of servers.",
    rows=ExportedFile,
)
@this_cluster
@target_options
async def export_configs(call: Call, *, cluster: str | None, target: JavaFile) -> Outcome:
    """Return one row: the file.

    Raises:
        ItemNotFound: the cluster does not exist.
        OSError: the file cannot be written.
    """
    admin = await call.admin()
    nodes = await masters(admin, Where(cluster=cluster))
    count = len((await call.client()).namesrv_addresses)
    document = await _configs(admin, nodes, namesrv_count=count)
    return _write(call, target, "configs.json", document, nodes)


FILES = {None: "metadata.json", "topics": "topic.json", "groups": "subscriptionGroup.json"}


@command(
    "export metadata",
    examples=(
        ("mqadmin export metadata --cluster DefaultCluster", "writes metadata.json here"),
        ("mqadmin export metadata --only topics -d /backup", "writes topic.json there"),
    ),
    details="As in Java, the queues of all masters are added up. `export` keeps them apart, and "
    "`apply` reads its document.",
    rows=ExportedFile,
)
@this_cluster
@broker_option(help="only this broker: a name or HOST:PORT")
@click.option(
    "--only", type=Choice(["topics", "groups"]), help="export only topics, or only groups"
)
@click.option("--special", is_flag=True, help="include retry and dead-letter topics")
@target_options
async def export_metadata(
    call: Call,
    *,
    cluster: str | None,
    broker: str | None,
    only: Literal["topics", "groups"] | None,
    special: bool,
    target: JavaFile,
) -> Outcome:
    """Return one row: the file.

    Raises:
        ItemNotFound: the cluster or broker does not exist.
        OSError: the file cannot be written.
    """
    admin = await call.admin()
    nodes = await masters(admin, Where(broker=broker, cluster=cluster))
    document = await _metadata(
        admin,
        nodes,
        topics=only != "groups",
        groups=only != "topics",
        special=special,
        now_ms=call.now_ms(),
    )
    return _write(call, target, FILES[only], document, nodes)


@command(
    "export metrics",
    examples=(("mqadmin export metrics --cluster DefaultCluster", "writes metrics.json here"),),
    details="The file contains the present rates, yesterday's counts, disk usage, and versions "
    "of brokers and clients.",
    rows=ExportedFile,
)
@this_cluster
@target_options
async def export_metrics(call: Call, *, cluster: str | None, target: JavaFile) -> Outcome:
    """Return one row: the file.

    Raises:
        ItemNotFound: the cluster does not exist.
        OSError: the file cannot be written.
    """
    admin = await call.admin()
    nodes = await masters(admin, Where(cluster=cluster))
    document = await _metrics(admin, nodes)
    return _write(call, target, "metrics.json", document, nodes)


async def _metadata(
    admin: "Admin",
    nodes: list[ServerNode],
    *,
    topics: bool,
    groups: bool,
    special: bool,
    now_ms: int,
) -> Json:
    """Return topics and groups that users made.

    Args:
        special: also return retry and dead-letter topics.
    """
    own = {node.broker for node in nodes} | {node.cluster for node in nodes}
    kinds = {"normal", "retry", "dead_letter"} if special else {"normal"}
    configs: dict[str, TopicConfig] = {}
    by_group: dict[str, SubscriptionGroup] = {}
    for node in nodes:
        for topic, config in (await admin.topic_configs(node.address)).topics.items():
            if kind_of(topic, brokers_and_clusters=own) in kinds:
                configs[topic] = _added(config, configs.get(topic))
        for name, group in (await admin.subscription_groups(node.address)).groups.items():
            if not is_system(name):
                before = by_group[name].retry_queue_nums if name in by_group else 0
                by_group[name] = replace(group, retry_queue_nums=group.retry_queue_nums + before)
    document: Json = {"exportTime": now_ms}
    if topics:
        document["topicConfigTable"] = {name: configs[name].to_json() for name in sorted(configs)}
    if groups:
        document["subscriptionGroupTable"] = {
            name: by_group[name].to_json() for name in sorted(by_group)
        }
    return document


def _added(config: TopicConfig, before: TopicConfig | None) -> TopicConfig:
    if before is None:
        return config
    return replace(
        config,
        read_queue_nums=config.read_queue_nums + before.read_queue_nums,
        write_queue_nums=config.write_queue_nums + before.write_queue_nums,
    )


async def _configs(admin: "Admin", nodes: list[ServerNode], *, namesrv_count: int) -> Json:
    """Return the exported settings of each master, and the number of servers."""
    clusters = {node.cluster for node in nodes}
    every = [node for node in await all_brokers(admin) if node.cluster in clusters]
    configs = {}
    for node in nodes:
        settings = await admin.broker_config(node.address)
        configs[node.broker] = {key: settings[key] for key in CONFIGS if key in settings}
    return {
        "clusterScale": {
            "namesrvSize": namesrv_count,
            "masterBrokerSize": sum(node.broker_id == MASTER for node in every),
            "slaveBrokerSize": sum(node.broker_id != MASTER for node in every),
        },
        "brokerConfigs": configs,
    }


async def _metrics(admin: "Admin", nodes: list[ServerNode]) -> Json:
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
    connections = await asyncio.gather(*(connection(admin, node, group) for group in groups))
    return sorted(
        {
            f"{member.language.name if member.language is not None else ''}%"
            f"{version_name(member.version)}"
            for members in connections
            if members is not None
            for member in members.connection_set
        }
    )


async def _counted(admin: "Admin", address: str, topic: str) -> tuple[float, int]:
    """Return a topic's rate of the last minute and its messages of a day, 0 for none."""
    data = await statistic(admin, address, "TOPIC_PUT_NUMS", key=topic)
    return (data.stats_minute.tps if data.stats_minute else 0.0), count_of_day(data)


def _first(runtime: Mapping[str, str], key: str) -> float:
    words = runtime.get(key, "").split()
    return float(words[0]) if words else 0.0


def _between(runtime: Mapping[str, str], stem: str) -> int:
    """Return what was counted yesterday."""
    marks = (f"{stem}TodayMorning", f"{stem}YesterdayMorning")
    today, yesterday = (int(runtime.get(mark, "0")) for mark in marks)
    return today - yesterday
