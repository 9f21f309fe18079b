"""The broker's settings, read (26) and changed (25), its runtime information (28), and requests to
delete expired log files (329) and queues without messages (306).

Rules:
- ``mqserver.broker.files.live_settings`` decides which settings may change and where changes are
  kept.
- A request to delete only decides when; ``mqserver.store.cleanup.retention`` decides what.

Runtime information has every key of Java's broker. Where this broker has nothing to measure, such
as thread pools, the value is what an idle Java broker shows. Additional keys are ``storeFailure``,
which says why messages are refused, ``kernels``, which names the compiled kernels in use,
``eventLoop``, which names the event loop, and those of replication, which begin with ``ha``.

Source: broker/processor/AdminBrokerProcessor.java#prepareRuntimeInfo,
store/StoreStatsService.java#getRuntimeInfo, store/DefaultMessageStore.java#getRuntimeInfo.
"""

import asyncio
import os

from mqserver.broker.cold_handler import reads_cold
from mqserver.broker.files.live_settings import FILE_NAME
from mqserver.broker.files.saves import answer_when_saved
from mqserver.broker.ha.slave_synchronize import DELIVERED_KEY, LEVEL_KEY
from mqserver.broker.state import Broker
from mqserver.runtime.program.event_loop import loop_name
from mqserver.runtime.program.kernels import kernels_in_use
from mqserver.runtime.properties import BadProperties, parse_properties
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.typed_config import SettingsError, Value
from mqserver.store.disk.disk import DiskUsage
from mqserver.store.store import MessageStore
from remoting.bodies import KVTable
from remoting.codes import VERSION, VERSION_NAME, RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import GetBrokerConfigResponse
from storefmt.errors import RecordDamaged
from storefmt.formats.message import decode_record
from storefmt.names import SCHEDULE_TOPIC

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def runtime_info(broker: Broker, *, now_ms: int) -> dict[str, str]:
    """Return all keys and values of the runtime information."""
    failure = {"storeFailure": broker.store.failure} if broker.store.failure else {}
    return {
        **failure,
        **_store_numbers(broker, now_ms),
        **_broker_numbers(broker, now_ms),
        **_disk_numbers(broker),
        **_delay_numbers(broker),
        "kernels": kernels_in_use(),
        "eventLoop": loop_name(asyncio.get_running_loop()),
        **broker.ha.numbers(),
    }


def readable_size(size: int) -> str:
    """Return a size as Java prints it: ``17 B``, ``1.7 MiB``."""
    if size < 1024:
        return f"{size} B"
    exponent = min((size.bit_length() - 1) // 10, len(_UNITS))
    return f"{size / 1024**exponent:.1f} {_UNITS[exponent - 1]}"


def running_time(elapsed_ms: int) -> str:
    """Return how long the broker has been running, as Java prints it."""
    seconds = max(0, elapsed_ms) // 1000
    days, seconds = divmod(seconds, 86_400)
    hours, seconds = divmod(seconds, 3_600)
    minutes, seconds = divmod(seconds, 60)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"


def disk_ratio(usage: DiskUsage) -> str:
    """Return how full a disk is, 0 to 1, as Java prints it; space reserved for root is not free."""
    return str(usage.percent / 100)


def _store_numbers(broker: Broker, now_ms: int) -> dict[str, str]:
    stats, store = broker.stats, broker.store
    put_count = store.put_count
    times = stats.put_times
    return {
        "bootTimestamp": str(stats.boot_ms),
        "runtime": running_time(now_ms - stats.boot_ms),
        "putMessageEntireTimeMax": str(times.longest_ms),
        # Java shows 1 before the first message, because it divides by it.
        "putMessageTimesTotal": str(put_count or 1),
        "putMessageFailedTimes": str(stats.put_failed_count),
        "putMessageSizeTotal": str(store.put_size),
        "putMessageDistributeTime": times.text(),
        "putMessageAverageSize": str(store.put_size / (put_count or 1)),
        "dispatchMaxBuffer": "0",
        "getMessageEntireTimeMax": str(stats.longest_get_ms),
        "putTps": stats.put.text(),
        "getFoundTps": stats.get_found.text(),
        "getMissTps": stats.get_missed.text(),
        "getTotalTps": stats.get_total.text(missing="0.0"),
        "getTransferedTps": stats.transferred.text(),
        "putLatency99": f"{times.percentile(0.99):.2f}",
        "putLatency999": f"{times.percentile(0.999):.2f}",
        "commitLogMinOffset": str(store.min_log_offset),
        "commitLogMaxOffset": str(store.written_offset),
        # With SYNC_FLUSH this is what waits for the disk; otherwise a message is dispatched as
        # soon as it is written.
        "dispatchBehindBytes": str(_unflushed(store) if store.waiting_count else 0),
        "remainHowManyDataToFlush": readable_size(_unflushed(store)),
        "remainTransientStoreBufferNumbs": "2147483647",
        "pageCacheLockTimeMills": str(broker.group_commit.sync_ms(now_ms)),
        "earliestMessageTimeStamp": str(_earliest_ms(store)),
    }


def _unflushed(store: MessageStore) -> int:
    return store.written_offset - store.flushed_offset


def _earliest_ms(store: MessageStore) -> int:
    """Return the store time of the first message that is still in the log, -1 without one."""
    data = store.reader.read_record(store.min_log_offset)
    try:
        return -1 if data is None else decode_record(data, check_crc=False).store_ms
    except RecordDamaged:
        return -1


def _broker_numbers(broker: Broker, now_ms: int) -> dict[str, str]:
    stats, config = broker.stats, broker.config
    return {
        "brokerVersionDesc": VERSION_NAME,
        "brokerVersion": str(VERSION),
        "msgPutTotalYesterdayMorning": str(stats.put_day.yesterday_morning),
        "msgPutTotalTodayMorning": str(stats.put_day.today_morning),
        "msgPutTotalTodayNow": str(broker.store.put_count),
        "msgGetTotalYesterdayMorning": str(stats.get_day.yesterday_morning),
        "msgGetTotalTodayMorning": str(stats.get_day.today_morning),
        "msgGetTotalTodayNow": str(stats.transferred.count),
        # There is no queue of a thread pool here; sends wait only for the disk.
        "sendThreadPoolQueueSize": str(broker.store.waiting_count),
        "sendThreadPoolQueueCapacity": str(config.send_thread_pool_queue_capacity),
        "sendThreadPoolQueueHeadWaitTimeMills": str(broker.group_commit.sync_ms(now_ms)),
        "pullThreadPoolQueueSize": "0",
        "pullThreadPoolQueueCapacity": "100000",
        "pullThreadPoolQueueHeadWaitTimeMills": "0",
        "queryThreadPoolQueueSize": "0",
        "queryThreadPoolQueueCapacity": "20000",
        "queryThreadPoolQueueHeadWaitTimeMills": "0",
        "EndTransactionQueueSize": "0",
        "EndTransactionThreadPoolQueueCapacity": "100000",
        "startAcceptSendRequestTimeStamp": "0",
    }


def _disk_numbers(broker: Broker) -> dict[str, str]:
    usage = broker.store.cleaner.usage
    ratio = disk_ratio(usage)
    log_path = os.path.join(broker.config.store.store_path_root_dir, "commitlog")
    return {
        "commitLogDirCapacity": f"Total : {readable_size(usage.size)}, "
        f"Free : {readable_size(usage.usable)}.",
        "commitLogDiskRatio": ratio,
        f"commitLogDiskRatio_{log_path}": ratio,
        "consumeQueueDiskRatio": ratio,
    }


def _delay_numbers(broker: Broker) -> dict[str, str]:
    progress = broker.delay.offsets()
    numbers = {
        f"{LEVEL_KEY}{level}": (
            f"{queue_offset},{broker.store.max_offset(SCHEDULE_TOPIC, level - 1)}"
        )
        for level, queue_offset in progress.offsets.items()
    }
    if progress.log_offset is not None:
        # This key is an extension. A slave that is promoted learns from it which deliveries in
        # its log the delay offsets do not count yet.
        numbers[DELIVERED_KEY] = str(progress.log_offset)
    return numbers


@handles(RequestCode.GET_BROKER_CONFIG)
def get_broker_config(broker: Broker, request: Request) -> Command:
    """Return all settings as ``key=value`` lines."""
    lines = "".join(f"{key}={text}\n" for key, text in broker.settings.as_dict().items())
    header = GetBrokerConfigResponse(version=broker.version_text)
    return request.command.response(header=header, body=lines.encode())


BODY_SIZE_MAX = 16_384
"""Largest body of a request that changes settings, in bytes."""


@handles(RequestCode.UPDATE_BROKER_CONFIG)
def update_broker_config(broker: Broker, request: Request) -> Command | None:
    """Change settings now and for the next start; keys that may not change are refused."""
    command = request.command
    if len(command.body) > BODY_SIZE_MAX:
        remark = f"settings have {len(command.body)} bytes, the limit is {BODY_SIZE_MAX}"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
    try:
        entries = parse_properties(command.body.decode())
        idle = broker.settings.change(
            Value(entry.key, entry.value.strip(), f"line {entry.line}") for entry in entries
        )
    except (SettingsError, BadProperties, UnicodeDecodeError) as error:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
    if not entries:
        return command.response()
    broker.apply_settings(now_ms=request.now_ms)
    if any(entry.key == "brokerPermission" for entry in entries):
        broker.topics.touch(request.now_ms)
    idle_note = f"kept, but not used by this broker: {', '.join(idle)}" if idle else None
    answer_when_saved(broker.files, request, name=FILE_NAME, remark=idle_note)
    return None


@handles(RequestCode.GET_BROKER_RUNTIME_INFO)
@reads_cold
def get_runtime_info(broker: Broker, request: Request) -> Command:
    """Return the runtime information of the broker under Java's keys."""
    table = runtime_info(broker, now_ms=request.now_ms)
    return request.command.response(body=KVTable(table=table).encode())


@handles(RequestCode.DELETE_EXPIRED_COMMITLOG)
def delete_expired_log(broker: Broker, request: Request) -> Command:
    """Delete expired commit log files now instead of at the hour of deleteWhen."""
    broker.store.cleaner.delete_by_hand()
    return request.command.response()


@handles(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
def clean_expired_queues(broker: Broker, request: Request) -> None:
    """Remove the queues whose messages are all deleted; the answer follows when that is done."""
    broker.store.cleaner.remove_expired_queues(lambda: request.reply(request.command.response()))
