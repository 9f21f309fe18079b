"""Rounds of checks over half messages, and what a crash leaves of them."""

import random

import pytest

from mqserver.broker.transaction.half_messages import check_times
from mqserver.broker.transaction.transaction_checks import STEP_COUNT_MAX
from mqserver.runtime.request import RequestRefused
from mqserver.store.results import PutMessage
from mqserver.store.store_errors import StoreFull
from remoting.codes import ResponseCode
from storefmt.names import CHECK_MAX_TIME_TOPIC, HALF_TOPIC
from tests import soak
from tests.server.broker.transaction.transactions import HOST, START_MS, TIMEOUT_MS, World

TIMES = "TRANSACTION_CHECK_TIMES"
IMMUNITY = "CHECK_IMMUNITY_TIME_IN_SECONDS"


def with_old_message() -> World:
    """Return a world with a half message of which the producer is asked by now."""
    world = World()
    world.send("k")
    world.now_ms += TIMEOUT_MS
    return world


def test_young_message_waits_and_an_old_one_is_written_again_and_asked() -> None:
    world = World()
    at = world.send("k")

    young = world.round()
    world.now_ms += TIMEOUT_MS
    old = world.round()

    assert young == {}
    assert list(old) == ["k"]
    copy = world.half(old["k"][0])
    assert (copy.topic, copy.queue_offset) == (HALF_TOPIC, 1)
    assert check_times(copy.properties) == 1
    assert world.half(at).properties == {
        name: value for name, value in copy.properties.items() if name != TIMES
    }
    assert world.progress() == (1, 0)


def test_decided_messages_are_passed_in_any_order() -> None:
    world = World()
    at = [world.send(f"k{number}") for number in range(5)]
    world.settle()
    for number in (3, 0, 1):
        world.decide(at[number], commit=number != 0)
    world.now_ms += TIMEOUT_MS

    asked = world.round()

    assert list(asked) == ["k2", "k4"]
    assert world.delivered() == ["k3", "k1"]
    assert world.progress() == (5, 3)


def test_op_of_a_message_that_is_not_reached_holds_the_op_progress() -> None:
    world = World()
    first = world.send("old")
    world.settle()
    world.now_ms += TIMEOUT_MS
    world.send("young")
    late = world.send("younger")
    world.settle()
    world.decide(late, commit=True)
    world.decide(first, commit=True)

    assert world.round() == {}
    assert world.progress() == (1, 0)

    world.now_ms += TIMEOUT_MS
    assert list(world.round()) == ["young"]
    assert world.progress() == (3, 2)


def test_second_decision_of_a_message_does_not_hold_the_op_progress() -> None:
    world = World()
    at = world.send("k")
    world.settle()
    world.decide(at, commit=True)
    world.decide(at, commit=True)

    world.round()

    assert world.progress() == (1, 2)


def test_message_is_asked_as_often_as_allowed_and_then_given_up() -> None:
    world = World(check_max=3)
    world.send("k", TAGS="a")
    asked = []

    for _ in range(6):
        world.now_ms += TIMEOUT_MS
        asked.append(list(world.round()))

    assert asked == [["k"], ["k"], ["k"], [], [], []]
    (end,) = world.read(CHECK_MAX_TIME_TOPIC)
    assert check_times(end.properties) == 3
    assert (end.queue_id, end.tags, end.body) == (0, "a", b"k")
    assert world.progress() == (4, 3)
    assert world.context.topics.get(CHECK_MAX_TIME_TOPIC) is not None


def test_message_older_than_the_log_keeps_is_given_up_and_the_look_counts() -> None:
    world = World(reserved_ms=10_000)
    world.send("k")
    world.now_ms += 10_001

    assert world.round() == {}
    (end,) = world.read(CHECK_MAX_TIME_TOPIC)
    assert check_times(end.properties) == 1


def test_immune_message_is_copied_and_not_asked_and_a_late_decision_ends_it() -> None:
    world = World()
    at = world.send("k", **{IMMUNITY: "60"})
    world.now_ms += TIMEOUT_MS
    first, second = world.round(), world.round()
    world.decide(at, commit=True)

    third = world.round()
    world.now_ms += 60_000

    assert first == second == third == world.round() == {}
    copies = world.read(HALF_TOPIC)[1:]
    assert [copy.properties["TRAN_PREPARED_QUEUE_OFFSET"] for copy in copies] == ["0", "0"]
    assert world.progress() == (3, 1)


def test_immune_message_is_asked_when_its_time_is_over() -> None:
    world = World()
    world.send("k", **{IMMUNITY: "60"})
    world.round()
    world.now_ms += 60_000

    assert list(world.round()) == ["k"]


@pytest.mark.parametrize("check_max", [1, 3])
def test_rounds_within_the_immunity_time_do_not_count_as_questions(check_max: int) -> None:
    world = World(check_max=check_max)
    world.send("k", **{IMMUNITY: "60"})
    for _ in range(5):
        assert world.round() == {}
    world.now_ms += 60_000

    asked = [list(world.round()) for _ in range(check_max + 1)]

    assert asked == [["k"]] * check_max + [[]]
    (end,) = world.read(CHECK_MAX_TIME_TOPIC)
    assert check_times(end.properties) == check_max


def test_rounds_without_a_producer_do_not_count_and_its_late_decision_ends_them() -> None:
    world = World(check_max=2, has_producer=False)
    world.send("asked"), world.send("decided")
    world.settle()
    at = world.read(HALF_TOPIC)[1].log_offset
    world.now_ms += TIMEOUT_MS
    for _ in range(5):
        assert world.round() == {}
    world.decide(at, commit=True)
    world.has_producer = True

    asked = [list(world.round()) for _ in range(3)]

    assert asked == [["asked"], ["asked"], []]
    assert world.delivered() == ["decided"]
    assert len(world.read(CHECK_MAX_TIME_TOPIC)) == 1


def test_message_without_a_producer_is_given_up_when_the_log_would_delete_it() -> None:
    world = World(has_producer=False, reserved_ms=100_000)
    world.send("k")
    world.now_ms += TIMEOUT_MS
    world.round()
    world.now_ms += 100_000

    assert world.round() == {}
    assert len(world.read(CHECK_MAX_TIME_TOPIC)) == 1


@pytest.mark.parametrize("has_producer", [False, True])
def test_decision_for_a_copy_counts_after_a_start(has_producer: bool) -> None:
    """What was copied and not asked about is known from its copies alone after a start."""
    world = World(has_producer=has_producer)
    at = world.send("k", **{IMMUNITY: "60"})
    world.now_ms += TIMEOUT_MS
    world.round()
    world.save()
    world.restart()
    world.decide(at, commit=True)
    world.send("young")
    world.has_producer = True
    world.now_ms += 60_000

    assert list(world.round()) == ["young"]
    assert world.delivered() == ["k"]
    world.now_ms += TIMEOUT_MS
    world.round()
    assert world.progress()[1] == world.store.max_offset("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0) - 1


def test_decision_in_the_round_after_the_immunity_time_is_not_asked_about() -> None:
    world = World()
    at = world.send("k", **{IMMUNITY: "60"})
    world.now_ms += TIMEOUT_MS
    world.round()
    world.decide(at, commit=True)
    world.now_ms += 60_000

    assert world.round() == {}
    assert world.delivered() == ["k"]


def test_record_that_is_no_half_message_is_left_out() -> None:
    world = World()
    message = PutMessage(
        topic=HALF_TOPIC,
        topic_bytes=HALF_TOPIC.encode(),
        queue_id=0,
        body=b"x",
        properties=b"",
        born_ms=START_MS,
        born_host=HOST,
        store_host=HOST,
    )
    world.store.put(message, world.now_ms)
    world.send("k")
    world.now_ms += TIMEOUT_MS

    assert list(world.round()) == ["k"]


def test_round_works_in_steps_of_bounded_size() -> None:
    world = World()
    count = STEP_COUNT_MAX + 10
    at = [world.send(f"k{number}") for number in range(count)]
    world.settle()
    for log_offset in at[:-1]:
        world.decide(log_offset, commit=False)
    world.flush()
    assert world.begin()

    steps = 1
    while world.step():
        steps += 1
    world.flush()

    assert 2 <= steps <= 4
    assert world.progress() == (count - 1, count - 1)


def test_progress_waits_until_the_copy_is_on_the_disk() -> None:
    world = with_old_message()
    world.flush()
    world.begin()
    world.step()

    world.checks.settle()
    before, again = world.progress(), world.begin()
    world.flush()

    assert before == (-1, -1)
    assert not again
    assert world.progress() == (1, 0)


def test_refused_copy_ends_the_round_and_the_next_one_tries_again() -> None:
    world = with_old_message()
    world.flush()
    world.refusal = RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, "disk full")

    assert world.round() == {}
    world.refusal = None

    assert list(world.round()) == ["k"]


def test_copy_that_was_not_written_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = with_old_message()
    world.flush()
    world.begin()
    world.checks.step(world.now_ms)

    def full(now_ms: int) -> None:
        world.store.appender.undo()
        raise StoreFull("no space")

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "write", full)
        world.settle()

    assert world.asked() == {}
    assert list(world.round()) == ["k"]
    assert len(world.read(HALF_TOPIC)) == 2


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("is_cut", [False, True], ids=["kill", "power cut"])
@pytest.mark.parametrize("answered", [False, True])
def test_stop_after_a_round_asks_once_about_each_transaction(
    is_cut: bool, answered: bool, *, sync: bool
) -> None:
    """The progress of the rounds was not saved, and the log has both originals and copies."""
    world = World(sync=sync)
    for number in range(3):
        world.send(f"k{number}")
    for _ in range(3):
        world.now_ms += TIMEOUT_MS
        asked = world.round()
    if answered:
        world.decide(asked["k1"][0], commit=True)
        world.flush()
    if is_cut:
        world.power_cut(1)
    else:
        world.restart()
    world.now_ms += TIMEOUT_MS

    again = world.round()

    assert {key: len(places) for key, places in again.items()} == dict.fromkeys(
        ("k0", "k2") if answered else ("k0", "k1", "k2"), 1
    )


def test_progress_after_the_end_of_a_queue_goes_on_at_its_end() -> None:
    world = World()
    world.send("old")
    world.flush()
    world.offsets.commit("CID_RMQ_SYS_TRANS", HALF_TOPIC, queue_id=0, queue_offset=9)
    world.round()
    world.send("new")
    world.now_ms += TIMEOUT_MS

    assert list(world.round()) == ["new"]


class Story:
    """Producers that have made up their minds, and a broker that stops again and again."""

    def __init__(self, seed: int, *, sync: bool) -> None:
        self.chance = random.Random(seed)
        self.world = World(sync=sync, check_max=10_000)
        self.minds: dict[str, bool | None] = {}
        """key -> commit, roll back, or never anything."""
        self.sure: set[str] = set()
        """Keys whose half message is on the disk."""
        self.unsure: list[str] = []

    def act(self) -> None:
        """Do one random thing."""
        world, chance = self.world, self.chance
        world.now_ms += chance.randrange(3_000)
        thing = chance.randrange(8)
        if thing <= 2:
            key = f"k{len(self.minds)}"
            self.minds[key] = chance.choice([True, False, None])
            at = world.send(key)
            self.unsure.append(key)
            if chance.random() < 0.5:
                world.settle()
                self.answer(key, at)
        elif thing == 3:
            self.flush()
        elif thing == 4:
            world.save()
        elif thing == 5 and world.begin():
            while world.step() and chance.random() < 0.7:
                pass
            self.answer_some()
        elif thing == 6:
            world.step()
            self.answer_some()
        else:
            world.settle()

    def flush(self) -> None:
        self.world.flush()
        self.sure.update(self.unsure)
        self.unsure.clear()

    def answer(self, key: str, *log_offsets: int) -> None:
        mind = self.minds[key]
        if mind is not None:
            for log_offset in log_offsets:
                self.world.decide(log_offset, commit=mind)

    def answer_some(self) -> None:
        for key, log_offsets in self.world.asked().items():
            if self.chance.random() < 0.7:
                self.answer(key, *log_offsets)

    def stop(self, seed: int) -> None:
        """Lose the power, or only the process."""
        if self.chance.random() < 0.5:
            self.world.power_cut(seed)
        else:
            self.world.restart()
        self.unsure.clear()

    def first_round(self) -> dict[str, list[int]]:
        """Run the first round after a start; every half message is old enough."""
        self.world.now_ms += TIMEOUT_MS
        return self.world.round()


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_no_stop_loses_a_transaction(seed: int, sync: bool) -> None:
    stop_and_look(seed, sync=sync)


@pytest.mark.soak
@pytest.mark.parametrize("sync", [False, True])
def test_no_stop_of_many_loses_a_transaction(sync: bool) -> None:
    for seed in soak.some(range(1_000, 1_500), minutes=1):
        stop_and_look(seed, sync=sync)


def stop_and_look(seed: int, *, sync: bool) -> None:
    """Stop a broker four times at random; nothing decided is lost, nobody open is forgotten."""
    story = Story(seed, sync=sync)

    for life in range(4):
        for _ in range(story.chance.randrange(5, 25)):
            story.act()
        story.stop(seed * 10 + life)
        asked = story.first_round()
        assert {key for key in story.sure if story.minds[key] is None} <= asked.keys()
        for key, log_offsets in asked.items():
            story.answer(key, *log_offsets)

    # The answers of the last round are on their way; then nobody has a question any more.
    for key, log_offsets in story.first_round().items():
        story.answer(key, *log_offsets)
    left = story.first_round()
    delivered = story.world.delivered()
    assert {key for key in story.sure if story.minds[key]} <= set(delivered)
    assert not [key for key in delivered if story.minds[key] is not True]
    assert not [key for key in left if story.minds[key] is not None]
