"""Periodic services run on time, survive their own errors and stop."""

import asyncio
import logging

from mqserver.runtime.periodic import Services
from tests.server.doubles import FakeClock


class Sleeps:
    """A sleep that is recorded and returns at once, ``count_max`` times."""

    def __init__(self, count_max: int) -> None:
        self.asked_s: list[float] = []
        self.left = count_max
        self.done = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked_s.append(seconds)
        if self.left == 0:
            self.done.set()
            await asyncio.Event().wait()
        self.left -= 1


def run(action, *, turns: int, clock: FakeClock | None = None, **options) -> Sleeps:
    async def scenario() -> Sleeps:
        sleeps = Sleeps(turns)
        services = Services(clock or FakeClock(5_000), sleep=sleeps)
        services.every(2_000, action, name="test", **options)
        services.start()
        await sleeps.done.wait()
        await services.stop()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return sleeps

    return asyncio.run(scenario())


def test_a_service_runs_after_each_interval_with_the_time() -> None:
    seen: list[int] = []

    sleeps = run(seen.append, turns=3)

    assert seen == [5_000] * 3
    assert sleeps.asked_s == [2.0] * 4


def test_the_first_run_may_come_earlier() -> None:
    sleeps = run(lambda now_ms: None, turns=2, first_ms=10)

    assert sleeps.asked_s == [0.01, 2.0, 2.0]


def test_an_error_is_logged_and_the_service_goes_on(caplog) -> None:
    runs = []

    def failing(now_ms: int) -> None:
        runs.append(now_ms)
        raise OSError("disk full")

    with caplog.at_level(logging.ERROR):
        run(failing, turns=2)

    assert len(runs) == 2
    assert "service test" in caplog.text


def test_the_same_error_is_logged_once_a_minute_and_another_one_at_once(caplog) -> None:
    clock = FakeClock(5_000)
    outcomes = iter(["full"] * 4 + ["gone", "gone", "", "gone"])

    def failing(now_ms: int) -> None:
        clock.ms += 25_000
        if text := next(outcomes):
            raise OSError(text)

    run(failing, turns=8, clock=clock)

    told = [str(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert told == ["full", "full", "gone", "gone"]


def test_a_coroutine_is_awaited() -> None:
    runs = []

    async def action(now_ms: int) -> None:
        await asyncio.sleep(0)
        runs.append(now_ms)

    run(action, turns=2)

    assert runs == [5_000, 5_000]


async def test_only_a_changed_interval_begins_its_wait_anew() -> None:
    interval_ms = {"changed": 60_000, "other": 60_000}

    asked_s: list[float] = []
    began = asyncio.Condition()

    async def sleep(seconds: float) -> None:
        asked_s.append(seconds)
        async with began:
            began.notify_all()
        await asyncio.Event().wait()

    services = Services(FakeClock(5_000), sleep=sleep)
    services.every(lambda: interval_ms["other"], print, name="other", first_ms=10)
    services.every(lambda: interval_ms["changed"], print, name="changed")
    services.start()
    async with began:
        await began.wait_for(lambda: len(asked_s) == 2)
    interval_ms["changed"] = 3_000
    services.intervals_changed()
    services.intervals_changed()
    async with began:
        await began.wait_for(lambda: len(asked_s) == 3)
    await services.stop()
    assert asked_s == [0.01, 60.0, 3.0]


async def test_an_interval_that_changes_during_a_run_counts_for_the_next_wait() -> None:
    interval_ms = 60_000
    runs: list[int] = []

    sleeps = Sleeps(2)
    services = Services(FakeClock(5_000), sleep=sleeps)

    def action(now_ms: int) -> None:
        nonlocal interval_ms
        interval_ms = 3_000
        services.intervals_changed()
        runs.append(now_ms)

    services.every(lambda: interval_ms, action, name="test")
    services.start()
    await sleeps.done.wait()
    await services.stop()
    assert sleeps.asked_s == [60.0, 3.0, 3.0]
    assert runs == [5_000] * 2


async def test_a_run_that_has_more_to_do_goes_on_in_the_next_passes_without_a_wait() -> None:
    clock, runs = FakeClock(5_000), []

    def action(now_ms: int) -> bool:
        runs.append(now_ms)
        clock.ms += 1
        return len(runs) < 3

    sleeps = Sleeps(1)
    services = Services(clock, sleep=sleeps)
    services.every(2_000, action, name="test")
    services.start()
    await sleeps.done.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    await services.stop()

    assert runs == [5_000, 5_001, 5_002]
    assert sleeps.asked_s == [2.0, 2.0]


async def test_a_service_is_woken_once_a_pass_and_only_while_the_services_run() -> None:
    runs: list[int] = []
    sleeps = Sleeps(0)
    services = Services(FakeClock(5_000), sleep=sleeps)
    wake = services.every(2_000, runs.append, name="test")

    wake()
    services.start()
    await sleeps.done.wait()
    assert runs == []
    wake()
    wake()
    await asyncio.sleep(0)
    assert runs == [5_000]
    wake()
    await services.stop()
    wake()
    await asyncio.sleep(0)
    assert runs == [5_000]


async def test_an_error_after_a_wake_is_logged_and_the_service_goes_on(caplog) -> None:
    def failing(now_ms: int) -> None:
        raise OSError("disk full")

    sleeps = Sleeps(0)
    services = Services(FakeClock(5_000), sleep=sleeps)
    wake = services.every(2_000, failing, name="test")
    services.start()
    await sleeps.done.wait()

    for _ in range(2):
        wake()
        await asyncio.sleep(0)
    await services.stop()

    assert [record.name for record in caplog.records] == ["mqserver.runtime.periodic"]
