"""The checker finds each kind of fault, and none in a broker that keeps its promise."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.server.kills.checker import COMMIT_GRACE_S, TURN_MS, Found, Reading, Verdict, judge
from tests.server.kills.ledger import (
    Commits,
    GroupQueue,
    Kind,
    Ledger,
    Outcome,
    Place,
    Sent,
    TopicState,
)

TOPIC, GROUP = "T", GroupQueue("G", "T", 0)
KILLED_S = 100.0


class Scene(NamedTuple):
    """A broker that kept its promise: what it was asked, and what it serves."""

    ledger: Ledger
    reading: Reading

    def judge(self, *, settled: bool = True) -> dict[str, list[str]]:
        return judge(self.ledger, self.reading, killed_s=KILLED_S, settled=settled).faults()

    def drop(self, name: bytes) -> None:
        self.reading.found[:] = [one for one in self.reading.found if one.name != name]


def acknowledge(scene: Scene, kind: Kind, number: int, *, delay_ms: int = 0) -> Sent:
    """Send and acknowledge a message at queue offset and log offset ``number``."""
    sent = scene.ledger.send(TOPIC, kind, f"{kind.name}", number, delay_ms=delay_ms)
    sent.outcome, sent.log_offset = Outcome.OK, number
    if kind is Kind.PLAIN:
        sent.place = Place(TOPIC, 0, number)
    return sent


def serve(scene: Scene, sent: Sent, queue_offset: int, *, store_ms: int | None = None) -> None:
    """Let readers get a message."""
    due_ms = sent.started_ms + sent.delay_ms
    place = Place(TOPIC, 0, queue_offset)
    found = Found(sent.name, place, queue_offset, due_ms if store_ms is None else store_ms)
    scene.reading.found.append(found)


@pytest.fixture
def scene() -> Scene:
    made = Scene(Ledger(), Reading())
    for number in range(3):
        serve(made, acknowledge(made, Kind.PLAIN, number), number)
    serve(made, acknowledge(made, Kind.DELAYED, 3, delay_ms=1_000), 3)
    serve(made, acknowledge(made, Kind.COMMITTED, 4), 4)
    acknowledge(made, Kind.ROLLED_BACK, 5)
    made.ledger.commits[GROUP] = Commits(kept=1, highest=3, answered=[(KILLED_S - 1, 3)])
    made.reading.committed[GROUP] = 2
    return made


def test_broker_that_kept_its_promise_has_no_fault(scene: Scene) -> None:
    assert scene.judge() == {}


def move(scene: Scene) -> None:
    scene.drop(b"PLAIN-2")
    serve(scene, scene.ledger.sent[b"PLAIN-2"], 6)


def swap(scene: Scene) -> None:
    for name, queue_offset in ((b"PLAIN-0", 1), (b"PLAIN-1", 0)):
        scene.drop(name)
        scene.ledger.sent[name].place = Place(TOPIC, 0, queue_offset)
        serve(scene, scene.ledger.sent[name], queue_offset)


def deliver_early(scene: Scene) -> None:
    sent = scene.ledger.sent[b"DELAYED-3"]
    scene.drop(sent.name)
    serve(scene, sent, 3, store_ms=sent.started_ms + sent.delay_ms - TURN_MS - 1)


def commit_long_ago(scene: Scene) -> None:
    scene.ledger.commits[GROUP].answered.insert(0, (KILLED_S - COMMIT_GRACE_S - 1, 3))


NOWHERE = Place(TOPIC, 0, 6)
FAULTS: dict[str, tuple[Callable[[Scene], object], str]] = {
    "a message is gone": (lambda scene: scene.drop(b"PLAIN-1"), "lost"),
    "a message is elsewhere": (move, "moved"),
    "a message was never sent": (
        lambda scene: scene.reading.found.append(Found(b"nobody", NOWHERE, 6, 0)),
        "ghosts",
    ),
    "a message was refused": (
        lambda scene: setattr(scene.ledger.sent[b"PLAIN-1"], "outcome", Outcome.FAIL),
        "ghosts",
    ),
    "a message is there again": (
        lambda scene: serve(scene, scene.ledger.sent[b"PLAIN-2"], 6),
        "twice",
    ),
    "two messages are swapped": (swap, "disordered"),
    "a queue has a hole": (lambda scene: scene.reading.holes.append(NOWHERE), "holes"),
    "what was read has changed": (
        lambda scene: scene.ledger.seen.update({Place(TOPIC, 0, 9): (b"PLAIN-2", 9)}),
        "changed",
    ),
    "a committed message is gone": (lambda scene: scene.drop(b"COMMITTED-4"), "committed_lost"),
    "a rolled back message is there": (
        lambda scene: serve(scene, scene.ledger.sent[b"ROLLED_BACK-5"], 6),
        "rolled_back_seen",
    ),
    "a delayed message is gone": (lambda scene: scene.drop(b"DELAYED-3"), "delayed_lost"),
    "a delayed message came early": (deliver_early, "delayed_early"),
    "a group is behind what was kept": (
        lambda scene: scene.reading.committed.update({GROUP: None}),
        "offsets_back",
    ),
    "a group is behind what was written": (commit_long_ago, "offsets_back"),
    "a group is ahead": (lambda scene: scene.reading.committed.update({GROUP: 4}), "offsets_ahead"),
    "a deleted topic is there": (
        lambda scene: scene.ledger.topics.update({TOPIC: [TopicState.DELETED]}),
        "came_back",
    ),
}


@pytest.mark.parametrize(("break_it", "kind"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_found_and_told_once(
    scene: Scene, break_it: Callable[[Scene], None], kind: str
) -> None:
    break_it(scene)

    assert list(scene.judge()) == [kind]
    assert kind in Verdict.__annotations__
    assert kind not in scene.judge()


def test_message_below_the_logs_first_offset_is_not_lost(scene: Scene) -> None:
    scene.reading.log_min = 6
    scene.reading.found.clear()

    assert scene.judge() == {}


def test_message_of_a_topic_whose_deletion_was_not_answered_may_be_there_or_not(
    scene: Scene,
) -> None:
    scene.ledger.topics[TOPIC] = [TopicState.DOUBTFUL]
    scene.drop(b"PLAIN-1")

    assert scene.judge() == {}


def test_delayed_messages_and_transactions_have_time_until_all_is_settled(scene: Scene) -> None:
    scene.drop(b"DELAYED-3")
    scene.drop(b"COMMITTED-4")

    assert scene.judge(settled=False) == {}
    assert set(scene.judge()) == {"delayed_lost", "committed_lost"}


def test_delivery_that_vanishes_after_it_was_read_is_told_as_changed(scene: Scene) -> None:
    assert scene.judge() == {}

    scene.drop(b"COMMITTED-4")

    assert list(scene.judge()) == ["changed"]


def test_message_without_an_answer_may_be_there_or_not(scene: Scene) -> None:
    scene.ledger.send(TOPIC, Kind.PLAIN, "other", 0)
    serve(scene, scene.ledger.send(TOPIC, Kind.PLAIN, "other", 1), 6)

    assert scene.judge() == {}
    assert scene.ledger.recovered == {b"other-1"}
