"""Compares everything that can be read with what was promised.

    read      all queues of all topics from their first offset on, over the wire
    judge     ledger and what was read ──> Verdict: names of what is wrong, by kind

Rule: ``judge`` is a function of its arguments, so that a test shows that it finds each fault.
A missing message is no fault if its record is below the log's first offset, because retention may
delete it, or if its topic was deleted.

The words are those of Jepsen's total-queue checker: lost, unexpected (``ghosts``), duplicated
(``twice``), recovered (sent without an answer, and there).
"""

import contextlib
import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mqclient import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullResult
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BrokerRefused, NotFound
from remoting.bodies import MessageQueue
from tests.server.kills.ledger import (
    GroupQueue,
    Kind,
    Ledger,
    Outcome,
    Place,
    Sent,
    TopicState,
    name_of,
)
from tests.waiting import eventually

COMMIT_GRACE_S: Final = 5.0
"""A commit that was answered so long before the kill must be in the file."""
TURN_MS: Final = 50
"""A broker reads its clock once for all requests of a read, so its times may be that old."""


class Found(NamedTuple):
    """One message that can be read."""

    name: bytes
    place: Place
    log_offset: int
    store_ms: int


@dataclass
class Reading:
    """All that a broker serves."""

    found: list[Found] = field(default_factory=list)
    holes: list[Place] = field(default_factory=list)
    """Queue offsets between the first and the last of a queue at which nothing is given."""
    log_min: int = 0
    """Log offset of the first byte that is kept."""
    committed: dict[GroupQueue, int | None] = field(default_factory=dict)


@dataclass
class Verdict:
    """What is wrong; every list is empty where the promise was kept.

    Attributes:
        lost: plain messages that were acknowledged and cannot be read.
        moved: messages that can be read at another place than the answer said.
        ghosts: messages that were refused, or that nobody sent, and can be read.
        twice: plain messages that can be read at two places.
        disordered: messages before an earlier one of the same sender in the same queue.
        holes: queue offsets without a message.
        changed: messages that were read at a place and are not there any more.
        committed_lost, rolled_back_seen: transactions.
        delayed_lost, delayed_early: delayed messages.
        offsets_back: groups whose offset is before one that the broker had written long ago.
        offsets_ahead: groups whose offset is behind all that they committed.
        came_back: messages of a topic after its deletion was acknowledged.
        unclean: findings of ``store verify``.
    """

    lost: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    ghosts: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    disordered: list[str] = field(default_factory=list)
    holes: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    committed_lost: list[str] = field(default_factory=list)
    rolled_back_seen: list[str] = field(default_factory=list)
    delayed_lost: list[str] = field(default_factory=list)
    delayed_early: list[str] = field(default_factory=list)
    offsets_back: list[str] = field(default_factory=list)
    offsets_ahead: list[str] = field(default_factory=list)
    came_back: list[str] = field(default_factory=list)
    unclean: list[str] = field(default_factory=list)

    def faults(self) -> dict[str, list[str]]:
        """Return the faults of each kind that has any."""
        return {name: found for name, found in dataclasses.asdict(self).items() if found}

    def only_new(self, told: set[str]) -> "Verdict":
        """Return what was not reported before, and note it as reported."""
        fresh = {
            kind: [name for name in names if f"{kind} {name}" not in told]
            for kind, names in self.faults().items()
        }
        told |= {f"{kind} {name}" for kind, names in fresh.items() for name in names}
        return Verdict(**fresh)


# What is served.


async def read(client: MQClient, address: str, ledger: Ledger) -> Reading:
    """Return all that a broker serves of the topics and groups of a ledger.

    Raises:
        ClientError: the broker does not answer.
    """
    admin = Admin(client)
    reading = Reading(log_min=await _log_min(admin, address))
    consumer = PullConsumer(client, "KILLS_CHECKER")
    for topic in ledger.topics:
        await _read_topic(consumer, topic, reading)
    broker = next(iter((await admin.cluster_info()).broker_addr_table))
    for key in ledger.commits:
        queue = MessageQueue(key.topic, broker, key.queue_id)
        reading.committed[key] = await PullConsumer(client, key.group).committed(queue)
    return reading


async def read_topics(client: MQClient, topics: Iterable[str]) -> list[Found]:
    """Return what can be read of some topics."""
    reading = Reading()
    consumer = PullConsumer(client, "KILLS_CHECKER")
    for topic in topics:
        await _read_topic(consumer, topic, reading)
    return reading.found


async def _log_min(admin: Admin, address: str) -> int:
    """Return the log offset of the first byte that a broker keeps."""

    async def ask() -> dict[str, str]:
        # The real broker ends in an exception before it has counted its first second.
        with contextlib.suppress(BrokerRefused):
            return await admin.broker_runtime(address)
        return {}

    return int((await eventually(ask))["commitLogMinOffset"])


async def _read_topic(consumer: PullConsumer, topic: str, reading: Reading) -> None:
    # The topic was never created, or deleted although a name server still lists it, or lost. The
    # messages show which of these it is.
    with contextlib.suppress(NotFound):
        for queue in await consumer.queues(topic):
            await _read_queue(consumer, queue, reading)


async def _read_queue(consumer: PullConsumer, queue: MessageQueue, reading: Reading) -> None:
    pulled = await consumer.pull(queue, queue_offset=0)
    expected = at = await _first(consumer, queue, pulled, reading.log_min)
    end = pulled.max_offset
    while at < end:
        pulled = await consumer.pull(queue, queue_offset=at)
        end = pulled.max_offset
        for message in pulled.messages:
            holes = range(expected, message.queue_offset)
            reading.holes += [Place(queue.topic, queue.queue_id, hole) for hole in holes]
            expected = message.queue_offset + 1
            place = Place(queue.topic, queue.queue_id, message.queue_offset)
            name = name_of(message.body)
            found = Found(name, place, message.log_offset, message.record.store_ms)
            reading.found.append(found)
        # Never go back: a broker that is wrong about its queue must not make this loop endless.
        at = max(pulled.next_offset, at + 1)
    missing = range(expected, end)
    reading.holes += [Place(queue.topic, queue.queue_id, hole) for hole in missing]


async def _first(
    consumer: PullConsumer, queue: MessageQueue, pulled: PullResult, log_min: int
) -> int:
    """Return the first queue offset that is kept.

    Where retention has deleted something the real broker names one that is too low after a
    kill, and from there leads to the next queue file, past messages that can be read.
    """
    low, high = pulled.min_offset, pulled.max_offset
    if log_min == 0:
        return low
    while low < high:
        middle = (low + high) // 2
        found = await consumer.pull(queue, queue_offset=middle, count_max=1)
        if found.messages and found.messages[0].queue_offset == middle:
            high = middle
        else:
            low = middle + 1
    return low


# What is wrong.


def judge(
    ledger: Ledger, reading: Reading, *, killed_s: float = 0.0, settled: bool = False
) -> Verdict:
    """Return how the broker broke its promise.

    Args:
        killed_s: when the broker was killed (monotonic).
        settled: whether delayed messages and transactions had all the time they need.
    """
    verdict = Verdict()
    places: dict[bytes, list[Found]] = defaultdict(list)
    for found in reading.found:
        places[found.name].append(found)
    for sent in ledger.sent.values():
        _judge_sent(ledger, verdict, sent, places.get(sent.name, ()), reading.log_min, settled)
    strangers = places.keys() - ledger.sent.keys()
    verdict.ghosts += [f"{name!r} at {places[name][0].place}" for name in sorted(strangers)]
    verdict.holes += [str(place) for place in reading.holes]
    _judge_order(verdict, ledger, reading)
    _judge_seen(verdict, ledger, reading)
    _judge_commits(verdict, ledger, reading.committed, killed_s)
    return verdict.only_new(ledger.told)


def _judge_sent(
    ledger: Ledger,
    verdict: Verdict,
    sent: Sent,
    found: Iterable[Found],
    log_min: int,
    settled: bool,
) -> None:
    """Judge one message by the places at which it was found."""
    found, state = list(found), ledger.state_of(sent)
    label = f"{sent.name.decode()} of {sent.topic}"
    if found and state is TopicState.DELETED:
        verdict.came_back.append(label)
        return
    if found:
        if sent.outcome is Outcome.UNKNOWN:
            ledger.recovered.add(sent.name)
        if sent.kind in (Kind.DELAYED, Kind.COMMITTED):
            ledger.delivered.add(sent.name)
            if len(found) > 1:
                ledger.repeated.add(sent.name)
        if sent.outcome is Outcome.FAIL:
            verdict.ghosts.append(f"{label}, which was refused")
        if sent.kind is Kind.ROLLED_BACK:
            verdict.rolled_back_seen.append(label)
        if sent.kind is Kind.PLAIN and len(found) > 1:
            verdict.twice.append(label)
        if sent.place is not None and sent.place not in [one.place for one in found]:
            verdict.moved.append(f"{label} from {sent.place} to {found[0].place}")
        if sent.kind is Kind.DELAYED:
            due_ms = sent.started_ms + sent.delay_ms
            early = [one for one in found if one.store_ms < due_ms - TURN_MS]
            verdict.delayed_early += [f"{label} {due_ms - one.store_ms} ms" for one in early]
        return
    is_excused = state is not TopicState.ALIVE or sent.log_offset < log_min
    # What was there once and is not any more is reported as changed.
    is_excused |= sent.name in ledger.delivered
    if sent.outcome is not Outcome.OK or is_excused:
        return
    missing = {
        Kind.PLAIN: verdict.lost,
        Kind.DELAYED: verdict.delayed_lost,
        Kind.COMMITTED: verdict.committed_lost,
    }.get(sent.kind)
    if missing is not None and (settled or sent.kind is Kind.PLAIN):
        missing.append(f"{label}, which was acknowledged for {sent.place or sent.log_offset}")
        ledger.reported.add(sent.name)


def _judge_order(verdict: Verdict, ledger: Ledger, reading: Reading) -> None:
    last: dict[tuple[str, int, str], int] = {}
    for found in sorted(reading.found, key=lambda one: one.place):
        sent = ledger.sent.get(found.name)
        if sent is None or sent.kind is not Kind.PLAIN:
            continue
        if ledger.state_of(sent) is not TopicState.ALIVE:
            continue
        row = (found.place.topic, found.place.queue_id, sent.sender)
        if sent.number < last.get(row, -1):
            verdict.disordered.append(f"{sent.name.decode()} behind {last[row]}")
        last[row] = max(sent.number, last.get(row, -1))


def _judge_seen(verdict: Verdict, ledger: Ledger, reading: Reading) -> None:
    """Compare what was read before with what is read now, and note the latter."""
    now = {found.place: (found.name, found.log_offset) for found in reading.found}
    for place, (name, log_offset) in ledger.seen.items():
        sent = ledger.sent.get(name)
        if sent is not None and ledger.state_of(sent) is not TopicState.ALIVE:
            continue
        if log_offset < reading.log_min:
            continue
        if now.get(place) != (name, log_offset) and name not in ledger.reported:
            verdict.changed.append(f"{name!r} at {place} is now {now.get(place)}")
    ledger.seen = now


def _judge_commits(
    verdict: Verdict, ledger: Ledger, committed: Mapping[GroupQueue, int | None], killed_s: float
) -> None:
    for key, now in committed.items():
        commits = ledger.commits[key]
        written = [at for time_s, at in commits.answered if time_s < killed_s - COMMIT_GRACE_S]
        low, value = max(commits.kept, *written, 0), now or 0
        if value < low:
            verdict.offsets_back.append(f"{key} at {value}, {low} was written")
        if value > commits.highest:
            verdict.offsets_ahead.append(f"{key} at {value}, {commits.highest} is the highest")
        commits.kept, commits.answered = value, []
