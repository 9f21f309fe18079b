"""What the load asked of the broker, and what the broker promised in return.

    send ── acknowledged ──> OK         has to be readable at its place
         ── refused ───────> FAIL       must never be readable
         ── no answer ─────> UNKNOWN    either

Rule: every message carries its own name at the start of its body, and is noted here before it
is sent. Times are those of the wall clock in ms, which the broker shares, or monotonic seconds.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

END_OF_NAME: Final = b"|"


class Outcome(Enum):
    """How a send ended."""

    OK = "acknowledged"
    FAIL = "refused"
    UNKNOWN = "not answered"


class Kind(Enum):
    """What is promised for a message that was acknowledged."""

    PLAIN = "it is readable at once, and once only"
    DELAYED = "it is readable when its time has come"
    COMMITTED = "it is readable when the transaction was ended or asked for"
    ROLLED_BACK = "it is never readable"


class TopicState(Enum):
    """What became of one creation of a topic."""

    ALIVE = "nobody asked to delete it"
    DOUBTFUL = "its deletion was asked for and not answered"
    DELETED = "its deletion was acknowledged"


class Place(NamedTuple):
    """Where a message is in the queues."""

    topic: str
    queue_id: int
    queue_offset: int


@dataclass(slots=True)
class Sent:
    """One message of the load.

    Attributes:
        sender: who sent it; the messages of one sender are in order in each queue.
        number: rises with each message of a sender.
        creation: which creation of its topic it was sent to.
        log_offset: of the record that was acknowledged: the half message or the delayed one
            where it is such a one; -1 where there was no answer.
        place: where it has to be, None where the answer cannot tell.
    """

    name: bytes
    topic: str
    kind: Kind
    sender: str
    number: int
    started_ms: int
    delay_ms: int = 0
    creation: int = 0
    outcome: Outcome = Outcome.UNKNOWN
    log_offset: int = -1
    place: Place | None = None


class GroupQueue(NamedTuple):
    """A queue as one consumer group sees it."""

    group: str
    topic: str
    queue_id: int


@dataclass(slots=True)
class Commits:
    """What a group committed in one queue.

    Attributes:
        kept: what the broker gave back after its last start.
        highest: the highest queue offset that was ever sent to the broker.
        answered: monotonic seconds and queue offset of each acknowledged commit since then.
    """

    kept: int = 0
    highest: int = 0
    answered: list[tuple[float, int]] = field(default_factory=list)


@dataclass
class Ledger:
    """All that happened since the first start of the broker."""

    sent: dict[bytes, Sent] = field(default_factory=dict)
    commits: dict[GroupQueue, Commits] = field(default_factory=dict)
    seen: dict[Place, tuple[bytes, int]] = field(default_factory=dict)
    """Name and log offset of what anybody has read; it has to stay there."""
    topics: dict[str, list[TopicState]] = field(default_factory=dict)
    """Each creation of each topic that is looked at."""
    reported: set[bytes] = field(default_factory=set)
    """Names of what is lost: it is counted once, and nobody waits for it."""
    told: set[str] = field(default_factory=set)
    """Faults that were counted already."""
    repeated: set[bytes] = field(default_factory=set)
    """Delayed messages and transactions that were delivered more than once."""
    delivered: set[bytes] = field(default_factory=set)
    """Delayed messages and transactions that were delivered."""
    expired: Counter[Kind] = field(default_factory=Counter)
    """Acknowledged messages that nobody looks at any more: retention may delete them."""
    recovered: set[bytes] = field(default_factory=set)
    """What was sent without an answer, and is there."""

    def created(self, topic: str) -> int:
        """Note that a topic is created, and return the number of this creation."""
        self.topics.setdefault(topic, []).append(TopicState.ALIVE)
        return len(self.topics[topic]) - 1

    def send(self, topic: str, kind: Kind, sender: str, number: int, *, delay_ms: int = 0) -> Sent:
        """Note a message that is sent now."""
        if topic not in self.topics:
            self.created(topic)
        name = f"{sender}-{number}".encode()
        creation = len(self.topics[topic]) - 1
        sent = Sent(
            name, topic, kind, sender, number, now_ms(), delay_ms=delay_ms, creation=creation
        )
        self.sent[name] = sent
        return sent

    def state_of(self, sent: Sent) -> TopicState:
        """Return what became of the topic to which a message was sent."""
        states = self.topics.get(sent.topic)
        return states[sent.creation] if states else TopicState.DELETED

    def read(self, place: Place, body: bytes, log_offset: int) -> None:
        """Note what a consumer was given."""
        self.seen.setdefault(place, (name_of(body), log_offset))

    def forget(self, topic: str) -> None:
        """Forget a topic and its messages."""
        self.topics.pop(topic, None)
        for one in [one for one in self.sent.values() if one.topic == topic]:
            self.expired[one.kind] += one.outcome is Outcome.OK
            del self.sent[one.name]
        self.seen = {place: one for place, one in self.seen.items() if place.topic != topic}

    def forget_expired(self, log_min: int, found: set[bytes]) -> None:
        """Forget messages that retention has deleted.

        Args:
            found: names of what can be read.
        """
        expired = [
            one
            for one in self.sent.values()
            if one.outcome is Outcome.OK and one.log_offset < log_min and one.name not in found
        ]
        for one in expired:
            self.expired[one.kind] += 1
            del self.sent[one.name]

    def awaited(self, log_min: int) -> set[bytes]:
        """Return the names of what is delayed or decided and was not delivered yet."""
        return {
            one.name
            for one in self.sent.values()
            if one.kind in (Kind.DELAYED, Kind.COMMITTED)
            and one.outcome is Outcome.OK
            and one.log_offset >= log_min
            and one.name not in self.delivered
            and one.name not in self.reported
        }


def name_of(body: bytes) -> bytes:
    """Return the name of a message."""
    return body.partition(END_OF_NAME)[0]


def now_ms() -> int:
    """Return the wall clock."""
    return time.time_ns() // 1_000_000
