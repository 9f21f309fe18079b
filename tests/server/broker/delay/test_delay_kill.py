"""Delayed messages on a broker that is killed again and again: none lost, early, or twice.

A scripted broker, 50 ms a step, on the simulated disk: it puts delayed messages, delivers,
flushes and saves its progress as the running one does. A kill loses what is in memory; a
power cut also what was not synced. In every other life somebody sets the wall clock forward
and back while the broker runs; early and late are told by the true time.
"""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mqserver.broker.delay import schedule
from mqserver.broker.delay.schedule import TURN_COUNT_MAX, DelayLevels, DelayService, redirect
from mqserver.runtime.clock import Times
from mqserver.store.results import DispatchEntry, PutMessage, PutResult, PutStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from remoting.codes import RequestCode, ResponseCode
from storefmt.config.tables import DelayOffsets
from storefmt.names import SCHEDULE_TOPIC
from tests.server.broker.contexts import context_of, puts_of
from tests.server.broker.desk import TOPIC, Desk
from tests.server.doubles import FakeClock
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import (
    START_MS,
    abandon,
    bodies,
    flush,
    message,
    small_config,
    step_up,
)
from tests.waiting import until

LEVELS = DelayLevels([1_000, 3_000])
STEP_MS, FLUSH_MS, SAVE_MS = 50, 500, 200
RUN_MS = 12_000
SECOND_MS = 1_000
HOUR_MS = 3_600_000


class Delivery(NamedTuple):
    body: bytes
    at_ms: int


class Machine:
    """One broker's life after the other on one disk."""

    def __init__(self, *, sync: bool, seed: int) -> None:
        self.chance = random.Random(seed)
        self.disk = SimDisk()
        self.config: StoreConfig = small_config(Path("/store"), sync=sync, log_file_size=1 << 16)
        self.saved: DelayOffsets | None = None
        self.true_ms = START_MS
        self.ahead_ms = 0
        self.due_ms: dict[bytes, int] = {}
        self.accepted: dict[bytes, int] = {}
        self.delivered: list[Delivery] = []
        self.start()

    @property
    def now_ms(self) -> int:
        """What the wall clock says."""
        return self.true_ms + self.ahead_ms

    @property
    def times(self) -> Times:
        return Times(self.now_ms, self.true_ms)

    def start(self) -> None:
        self.ahead_ms = 0
        self.store = MessageStore.open(self.config, now_ms=self.now_ms, disk=self.disk)
        self.unsafe: list[Callable[[ResponseCode], None]] = []
        self.service = self.service_of(LEVELS, self.saved, self.times)
        self.store.dispatched.add(self._dispatched)
        # A running broker makes the file when there is none, and saves it in its first round.
        self.saved = self.saved or self.service.durable_offsets()
        self.change_count = -1

    def service_of(
        self, levels: DelayLevels, stored: DelayOffsets | None, times: Times
    ) -> DelayService:
        clock = FakeClock(times.steady_ms)
        clock.jump(times.now_ms - times.steady_ms)
        return DelayService(
            context_of(self.store, clock=clock),
            puts_of(self._put, self.unsafe.append),
            levels=levels,
            stored=stored,
        )

    def _put(self, one: PutMessage, now_ms: int) -> PutResult:
        result = self.store.put(one, now_ms)
        assert result.status is PutStatus.PUT_OK
        self.delivered.append(Delivery(one.body, self.true_ms))
        return result

    def _dispatched(self, entries: list[DispatchEntry]) -> None:
        for entry in entries:
            if entry.topic == SCHEDULE_TOPIC:
                self.service.arrived(
                    entry.queue_id, entry.queue_offset, store_ms=entry.store_ms, times=self.times
                )

    def send(self, number: int) -> None:
        level = number % 2 + 1
        body = b"%d" % number
        one = message(number, queue_id=0, body=body)
        delay_ms = LEVELS.delay_ms(level)
        named = {"DELAY": str(level)}
        redirect(one, named, level=level, delay_ms=delay_ms, now_ms=self.now_ms)
        self.store.put(one, self.now_ms)
        self.due_ms[body] = self.true_ms + delay_ms
        self.accepted[body] = self.true_ms

    def step(self) -> None:
        """Go on by 50 ms: what the timers of a broker do in that time."""
        self.true_ms += STEP_MS
        self.service.deliver(self.times)
        self.store.write(self.now_ms)
        if self.config.is_sync_flush or self.true_ms % FLUSH_MS == 0:
            flush(self.store)
        safe, self.unsafe[:] = list(self.unsafe), []
        for done in safe:
            done(ResponseCode.SUCCESS)
        step_up(self.store, self.now_ms)
        if self.true_ms % SAVE_MS == 0:
            self.service.settle()
            if self.service.change_count != self.change_count:
                self.change_count = self.service.change_count
                self.saved = self.service.durable_offsets()

    def kill(self, *, power_cut: bool) -> None:
        abandon(self.store)
        if power_cut:
            self.disk = self.disk.crash(self.chance.randrange(1 << 30))

    def stored(self) -> list[bytes]:
        """Return the bodies that consumers find, in order."""
        return bodies(self.store, "topic-a", 0)


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("power_cut", [False, True], ids=["kill", "power cut"])
def test_kills_lose_nothing_and_deliver_nothing_early_or_twice(
    *, sync: bool, power_cut: bool, seed: int
) -> None:
    machine = Machine(sync=sync, seed=seed)
    number = 0
    kills: list[int] = []
    end_ms = START_MS + RUN_MS
    while machine.true_ms < end_ms:
        if seed % 2 and machine.chance.random() < 0.05:
            machine.ahead_ms = machine.chance.choice([0, HOUR_MS, 30 * 24 * HOUR_MS])
        machine.send(number)
        number += 1
        machine.step()
        if machine.chance.random() < 0.02:
            kills.append(machine.true_ms)
            machine.kill(power_cut=power_cut)
            machine.true_ms += machine.chance.choice([0, 50, 2_000])
            machine.start()
    # What a power cut may lose with ASYNC_FLUSH is the last flush interval.
    loss_ms = FLUSH_MS if power_cut and not sync else -1
    for _ in range(4 * SECOND_MS // STEP_MS):
        machine.step()
    found = machine.stored()
    for body, at_ms in machine.accepted.items():
        excused = any(at_ms <= kill_ms <= at_ms + loss_ms for kill_ms in kills)
        assert body in found or excused, body
    early = [one for one in machine.delivered if one.at_ms < machine.due_ms[one.body]]
    assert early == []
    assert len(set(found)) == len(found)
    machine.kill(power_cut=False)


def test_levels_that_went_away_keep_their_messages_and_deliver_them_when_they_are_back() -> None:
    machine = Machine(sync=False, seed=0)
    machine.send(1)
    machine.send(0)
    machine.step()

    fewer = machine.service_of(DelayLevels([1_000]), None, machine.times)
    machine.true_ms = START_MS + 60_000
    fewer.deliver(machine.times)
    again = [one.body for one in machine.delivered]
    more = machine.service_of(LEVELS, DelayOffsets({1: 1}), Times(machine.now_ms, 60_000))
    more.deliver(Times(machine.now_ms, 60_000))

    assert fewer.stranded() == {2: 1}
    assert more.stranded() == {}
    assert again == [b"0"]
    assert [one.body for one in machine.delivered] == [b"0", b"1"]
    machine.kill(power_cut=False)


async def test_backlog_is_delivered_at_once_and_clients_are_answered_meanwhile(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 20 * TURN_COUNT_MAX
    # Only the first look is the timer's.
    monkeypatch.setattr(schedule, "DELIVER_MS", 1 << 40)

    await desk.create_topic()
    broker = desk.app.broker
    put_ms = broker.clock.now_ms() - 60_000
    for number in range(count):
        one = message(number, topic=TOPIC, queue_id=0)
        redirect(one, {"DELAY": "1"}, level=1, delay_ms=1_000, now_ms=put_ms)
        broker.store.put(one, put_ms)
    broker.group_commit.commit()
    await until(lambda: not broker.group_commit.is_writing)
    broker.delay._wake()
    await asyncio.sleep(0)
    await desk.ask(RequestCode.GET_BROKER_RUNTIME_INFO)

    assert broker.store.max_offset(TOPIC, 0) < count
    await until(lambda: broker.store.max_offset(TOPIC, 0) == count)
    assert len(await desk.messages()) == count
