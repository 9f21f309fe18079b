"""The numbers of a broker as metrics, under the names that rocketmq-exporter gave them.

    GET_BROKER_RUNTIME_INFO  "putTps": "5.0 4.0 3.0"  -->  rocketmq_brokeruntime_put_tps10 5.0
                                                            rocketmq_brokeruntime_put_tps60 4.0

Rule: pure; a number that a broker does not report is omitted, never zero.

Source: names and labels of the metrics of rocketmq-exporter 0.0.3.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from mqadmin.cluster.controlled_groups import ControlledGroups
from mqadmin.health.checkup import BrokerFacts

PLAIN: Final = {
    "msg_put_total_today_now": "msgPutTotalTodayNow",
    "msg_gettotal_today_now": "msgGetTotalTodayNow",
    "dispatch_behind_bytes": "dispatchBehindBytes",
    "put_message_size_total": "putMessageSizeTotal",
    "put_message_average_size": "putMessageAverageSize",
    "query_threadpool_queue_capacity": "queryThreadPoolQueueCapacity",
    "remain_transientstore_buffer_numbs": "remainTransientStoreBufferNumbs",
    "earliest_message_timestamp": "earliestMessageTimeStamp",
    "putmessage_entire_time_max": "putMessageEntireTimeMax",
    "start_accept_sendrequest_time": "startAcceptSendRequestTimeStamp",
    "send_threadpool_queue_size": "sendThreadPoolQueueSize",
    "putmessage_times_total": "putMessageTimesTotal",
    "getmessage_entire_time_max": "getMessageEntireTimeMax",
    "pagecache_lock_time_mills": "pageCacheLockTimeMills",
    "commitlog_disk_ratio": "commitLogDiskRatio",
    "consumequeue_disk_ratio": "consumeQueueDiskRatio",
    "dispatch_maxbuffer": "dispatchMaxBuffer",
    "pull_threadpoolqueue_capacity": "pullThreadPoolQueueCapacity",
    "send_threadpoolqueue_capacity": "sendThreadPoolQueueCapacity",
    "pull_threadpoolqueue_size": "pullThreadPoolQueueSize",
    "query_threadpoolqueue_size": "queryThreadPoolQueueSize",
    "pull_threadpoolqueue_headwait_timemills": "pullThreadPoolQueueHeadWaitTimeMills",
    "query_threadpoolqueue_headwait_timemills": "queryThreadPoolQueueHeadWaitTimeMills",
    "send_threadpoolqueue_headwait_timemills": "sendThreadPoolQueueHeadWaitTimeMills",
    "msg_gettotal_yesterdaymorning": "msgGetTotalYesterdayMorning",
    "msg_puttotal_yesterdaymorning": "msgPutTotalYesterdayMorning",
    "msg_gettotal_todaymorning": "msgGetTotalTodayMorning",
    "msg_puttotal_todaymorning": "msgPutTotalTodayMorning",
    "commitlog_maxoffset": "commitLogMaxOffset",
    "commitlog_minoffset": "commitLogMinOffset",
    "put_latency_99": "putLatency99",
    "put_latency_999": "putLatency999",
}
AVERAGES: Final = {
    "getfound_tps": "getFoundTps",
    "gettotal_tps": "getTotalTps",
    "gettransfered_tps": "getTransferedTps",
    "getmiss_tps": "getMissTps",
    "put_tps": "putTps",
}
"""Rates that are three numbers in one text: over 10, 60 and 600 seconds."""
SPANS: Final = ("10", "60", "600")
BANDS: Final = {
    "<=0ms": "0ms",
    "0~10ms": "0to10ms",
    "10~50ms": "10to50ms",
    "50~100ms": "50to100ms",
    "100~200ms": "100to200ms",
    "200~500ms": "200to500ms",
    "500ms~1s": "500to1s",
    "1~2s": "1to2s",
    "2~3s": "2to3s",
    "3~4s": "3to4s",
    "4~5s": "4to5s",
    "5~10s": "5to10s",
    "10s~": "10stomore",
}
BAND: Final = re.compile(r"\[([^\]]+)\]:(\d+)")
SIZE: Final = re.compile(r"([0-9.]+) ([KMGTPE]?)i?B")
UNITS: Final = ("", "K", "M", "G", "T", "P", "E")
CAPACITY: Final = re.compile(r"Total : ([^,]+), Free : (.+?)\.?$")


@dataclass(slots=True)
class Family:
    """One metric: the names of its labels, and its values by the labels' values."""

    name: str
    labels: tuple[str, ...]
    values: dict[tuple[str, ...], float] = field(default_factory=dict)


@dataclass(slots=True)
class Families:
    """All metrics of one scrape, by name."""

    made: dict[str, Family] = field(default_factory=dict)

    def add(self, name: str, value: float | None, **labels: str) -> None:
        """Add a value unless it is None."""
        if value is None or not math.isfinite(value):
            return
        family = self.made.setdefault(name, Family(name, tuple(labels)))
        family.values[tuple(labels.values())] = value

    def raise_to(self, name: str, value: float, **labels: str) -> None:
        """Add a value unless there is a greater one."""
        family = self.made.get(name)
        before = family.values.get(tuple(labels.values())) if family is not None else None
        self.add(name, value if before is None else max(before, value), **labels)

    def sum_up(self, name: str, value: float, **labels: str) -> None:
        """Add a value to the present one."""
        family = self.made.get(name)
        before = family.values.get(tuple(labels.values()), 0.0) if family is not None else 0.0
        self.add(name, before + value, **labels)


def add_runtime(out: Families, facts: BrokerFacts) -> None:
    """Add everything that a broker's runtime table says."""
    table = facts.runtime
    labels = {
        "cluster": facts.place.cluster,
        "brokerIP": facts.place.address,
        "brokerHost": "",
        "des": table.get("brokerVersionDesc", ""),
        "boottime": table.get("bootTimestamp", ""),
        "broker_version": table.get("brokerVersion", ""),
    }
    for suffix, value in _runtime(table):
        out.add(f"rocketmq_brokeruntime_{suffix}", value, **labels)


def _runtime(table: Mapping[str, str]) -> Iterator[tuple[str, float | None]]:
    for suffix, key in PLAIN.items():
        yield suffix, number(table.get(key))
    for suffix, key in AVERAGES.items():
        # 5.x spells one of them with three r.
        words = (table.get(key) or table.get(key.replace("fered", "ferred")) or "").split()
        for span, word in zip(SPANS, words, strict=False):
            yield suffix + span, number(word)
    for band, count in BAND.findall(table.get("putMessageDistributeTime", "")):
        if band in BANDS:
            yield f"pmdt_{BANDS[band]}", float(count)
    yield "remain_howmanydata_toflush", size(table.get("remainHowManyDataToFlush"))
    capacity = CAPACITY.search(table.get("commitLogDirCapacity", ""))
    if capacity is not None:
        yield "commitlogdir_capacity_total", size(capacity[1])
        yield "commitlogdir_capacity_free", size(capacity[2])


def add_replica_groups(out: Families, looked: ControlledGroups) -> None:
    """Add what is known of controllers and of the groups that they lead.

    rocketmq-exporter does not have such metrics, so the names are ours.
    """
    for view in looked.controllers:
        out.add("mqadmin_controller_up", int(view.error is None), controller=view.address)
        if view.error is None:
            is_leader = int(view.is_leader)
            out.add("mqadmin_controller_is_leader", is_leader, controller=view.address)
    for group in looked.groups:
        where = {"cluster": group.cluster, "broker": group.broker}
        if group.info is not None:
            master = group.master
            has_master = int(master is not None and master.is_alive)
            out.add("mqadmin_replicas_have_master", has_master, **where)
            out.add("mqadmin_replicas_master_epoch", group.info.master_epoch, **where)
            out.add("mqadmin_replicas_set_epoch", group.info.sync_state_set_epoch, **where)
            out.add("mqadmin_replicas_count", len(group.logs), **where)
            in_sync = sum(log.is_in_sync for log in group.logs)
            out.add("mqadmin_replicas_in_sync_count", in_sync, **where)
            out.add(
                "mqadmin_replicas_in_sync_min", number(group.setting("minInSyncReplicas")), **where
            )
        for log in group.logs:
            labels = {**where, "brokerId": str(log.broker_id), "brokerIP": log.address}
            out.add("mqadmin_replica_is_master", int(log.is_master), **labels)
            out.add("mqadmin_replica_is_alive", int(log.is_alive), **labels)
            out.add("mqadmin_replica_is_in_sync", int(log.is_in_sync), **labels)
            out.add("mqadmin_replica_epoch", log.newest_epoch, **labels)
            out.add("mqadmin_replica_log_end", log.end, **labels)
            out.add("mqadmin_replica_confirm_offset", log.confirm_offset, **labels)


def number(text: str | None) -> float | None:
    """Return a number, None if it is not a number."""
    try:
        return float(text or "")
    except ValueError:
        return None


def size(text: str | None) -> float | None:
    """Return the bytes of ``17 B`` or ``1.7 GiB``."""
    match = SIZE.match(text or "")
    return float(match[1]) * 1024.0 ** UNITS.index(match[2]) if match is not None else None
