"""Estimate what an unclean election loses: what the new master lacks of the others' logs.

    in-sync set   1: 0──────── 2: 5000 ────────────────── 9000     confirm offset 8400
    candidate     1: 0──────── 2: 5000 ──── 7000
                                            kept    lost: 7000 to 9000, surely 7000 to 8400

Two logs are equal up to the end of the newest epoch that began at one offset in both. What follows
there in the longest log of the in-sync set is lost. Up to the confirm offset it was acknowledged to
senders; what follows may have been, with allAckInSyncStateSet=false.

Rule: an estimate says what it could not see. Nothing here changes anything.

Source: store/ha/autoswitch/EpochFileCache.java#findConsistentPoint (5.4.0).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.replicas import ReplicaLog
from mqadmin.output.times import iso_utc
from mqclient.errors import ClientError, NotFound

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

TOPICS_MAX: Final = 2_000
"""Topics whose queues are compared."""


@dataclass(frozen=True, slots=True)
class LossEstimate:
    """What an election loses.

    Attributes:
        kept_end: the log offset up to which the candidate has the log of the in-sync set.
        most_size: bytes behind it in the longest log of the set; None where no end is known.
        least_size: those of them that were surely acknowledged, as far as is known.
        message_count: messages that the queues of the candidate lack, as far as they were read.
        since_ms: when the first of them was stored, or the last one that the candidate has.
        unseen: what could not be looked at, for people.
    """

    kept_end: int | None
    most_size: int | None
    least_size: int
    message_count: int | None = None
    since_ms: int | None = None
    unseen: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the estimate as words."""
        if self.most_size is None:
            parts = ["the loss is not known"]
        elif self.most_size == 0:
            parts = ["it lacks nothing of what could be seen"]
        else:
            parts = [f"it lacks up to {self.most_size} bytes"]
            if self.message_count is not None:
                parts[0] += f" ({self.message_count} messages)"
            if self.least_size:
                parts.append(f"{self.least_size} bytes of them surely acknowledged")
            if self.since_ms is not None:
                parts.append(f"stored from {iso_utc(self.since_ms)} on")
        return ", ".join(parts)


def common_end(ours: ReplicaLog, theirs: ReplicaLog) -> int | None:
    """Return up to which log offset two logs are equal; None where that cannot be known."""
    if ours.end is None or theirs.end is None:
        return None
    if ours.epochs is None or theirs.epochs is None:
        # A heartbeat has the newest epoch alone. One master writes an epoch, from one offset on.
        if ours.newest_epoch is not None and ours.newest_epoch == theirs.newest_epoch:
            return min(ours.end, theirs.end)
        return None
    there = {entry.epoch: entry for entry in theirs.epochs}
    for entry in reversed(ours.epochs):
        same = there.get(entry.epoch)
        if same is not None and same.start_offset == entry.start_offset:
            return min(entry.end_offset, same.end_offset)
    return 0


def estimate_loss(candidate: ReplicaLog, others: Sequence[ReplicaLog]) -> LossEstimate:
    """Return what the in-sync set has and the candidate lacks, by their logs alone.

    Args:
        candidate: the broker that shall be the master, outside the set.
        others: the other replicas of the group.
    """
    unseen = []
    if candidate.error is not None:
        unseen.append(f"{candidate.name}: {candidate.error}")
    in_sync = [log for log in others if log.is_in_sync]
    for log in in_sync:
        if log.error is None:
            continue
        log_state = "nothing is known of its log"
        if log.end is not None:
            log_state = f"its log ended at {log.end} in its last heartbeat"
            if log.silent_ms is not None:
                log_state += f", {log.silent_ms / 1000:.0f} s ago"
        unseen.append(f"{log.name} does not answer; {log_state}")
    ends = [log for log in in_sync if log.end is not None]
    if not ends:
        return LossEstimate(None, None, 0, unseen=tuple(unseen))
    longest = longest_log(ends)
    kept_end = common_end(candidate, longest)
    if kept_end is None:
        unseen.append(
            f"where the logs of {candidate.name} and {longest.name} part; it may lack more"
        )
        kept_end = min(candidate.end or 0, longest.end or 0)
    elif candidate.end is not None and candidate.end > kept_end:
        unseen.append(
            f"{candidate.name} has other messages from offset {kept_end} on, which are kept; "
            "the count of those that it lacks is too low"
        )
    confirmed = [log.confirm_offset for log in in_sync if log.confirm_offset is not None]
    if not confirmed:
        unseen.append("the confirm offset, which only a controller of ours reports")
    return LossEstimate(
        kept_end,
        max(0, (longest.end or 0) - kept_end),
        max([0, *(offset - kept_end for offset in confirmed)]),
        unseen=tuple(unseen),
    )


def longest_log(logs: Sequence[ReplicaLog]) -> ReplicaLog:
    """Return the log with the highest epoch, and of those the longest."""
    return max(logs, key=lambda log: (log.newest_epoch or -1, log.end or 0))


async def measure_loss(
    admin: "Admin", candidate: ReplicaLog, others: Sequence[ReplicaLog]
) -> LossEstimate:
    """Return the estimate, with messages and times as far as the brokers answer."""
    made = estimate_loss(candidate, others)
    answering = [log for log in others if log.is_in_sync and log.error is None]
    if not made.most_size or candidate.error is not None:
        return made
    unseen = list(made.unseen)
    message_count, since_ms = None, None
    try:
        if answering:
            longest = longest_log(answering)
            message_count = await _missing_messages(admin, candidate, longest, unseen)
            since_ms = await _store_time(admin, longest, made.kept_end or 0)
        if since_ms is None:
            since_ms = await _last_store_time(admin, candidate, unseen)
    except ClientError as error:
        unseen.append(f"messages and times: {error}")
    return LossEstimate(
        made.kept_end, made.most_size, made.least_size, message_count, since_ms, tuple(unseen)
    )


async def _topics(admin: "Admin", log: ReplicaLog, unseen: list[str]) -> list[str]:
    topics = sorted((await admin.topic_configs(log.address)).topics)
    if len(topics) > TOPICS_MAX:
        unseen.append(f"messages of {len(topics) - TOPICS_MAX} of {len(topics)} topics")
    return topics[:TOPICS_MAX]


async def _missing_messages(
    admin: "Admin", candidate: ReplicaLog, longest: ReplicaLog, unseen: list[str]
) -> int:
    """Return by how much the queues of the longest log are longer, in messages."""

    async def missing(topic: str) -> int:
        ends = await _queue_ends(admin, longest, topic)
        own = await _queue_ends(admin, candidate, topic)
        return sum(max(0, end - own.get(queue_id, 0)) for queue_id, end in ends.items())

    return sum(await each(await _topics(admin, longest, unseen), missing))


async def _queue_ends(admin: "Admin", log: ReplicaLog, topic: str) -> dict[int, int]:
    try:
        stats = await admin.topic_stats_at(log.address, topic)
    except NotFound:
        # It has no queue of this topic.
        return {}
    return {queue.queue_id: ends.max_offset for queue, ends in stats.items()}


async def _store_time(admin: "Admin", log: ReplicaLog, log_offset: int) -> int | None:
    """Return when the message at an offset was stored; None if no message starts there."""
    try:
        message = await admin.view_message_at(log.address, log_offset)
    except NotFound:
        return None
    return message.record.store_ms


async def _last_store_time(admin: "Admin", log: ReplicaLog, unseen: list[str]) -> int | None:
    """Return when the newest message of a replica was stored."""

    async def newest(topic: str) -> int:
        try:
            stats = await admin.topic_stats_at(log.address, topic)
        except NotFound:
            return 0
        return max((ends.last_update_timestamp for ends in stats.values()), default=0)

    return max(await each(await _topics(admin, log, unseen), newest), default=0) or None
