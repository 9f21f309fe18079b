"""Ranges, tasks and limits of the live source; no broker, no Spark."""

import pytest

from mqspark.errors import DataLost
from mqspark.sources.live.plan import (
    Ends,
    Range,
    Task,
    batch_end,
    next_positions,
    ranges_of,
    tasks_of,
)
from remoting.bodies import MessageQueue
from tests.work import lines_of

A, B, C = (MessageQueue("T", "broker-a", number) for number in range(3))


def test_queues_with_nothing_to_read_make_no_range() -> None:
    assert ranges_of({A: 1, B: 5}, {A: 4, B: 5, C: 9}) == [Range(A, 1, 4)]


def test_small_ranges_share_a_task_in_order() -> None:
    ranges = [Range(A, 0, 9_000), Range(B, 0, 1_000), Range(C, 0, 1)]

    tasks = tasks_of(ranges)

    assert tasks == [tuple(ranges[:2]), tuple(ranges[2:])]


def test_a_large_range_is_cut_where_that_is_asked_for() -> None:
    ranges = [Range(A, 10, 110), Range(B, 0, 20)]

    for options in ({"min_partitions": 6}, {"max_records": 20}):
        tasks = tasks_of(ranges, **options)
        parts = [part for task in tasks for part in task]
        assert len(tasks) == 6
        assert all(part.end - part.start <= 20 for part in parts)
        assert [part.start for part in parts if part.queue == A] == [10, 30, 50, 70, 90]
        assert sum(part.end - part.start for part in parts) == 120


def test_fifty_thousand_queues_share_few_tasks() -> None:
    queues = [MessageQueue(f"T{n % 500}", "broker-a", n // 500) for n in range(50_000)]

    tasks = tasks_of(ranges_of(dict.fromkeys(queues, 0), dict.fromkeys(queues, 100)))

    assert len(tasks) == 500
    assert sum(len(task) for task in tasks) == 50_000


def test_the_work_of_planning_grows_with_the_queues() -> None:
    def plan(queue_count: int) -> list[Task]:
        queues = [MessageQueue(f"T{n % 500}", "broker-a", n // 500) for n in range(queue_count)]
        return tasks_of(ranges_of(dict.fromkeys(queues, 0), dict.fromkeys(queues, 100)))

    assert lines_of(lambda: plan(10_000)) < 12 * lines_of(lambda: plan(1_000))


def test_a_limit_is_shared_out_by_backlog_and_leaves_nobody_out() -> None:
    start = {A: 0, B: 100, C: 7}
    end = {A: 900, B: 200, C: 8}

    reached = batch_end(start, end, max_offsets=100)

    assert reached == {A: 89, B: 109, C: 8}
    assert batch_end(start, end, max_offsets=None) == end
    assert batch_end(start, end, max_offsets=5_000) == end


def test_a_limit_of_bytes_counts_as_one_of_offsets() -> None:
    start, end = {A: 0, B: 0, C: 5}, {A: 100, B: 300, C: 5}
    sizes = {A: 1_000, B: 100}

    assert batch_end(start, end, max_offsets=None, max_bytes=13_000, sizes=sizes) == {
        A: 10,
        B: 30,
        C: 5,
    }
    assert batch_end(start, end, max_offsets=None, max_bytes=130_000, sizes=sizes) == end
    both = batch_end(start, end, max_offsets=20, max_bytes=13_000, sizes=sizes)
    assert both == batch_end(start, end, max_offsets=20)
    assert batch_end(start, end, max_offsets=None, max_bytes=1, sizes=sizes) == {A: 1, B: 1, C: 5}


def test_batches_under_a_limit_end_at_the_goal() -> None:
    at, end, turns = {A: 0, B: 0}, {A: 1_000, B: 3}, 0
    while at != end:
        at = batch_end(at, end, max_offsets=100)
        turns += 1

    assert 10 <= turns <= 13


def test_a_new_queue_enters_with_its_first_offset() -> None:
    reached = next_positions({A: 5}, {A: Ends(0, 9), B: Ends(3, 8)}, fail_on_loss=True)

    assert reached == {A: 9, B: 3}


def test_a_queue_that_is_gone_or_shorter_is_told() -> None:
    with pytest.raises(DataLost, match="T@broker-a@0 is not there"):
        next_positions({A: 5}, {}, fail_on_loss=True)
    with pytest.raises(DataLost, match="read up to 5 and ends at 2 now"):
        next_positions({A: 5}, {A: Ends(0, 2)}, fail_on_loss=True)

    assert next_positions({A: 5}, {}, fail_on_loss=False) == {A: 5}
    assert next_positions({A: 5}, {A: Ends(1, 2)}, fail_on_loss=False) == {A: 1}
