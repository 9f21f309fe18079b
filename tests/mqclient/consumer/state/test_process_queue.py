"""The messages of one process queue: their order, the offset to commit, taking and giving back."""

from hypothesis import given
from hypothesis import strategies as st

from mqclient.consumer.state.process_queue import NOTHING, ProcessQueue
from mqclient.message import MessageExt
from remoting.bodies import MessageQueue
from storefmt.formats.message import Record

QUEUE = MessageQueue("T", "broker-a", 0)


def message(queue_offset: int, *, body: bytes = b"0123456789") -> MessageExt:
    record = Record(100, 0, 0, 0, 0, queue_offset, 0, 0, 0, b"", 0, b"", 0, 0, body, "T", b"")
    return MessageExt(record, "broker-a")


def held(*queue_offsets: int) -> ProcessQueue:
    queue = ProcessQueue(QUEUE, next_offset=0, now_ms=0)
    queue.put_messages(message(queue_offset) for queue_offset in queue_offsets)
    return queue


def test_position_is_the_lowest_message_not_done() -> None:
    queue = held(5, 6, 7, 8)

    assert queue.remove([message(6), message(8)], now_ms=1) == 5
    assert queue.remove([message(5)], now_ms=2) == 7
    assert queue.remove([message(7)], now_ms=3) == 9
    assert queue.remove([message(7)], now_ms=4) == NOTHING


def test_count_and_size_follow_what_is_held() -> None:
    queue = held(1, 2, 3)

    assert (queue.count, queue.size, queue.span) == (3, 30, 2)
    queue.remove([message(1)], now_ms=1)
    assert (queue.count, queue.size, queue.span) == (2, 20, 1)
    queue.clear()
    assert (queue.count, queue.size, queue.span) == (0, 0, 0)


def test_a_message_pulled_twice_is_held_once() -> None:
    queue = held(1, 2)

    new = queue.put_messages([message(2), message(3)])

    assert [each.queue_offset for each in new] == [3]
    assert queue.count == 3


def test_what_is_given_back_comes_first_again() -> None:
    queue = held(1, 2, 3, 4)
    taken = queue.take_messages(2, now_ms=1)

    queue.give_back(taken)

    assert [each.queue_offset for each in queue.take_messages(9, now_ms=2)] == [1, 2, 3, 4]
    assert queue.commit() == 5
    assert queue.count == 0


def test_dropped_message_is_passed_by_the_next_commit() -> None:
    queue = held(1, 2, 3)
    first, second = queue.take_messages(2, now_ms=1)

    queue.drop([first])
    queue.give_back([second])

    assert [each.queue_offset for each in queue.take_messages(9, now_ms=2)] == [2, 3]
    assert queue.commit() == 4


def test_only_started_messages_at_the_front_expire() -> None:
    queue = held(1, 2, 3)
    queue.started([message(1), message(3)], now_ms=0)

    assert [each.queue_offset for each in queue.expired(life_ms=10, now_ms=11)] == [1]
    assert queue.expired(life_ms=10, now_ms=10) == []


def test_lock_and_pull_grow_old() -> None:
    queue = held()

    assert not queue.lock_expired(30_000)
    assert queue.lock_expired(30_001)
    assert not queue.pull_expired(120_000)
    assert queue.pull_expired(120_001)


@given(
    st.lists(st.integers(0, 40), unique=True, min_size=1),
    st.randoms(use_true_random=False),
)
def test_position_never_passes_a_message_that_is_held(queue_offsets: list[int], rng) -> None:
    queue = held(*queue_offsets)
    left = set(queue_offsets)
    order = list(queue_offsets)
    rng.shuffle(order)

    for queue_offset in order:
        position = queue.remove([message(queue_offset)], now_ms=1)
        left.discard(queue_offset)
        assert position == (min(left) if left else max(queue_offsets) + 1)


@given(
    st.lists(st.integers(0, 30), unique=True, min_size=1),
    st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=30),
)
def test_orderly_never_reorders(queue_offsets: list[int], steps: list[tuple[int, bool]]) -> None:
    queue = held(*sorted(queue_offsets))
    done: list[int] = []

    for count, succeeds in steps:
        batch = queue.take_messages(count, now_ms=1)
        if succeeds:
            done += [each.queue_offset for each in batch]
            assert queue.commit() == (done[-1] + 1 if batch else NOTHING)
        else:
            queue.give_back(batch)

    assert done == sorted(queue_offsets)[: len(done)]
