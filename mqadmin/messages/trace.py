"""The life of one message as brokers report it: every place it was stored, and who read it.

    store          in its own topic; `born_ms` of the record is when it was sent
    delay          in SCHEDULE_TOPIC_XXXX or rmq_sys_wheel_timer: delayed by its producer, or a
                   retry that waits
    half           in RMQ_SYS_TRANS_HALF_TOPIC: prepared by its producer, decided or not
    retry          in %RETRY%group, delivered again
    dead_letter    in %DLQ%group, given up
    group          where a group stands now: has read it, reads it next, so many before it
    sent consumed decided    what clients traced, out of RMQ_SYS_TRACE_TOPIC

Rule: a unique key survives all of it, so everything is found by it; what a broker has deleted
is not there, and a topic that no broker has is not an error.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Final

from mqadmin.messages.message_rows import Warn
from mqadmin.output.rows import EpochMs, Row
from mqadmin.output.times import iso_utc
from mqclient.client import routes
from mqclient.errors import NoRoute
from mqclient.trace.trace_data import TraceRecord, read_records
from storefmt.formats.properties import REAL_TOPIC
from storefmt.names import (
    DLQ_PREFIX,
    HALF_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    TRACE_TOPIC,
)

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin
    from mqclient.message import MessageExt

_STEP_OF: Final = {
    "Pub": "sent",
    "SubBefore": "delivered",
    "SubAfter": "consumed",
    "EndTransaction": "decided",
}
_DELIVERED: Final = ("retry", "dead_letter", "consumed")
"""The steps that show how a delivery to a group ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeRow(Row):
    """One step; ``step_ms`` is 0 for ``group``, which is how things are now."""

    step: str
    step_ms: EpochMs
    topic: str
    broker: str | None = None
    queue_id: int | None = None
    queue_offset: int | None = None
    msg_id: str | None = None
    unique_key: str | None
    group: str | None
    group_offset: int | None = None
    cost_ms: int | None
    success: bool | None = None
    detail: str
    client_host: str | None = None


async def stored_steps(
    admin: "Admin", topic: str, key: str, groups: Iterable[str]
) -> tuple[list[LifeRow], list["MessageExt"]]:
    """Return every place that a message is stored in, and what is stored in its own topic."""
    own = await _find(admin, topic, key)
    rows = [_stored("store", message, f"born {iso_utc(message.born_ms)}") for message in own]
    keys = {message.unique_key or key for message in own} or {key}
    for name in sorted(keys):
        for place, (step, text_of) in _WAITING.items():
            waited = await _find(admin, place, name, route_of=topic)
            rows += [_stored(step, message, text_of(message)) for message in waited]
        for group in sorted(groups):
            for step, prefix in (("retry", RETRY_PREFIX), ("dead_letter", DLQ_PREFIX)):
                copies = await _find(admin, prefix + group, name)
                rows += [
                    _stored(step, copy, f"delivery {copy.reconsume_times + 1}", group=group)
                    for copy in copies
                ]
    return rows, own


async def groups_of(admin: "Admin", topic: str) -> list[str]:
    """Return the groups that read a topic, or have offsets in it.

    Raises:
        NoRoute: the topic does not exist.
    """
    masters = routes.masters(await admin.topic_route(topic))
    lists = await asyncio.gather(
        *(admin.groups_of_topic(address, topic) for address in masters.values())
    )
    return sorted({group for groups in lists for group in groups})


async def group_steps(
    admin: "Admin", message: "MessageExt", groups: Iterable[str]
) -> list[LifeRow]:
    """Return where each group stands before or behind a message."""
    table = await admin.all_consumer_offsets(message.store_host)
    rows = []
    for group in sorted(groups):
        offset = table.get((message.topic, group), {}).get(message.queue_id)
        online = bool(await admin.consumer_ids(message.store_host, group))
        rows.append(_group(message, group, offset, online=online))
    return rows


def of_topic(steps: Iterable[LifeRow], topic: str, unique_keys: Collection[str]) -> list[LifeRow]:
    """Return the traced steps of messages in one topic: a key may be that of others elsewhere.

    The end of a consumption does not name the topic, only the message.

    Args:
        unique_keys: those of the messages that are stored in the topic.
    """
    listed = list(steps)
    keys = {step.unique_key for step in listed if step.topic == topic} | set(unique_keys)
    return [step for step in listed if step.topic == topic or step.unique_key in keys]


def by_message(steps: Iterable[LifeRow]) -> list[LifeRow]:
    """Return the steps message by message, the oldest message and its oldest step first."""
    listed = sorted(steps, key=lambda step: step.step_ms or 1 << 62)
    order = {key: number for number, key in enumerate(dict.fromkeys(s.unique_key for s in listed))}
    return sorted(listed, key=lambda step: order[step.unique_key])


def failure_texts(steps: Iterable[LifeRow]) -> list[str]:
    """Return a sentence for each message and group that failed: what became of it, and why."""
    by_group: dict[tuple[str | None, str], list[LifeRow]] = {}
    for step in steps:
        if step.group and step.step in _DELIVERED:
            by_group.setdefault((step.unique_key, step.group), []).append(step)
    texts = []
    for (key, group), own in by_group.items():
        retries = [step for step in own if step.step == "retry"]
        ends = sorted(
            (step for step in own if step.step == "consumed"), key=lambda step: step.step_ms
        )
        failed = [step for step in ends if step.success is False]
        is_given_up = any(step.step == "dead_letter" for step in own)
        is_done = bool(ends) and ends[-1].success is True
        if not (is_given_up or retries or failed) or (is_done and not is_given_up):
            continue
        count = max(len(failed), len(retries) + is_given_up)
        times = f"{count} time{'' if count == 1 else 's'}"
        text = f"{key}: group {group} failed {times}"
        text += f" and gave it up: it is in {DLQ_PREFIX}{group}" if is_given_up else ""
        if failed:
            last = failed[-1]
            reason = last.detail.partition(";")[0]
            text += f"; at {last.client_host} {reason or 'it failed'}"
        else:
            text += (
                "; no client traced the reason; see the members' logs at the times of these steps"
            )
        texts.append(text)
    return texts


@dataclass(frozen=True, slots=True)
class TracesRead:
    """Which trace messages are read: store times in ms since 1970, and at most how many."""

    topic: str = TRACE_TOPIC
    _: KW_ONLY
    begin_ms: int = 0
    end_ms: int = 2**63 - 1
    count_max: int = 64


EVERY_TRACE: Final = TracesRead()


async def traced_steps(
    admin: "Admin", key: str, *, warn: Warn, read: TracesRead = EVERY_TRACE
) -> list[LifeRow]:
    """Return what clients traced about a message, oldest first; nothing without the topic."""
    try:
        messages = await admin.query_message(
            read.topic,
            key,
            count_max=read.count_max,
            begin_ms=read.begin_ms,
            end_ms=read.end_ms,
        )
    except NoRoute:
        return []
    steps: dict[tuple[str, int, str | None], LifeRow] = {}
    before: dict[str, TraceRecord] = {}
    for message in messages:
        if message.unreadable:
            warn(f"{message.unreadable}; skipped this trace")
            continue
        for record in read_records(message.body.decode("utf-8", "replace")):
            if key != record.msg_id and key not in record.keys.split(" "):
                continue
            if record.kind == "SubBefore" and record.request:
                before[record.request] = record
            spot = (record.kind, record.at_ms, record.request)
            steps[spot] = _traced(record, message, before.get(record.request or ""))
    return sorted(steps.values(), key=lambda row: row.step_ms)


async def _find(
    admin: "Admin", topic: str, key: str, *, route_of: str | None = None
) -> list["MessageExt"]:
    try:
        return await admin.query_message(topic, key, route_of=route_of)
    except NoRoute:
        return []


def _stored(step: str, message: "MessageExt", detail: str, *, group: str | None = None) -> LifeRow:
    return LifeRow(
        step=step,
        step_ms=message.store_ms,
        topic=message.topic,
        broker=message.broker_name or None,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        msg_id=message.offset_msg_id,
        unique_key=message.unique_key,
        group=group,
        cost_ms=max(0, message.store_ms - message.born_ms) if step == "store" else None,
        detail=detail,
    )


def _level(message: "MessageExt") -> str:
    return f"level {message.queue_id + 1}{_meant_for(message)}"


def _meant_for(message: "MessageExt") -> str:
    real = message.properties.get(REAL_TOPIC, "")
    return f", for {real}" if real else ""


_WAITING: Final[dict[str, tuple[str, Callable[["MessageExt"], str]]]] = {
    SCHEDULE_TOPIC: ("delay", _level),
    TIMER_TOPIC: ("delay", lambda message: f"timer{_meant_for(message)}"),
    HALF_TOPIC: ("half", lambda message: f"prepared{_meant_for(message)}"),
}
"""The step of a record in each topic where messages wait, and what its detail says."""


def position_text(queue_offset: int, group_offset: int | None) -> str:
    """Return where a group at ``group_offset`` stands, seen from a message."""
    if group_offset is None:
        return "has no offset in this queue"
    if group_offset > queue_offset:
        return "has read or skipped it"
    return (
        "reads it next"
        if group_offset == queue_offset
        else f"has {queue_offset - group_offset} to read before it"
    )


def _group(message: "MessageExt", group: str, group_offset: int | None, *, online: bool) -> LifeRow:
    progress = position_text(message.queue_offset, group_offset)
    detail = f"{progress}{'' if online else '; no members online'}"
    return replace(
        _stored("group", message, detail, group=group), step_ms=0, group_offset=group_offset
    )


def _traced(record: TraceRecord, message: "MessageExt", before: TraceRecord | None) -> LifeRow:
    at_ms = record.at_ms
    if not at_ms and before is not None:
        at_ms = before.at_ms + (record.cost_ms or 0)
    group = record.group or (before.group if before else None)
    return LifeRow(
        step=_STEP_OF[record.kind],
        step_ms=at_ms,
        topic=record.topic or "",
        unique_key=record.msg_id,
        group=group,
        cost_ms=record.cost_ms,
        success=record.success,
        detail=f"{record.detail}; client {message.born_host}".removeprefix("; "),
        client_host=message.born_host,
    )
