"""Find groups that do not consume although brokers and members look healthy.

    member        a member does not answer: its process is frozen, or its network is cut
    offset        a group is ahead of the end, below the first message, or on unreadable queues
    stuck         a member has held messages for long without finishing any
    cache         a member's cache is full, so that it pulls no more
    orderly       an orderly listener suspends its queue again and again
    lock          a queue is locked by a client that is gone, or read without its lock
    transaction   half messages have waited for a decision for long

Rule: pure, like ``mqadmin.health.checkup``. A member's times are compared only with each other,
because its clock may differ from ours.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mqadmin.cluster.members import MemberAnswer, MemberOutcome, process_of
from mqadmin.cluster.standing import MEANINGS, GroupStanding, QueuePosition
from mqadmin.health.checkup import Check, CheckupFinding, CheckupLimits, CheckupSeverity
from remoting.bodies import ConsumerRunningInfo, MessageQueue, ProcessQueueInfo

POLL_MS_MAX: Final = 20_000
"""A running push consumer has pulled within this time, because a long poll waits 15 s."""
ORDERLY_PROPERTY: Final = "PROP_CONSUMEORDERLY"
CACHE_COUNT: Final = ("pullThresholdForQueue", 1000)
CACHE_MIB: Final = ("pullThresholdSizeForQueue", 100)
"""Property and default of the limits of a member's cache for one queue."""
WRONG: Final = {
    GroupStanding.AHEAD: CheckupSeverity.ERROR,
    GroupStanding.UNREADABLE: CheckupSeverity.ERROR,
    GroupStanding.BELOW_MINIMUM: CheckupSeverity.WARNING,
}
"""The standings that are findings."""
GROUPS_NAMED_MAX: Final = 3
"""How many groups a finding about one process names."""
STACK_LINES_MAX: Final = 12
FRAMES_MIN: Final = 2
IDLE: Final = ("ThreadPoolExecutor.getTask", "concurrent/futures/thread.py")
"""A frame of a thread that waits for work."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group that is online or has offsets: the answers of its members, and its positions."""

    group: str
    answers: Mapping[str, MemberAnswer]
    positions: Sequence[QueuePosition] = ()

    @property
    def infos(self) -> dict[str, ConsumerRunningInfo]:
        """Return the answer of each member that answered."""
        return {who: answer.info for who, answer in self.answers.items() if answer.info is not None}

    @property
    def waiting_count(self) -> int:
        """Return how many messages wait for the group."""
        return sum(position.waiting_count for position in self.positions)


def member_findings(facts: Iterable[GroupFacts]) -> Iterator[CheckupFinding]:
    """Yield a finding for each process that does not answer or cannot be asked.

    One process often has members in many groups, which fall silent together.
    """
    silent: dict[str, list[tuple[GroupFacts, MemberAnswer]]] = defaultdict(list)
    for group in facts:
        for who, answer in group.answers.items():
            if answer.is_silent:
                silent[process_of(who)].append((group, answer))
            elif answer.outcome is MemberOutcome.UNABLE:
                yield CheckupFinding(
                    CheckupSeverity.INFO,
                    Check.MEMBER,
                    f"group {group.group}, member {who}",
                    answer.remark,
                    "its broker, version or language does not support this request",
                    member=who,
                )
    for members in silent.values():
        yield _silent_process(members)


def _silent_process(members: Sequence[tuple[GroupFacts, MemberAnswer]]) -> CheckupFinding:
    """Return the finding of a silent process; its first answer has the waiting time."""
    first, asked = min(members, key=lambda pair: pair[1].outcome is MemberOutcome.NOT_ASKED)
    groups = {group.group: group for group, _ in members}
    names = ", ".join([*groups][:GROUPS_NAMED_MAX])
    left = len(groups) - GROUPS_NAMED_MAX
    waiting = sum(group.waiting_count for group in groups.values())
    observed = asked.remark
    if waiting:
        observed += f"; {waiting} messages wait for the {'groups' if len(groups) > 1 else 'group'}"
    return CheckupFinding(
        CheckupSeverity.ERROR,
        Check.MEMBER,
        f"group {names}{f' and {left} more' if left > 0 else ''}, member {asked.client_id}",
        observed,
        f"its process may be stopped; see `group running {first.group} --client "
        f"{asked.client_id} --jstack`",
        member=asked.client_id,
    )


def offset_findings(facts: GroupFacts) -> Iterator[CheckupFinding]:
    """Yield a finding for each topic and standing in which a group misses messages."""
    by_place: dict[tuple[str, GroupStanding], list[QueuePosition]] = defaultdict(list)
    for position in facts.positions:
        if position.standing in WRONG:
            by_place[position.topic, position.standing].append(position)
    for (topic, standing), positions in sorted(by_place.items()):
        meaning = MEANINGS[standing]
        names = queue_names([(position.broker, position.queue_id) for position in positions])
        unread = sum(position.unread_count for position in positions)
        noun = "queue" if len(positions) == 1 else "queues"
        yield CheckupFinding(
            WRONG[standing],
            Check.OFFSET,
            f"group {facts.group}, topic {topic}",
            f"{len(positions)} {noun} {meaning.sentence}: {names}; {unread} messages there "
            "are unread",
            meaning.hint.format(group=facts.group, topic=topic),
        )


def progress_findings(
    facts: GroupFacts, limits: CheckupLimits, *, now_ms: int
) -> Iterator[CheckupFinding]:
    """Yield the members that hold messages without finishing them."""
    for who, info in facts.infos.items():
        queues_by_topic = _held_by_topic(info)
        stuck = {
            topic for topic in queues_by_topic if _stuck_ms(info, topic, now_ms) >= limits.stuck_ms
        }
        for topic, queues in sorted(queues_by_topic.items()):
            subject = f"group {facts.group}, topic {topic}, member {who}"
            count = sum(state.cached_msg_count for state in queues.values())
            where = f"{count} messages cached in {len(queues)} queues"
            hint = f"`group running {facts.group} --client {who} --jstack`"
            if _is_suspended(info, topic):
                observed = (
                    f"{where}, and the orderly listener suspends the queue: no message succeeds"
                )
                yield CheckupFinding(
                    CheckupSeverity.ERROR, Check.ORDERLY, subject, observed, hint, member=who
                )
            elif topic in stuck:
                seconds = _stuck_ms(info, topic, now_ms) // 1000
                observed = f"{where}, none finished for {seconds} s"
                yield CheckupFinding(
                    CheckupSeverity.ERROR, Check.STUCK, subject, observed, hint, member=who
                )
            if full := [queue for queue, state in queues.items() if _is_full(info, state)]:
                names = queue_names([(queue.broker_name, queue.queue_id) for queue in full])
                observed = f"its cache is full in {names}: the listener is slower than the messages"
                yield CheckupFinding(
                    CheckupSeverity.WARNING, Check.CACHE, subject, observed, hint, member=who
                )


def stalled_findings(
    facts: GroupFacts, later: Sequence[QueuePosition], *, elapsed_ms: int
) -> Iterator[CheckupFinding]:
    """Yield a group whose members do not say what they hold, where no offset moves.

    Args:
        later: where the group stood ``elapsed_ms`` after ``facts``.
    """
    before = {
        (position.topic, position.broker, position.queue_id): position.consumer_offset
        for position in facts.positions
    }
    waiting = [position for position in later if position.waiting_count]
    moved = any(
        position.consumer_offset != before.get((position.topic, position.broker, position.queue_id))
        for position in later
    )
    if waiting and not moved:
        count = sum(position.waiting_count for position in waiting)
        yield CheckupFinding(
            CheckupSeverity.WARNING,
            Check.STUCK,
            f"group {facts.group}",
            f"{count} messages are waiting, and no offset moved within {elapsed_ms / 1000:.0f} "
            f"s, while {len(facts.answers)} member(s) are online",
            f"its members do not report what they hold; see `group lag {facts.group} --watch`",
        )


def needs_second_look(facts: GroupFacts) -> bool:
    """Return whether messages wait that only moving offsets can prove to be consumed.

    A push consumer reports what it holds. Java's pull consumers, members that pop, and clients in
    most other languages do not.
    """
    if not facts.answers or not facts.waiting_count:
        return False
    return all(
        not answer.is_silent and not (answer.info and answer.info.mq_table)
        for answer in facts.answers.values()
    )


def lock_findings(
    locks: Iterable[tuple[str, MessageQueue, str, int]], members: Mapping[str, Collection[str]]
) -> Iterator[CheckupFinding]:
    """Yield the locks of clients that are gone.

    Args:
        locks: group, queue, client id, and how long the lock lasts in ms.
        members: the client ids that are online, by group.
    """
    for group, queue, client_id, left_ms in locks:
        if client_id not in members.get(group, ()):
            yield CheckupFinding(
                CheckupSeverity.WARNING,
                Check.LOCK,
                f"group {group}, topic {queue.topic}",
                f"{queue.broker_name}:{queue.queue_id} is locked by {client_id}, which is gone, "
                f"for {max(0, left_ms) // 1000} s more",
                f"the next member gets it then; see `lock list -g {group}`",
                member=client_id,
            )


def unlocked_findings(facts: GroupFacts) -> Iterator[CheckupFinding]:
    """Yield the queues that an orderly member cannot read because it lacks their lock."""
    for who, info in facts.infos.items():
        if info.properties.get(ORDERLY_PROPERTY) != "true":
            continue
        if info.properties.get("messageModel") == "BROADCASTING":
            continue
        queues = [q for q, state in info.mq_table.items() if not state.droped and not state.locked]
        if queues:
            names = queue_names([(queue.broker_name, queue.queue_id) for queue in queues])
            yield CheckupFinding(
                CheckupSeverity.WARNING,
                Check.LOCK,
                f"group {facts.group}, member {who}",
                f"waits for the lock of {names}",
                "another client holds it, or held it less than 60 s ago; see `lock list -g "
                f"{facts.group}`",
                member=who,
            )


def half_findings(
    broker: str, ages_ms: Sequence[int], limits: CheckupLimits
) -> Iterator[CheckupFinding]:
    """Yield a finding if half messages of a broker have waited too long for a decision."""
    late = [age for age in ages_ms if age > limits.half_ms]
    if late:
        yield CheckupFinding(
            CheckupSeverity.WARNING,
            Check.TRANSACTION,
            broker,
            f"{len(late)} half messages are undecided, the oldest for {max(late) // 1000} s",
            "check that a producer of their group is running; see `transaction list`",
        )


def queue_names(queues: Sequence[tuple[str, int]]) -> str:
    """Return the names of the first queues, and how many more there are."""
    names = ", ".join(f"{broker}:{queue_id}" for broker, queue_id in sorted(queues)[:8])
    return names + (f" and {len(queues) - 8} more" if len(queues) > 8 else "")


def listener_stack(jstack: str | None) -> str | None:
    """Return the stack of a thread that runs a listener; None if there is no such thread.

    Java prefixes each line with its thread; our clients print a paragraph for each thread.
    """
    for part in (jstack or "").replace("\r", "").split("\n\n"):
        lines = [line for line in part.split("\n") if line.strip()]
        is_listener = bool(lines) and "consume" in lines[0].split("TID:")[0].lower()
        if is_listener and len(lines) > FRAMES_MIN and not any(idle in part for idle in IDLE):
            return "\n".join(" ".join(line.split()) for line in lines[:STACK_LINES_MAX])
    return None


def _held_by_topic(
    info: ConsumerRunningInfo,
) -> dict[str, dict[MessageQueue, ProcessQueueInfo]]:
    """Return the queues in which a member has messages in its cache, by topic."""
    by_topic: dict[str, dict[MessageQueue, ProcessQueueInfo]] = defaultdict(dict)
    for queue, state in info.mq_table.items():
        if not state.droped and state.cached_msg_count:
            by_topic[queue.topic][queue] = state
    return by_topic


def _stuck_ms(info: ConsumerRunningInfo, topic: str, now_ms: int) -> int:
    """Return how long ago a member last finished a message of a topic whose messages it holds."""
    states = [state for state in info.mq_table.values() if not state.droped]
    seen_ms = max(
        max(state.last_pull_timestamp, state.last_consume_timestamp, state.last_lock_timestamp)
        for state in states
    )
    its_now_ms = max(seen_ms, min(now_ms, seen_ms + POLL_MS_MAX))
    finished_ms = max(
        state.last_consume_timestamp for state in _held_by_topic(info)[topic].values()
    )
    return its_now_ms - finished_ms if finished_ms else 0


def _is_suspended(info: ConsumerRunningInfo, topic: str) -> bool:
    speed = info.status_table.get(topic)
    if speed is None or info.properties.get(ORDERLY_PROPERTY) != "true":
        return False
    return speed.consume_failed_tps > 0 and speed.consume_ok_tps == 0


def _is_full(info: ConsumerRunningInfo, state: ProcessQueueInfo) -> bool:
    count, mib = (_limit(info, *what) for what in (CACHE_COUNT, CACHE_MIB))
    return state.cached_msg_count >= count or state.cached_msg_size_in_mib >= mib


def _limit(info: ConsumerRunningInfo, name: str, default: int) -> int:
    text = info.properties.get(name, "")
    return int(text) if text.isdecimal() and int(text) > 0 else default
