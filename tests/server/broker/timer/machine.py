"""A scripted broker with timer messages, 50 ms a step, one life after the other on one disk.

It puts messages, runs the timer, flushes and saves its progress as the running one does. A kill
loses what is in memory; a power cut also what was not synced.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mqserver.broker.timer import service, timer_messages
from mqserver.broker.timer.service import TimerService
from mqserver.broker.timer.timer_messages import TimerRules
from mqserver.store.disk.disk import Disk
from mqserver.store.results import PutMessage, PutResult, PutStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from mqserver.store.timer import timer_files, wheel
from remoting.codes import ResponseCode
from storefmt.formats.properties import parse_properties
from storefmt.formats.timer import SLOT_SIZE
from tests.server.broker.contexts import context_of, puts_of
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

STEP_MS, FLUSH_MS = 50, 500
TICK_MS = 1_000
SMALL_SLOT_COUNT = 512


def shrink_wheel(patch: pytest.MonkeyPatch) -> None:
    """Make the wheel one of two rounds of 512 slots, because a simulated disk copies all of it."""
    size = 2 * SMALL_SLOT_COUNT * SLOT_SIZE
    patch.setattr(wheel, "WHEEL_SIZE", size)
    patch.setattr(wheel, "_ALL_SLOTS", 2 * SMALL_SLOT_COUNT)
    patch.setattr(timer_files, "WHEEL_SIZE", size)
    patch.setattr(service, "SLOT_COUNT", SMALL_SLOT_COUNT)
    patch.setattr(timer_messages, "SLOT_COUNT", SMALL_SLOT_COUNT)


class Machine:
    """One broker's life after the other."""

    def __init__(
        self,
        *,
        sync: bool = False,
        seed: int = 0,
        root: Path = Path("/store"),
        disk: Disk | None = None,
        **settings: object,
    ) -> None:
        self.chance = random.Random(seed)
        self.disk: Disk = disk or SimDisk()
        self.config: StoreConfig = small_config(root, sync=sync, log_file_size=1 << 16)
        self.config.mapped_file_size_timer_log = 52 * 20 + 40
        for name, value in settings.items():
            setattr(self.config, name, value)
        self.rules = TimerRules(self.config)
        self.now_ms = START_MS
        self.due_ms: dict[bytes, int] = {}
        self.accepted: dict[bytes, int] = {}
        self.delivered: list[tuple[bytes, int]] = []
        self.start()

    def start(self) -> None:
        self.store = MessageStore.open(self.config, now_ms=self.now_ms, disk=self.disk)
        self.unsafe: list[Callable[[ResponseCode], None]] = []
        self.timer = TimerService(
            context_of(self.store, config=self.config), puts_of(self._put, self.unsafe.append)
        )

    def _put(self, one: PutMessage, now_ms: int) -> PutResult:
        result = self.store.put(one, now_ms)
        assert result.status is PutStatus.PUT_OK
        if one.topic == "topic-a":
            self.delivered.append((bytes(one.body), self.now_ms))
        return result

    def send(
        self, number: int, *, delay_ms: int, topic: str = "topic-a", **properties: str
    ) -> str | None:
        """Put a timer message, and return its TIMER_OUT_MS."""
        one = message(number, topic=topic, queue_id=0, body=b"%d" % number)
        named = {**parse_properties(one.properties), "TIMER_DELAY_MS": str(delay_ms), **properties}
        out_ms = self.rules.apply(one, named, now_ms=self.now_ms)
        self.store.put(one, self.now_ms)
        if "TIMER_DEL_UNIQKEY" not in properties:
            self.due_ms[bytes(one.body)] = self.now_ms + delay_ms
            self.accepted[bytes(one.body)] = self.now_ms
        return out_ms

    def step(self, ms: int = STEP_MS) -> None:
        """Go on by 50 ms: what the timers of a broker do in that time."""
        self.now_ms += ms
        more = True
        while more or self.unsafe:
            more = self.timer.step(self.now_ms)
            self.store.write(self.now_ms)
            if self.config.is_sync_flush:
                flush(self.store)
            safe, self.unsafe[:] = list(self.unsafe), []
            for done in safe:
                done(ResponseCode.SUCCESS)
        if self.now_ms % FLUSH_MS == 0:
            flush(self.store)
        step_up(self.store, self.now_ms)
        job = self.timer.flush_job(self.now_ms)
        if job is not None:
            job.do_work()
            self.timer.end_flush(job)

    def run(self, ms: int) -> None:
        """Go on for some time."""
        for _ in range(ms // STEP_MS):
            self.step()

    def kill(self, *, power_cut: bool = False) -> None:
        abandon(self.store)
        if self.timer._files is not None:
            # What is collected in memory is lost; the descriptors are those of the process.
            self.timer.close()
        if power_cut:
            assert isinstance(self.disk, SimDisk)
            self.disk = self.disk.crash(self.chance.randrange(1 << 30))

    def stop(self) -> None:
        """Stop in order, as the broker does."""
        self.store.write(self.now_ms)
        flush(self.store)
        job = self.timer.flush_job(self.now_ms, at_end=True)
        if job is not None:
            job.do_work()
            self.timer.end_flush(job)
        self.timer.close()
        self.store.close(self.now_ms)

    def again(self) -> None:
        """Stop in order and start again."""
        self.stop()
        self.start()

    def stored(self) -> list[bytes]:
        """Return the bodies that consumers find, in order."""
        return bodies(self.store, "topic-a", 0)
