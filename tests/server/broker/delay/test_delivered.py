"""What was delivered before a crash is found in the log, message for message.

A broker's life here is a run of turns on the simulated disk: put, deliver, write, flush, save.
It ends at each call that it makes of the disk, as a kill (the page cache stays) or as a power
cut; the next life delivers the rest.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from mqserver.broker.delay.schedule import TAIL_SIZE_MAX, DelayLevels, DelayService, redirect
from mqserver.runtime.clock import Times
from mqserver.store.results import DispatchEntry, PutMessage, PutResult, PutStatus
from mqserver.store.store import MessageStore
from remoting.codes import ResponseCode
from storefmt.config.tables import DelayOffsets
from storefmt.names import SCHEDULE_TOPIC
from tests.server.broker.contexts import context_of, puts_of
from tests.server.doubles import FakeClock
from tests.server.store.simdisk import PowerCut, SimDisk
from tests.server.store.stores import START_MS, abandon, bodies, flush, message, small_config

LEVELS = DelayLevels([1_000, 3_000])
LATER_MS = START_MS + 10_000
COUNT = 6


class Life:
    """One start of a broker; whoever begins the next one hands over the disk and the file."""

    def __init__(
        self, disk: SimDisk, saved: DelayOffsets | None = None, *, sync: bool = True
    ) -> None:
        self.disk = disk
        self.config = small_config(Path("/store"), sync=sync, log_file_size=1 << 15)
        self.store = MessageStore.open(self.config, now_ms=START_MS, disk=disk)
        self.unsafe: list[Callable[[ResponseCode], None]] = []
        self.service = DelayService(
            context_of(self.store, clock=FakeClock(START_MS)),
            puts_of(self._put, self.unsafe.append),
            levels=LEVELS,
            stored=saved,
        )
        self.saved = saved or self.service.durable_offsets()
        self.store.dispatched.add(self._dispatched)

    def _dispatched(self, entries: list[DispatchEntry]) -> None:
        for entry in entries:
            if entry.topic == SCHEDULE_TOPIC:
                self.service.arrived(
                    entry.queue_id, entry.queue_offset,
                    store_ms=entry.store_ms, times=Times(START_MS, START_MS),
                )  # fmt: skip

    def _put(self, one: PutMessage, now_ms: int) -> PutResult:
        result = self.store.put(one, now_ms)
        assert result.status is PutStatus.PUT_OK
        return result

    def send(self, number: int, *, level: int = 1, body: bytes = b"", **named: str) -> None:
        one = message(number, queue_id=0, body=body or b"%d" % number)
        changed = {"DELAY": str(level), **named}
        delay_ms = LEVELS.delay_ms(level)
        redirect(one, changed, level=level, delay_ms=delay_ms, now_ms=START_MS)
        self.store.put(one, START_MS)

    def put(self, one: PutMessage) -> None:
        self.store.put(one, START_MS)

    def write(self, *, synced: bool = True) -> None:
        """End a turn."""
        self.store.write(LATER_MS)
        if synced:
            flush(self.store)
        safe, self.unsafe[:] = list(self.unsafe), []
        for done in safe:
            done(ResponseCode.SUCCESS)

    def deliver(self) -> int:
        count = 0
        while not self.service.is_caught_up:
            count += self.service.deliver(Times(START_MS, START_MS))
        return count + self.service.deliver(Times(LATER_MS, LATER_MS))

    def save(self) -> None:
        self.service.settle()
        self.saved = self.service.durable_offsets()

    def deliver_unsaved(self) -> None:
        """End a turn and save the progress; then deliver in a turn that nothing is saved of."""
        self.write()
        self.save()
        self.deliver()
        self.write()

    def kill(self) -> None:
        abandon(self.store)

    def next(self, *, disk: SimDisk | None = None) -> "Life":
        """Kill this broker and start it again."""
        self.kill()
        return Life(disk or self.disk, self.saved, sync=self.config.is_sync_flush)

    def found(self) -> list[bytes]:
        return bodies(self.store, "topic-a", 0)


def killed_after_delivery(*, sync: bool = True) -> Life:
    """Return a broker that has delivered a message of each level, and saved nothing of that."""
    life = Life(SimDisk(), sync=sync)
    for number in range(COUNT):
        life.send(number, level=number % 2 + 1)
    life.deliver_unsaved()
    return life


def test_delivery_that_was_not_saved_is_found_in_the_log_and_not_repeated() -> None:
    life = killed_after_delivery()

    after = life.next()

    assert life.saved.offsets == {}
    assert after.deliver() == 0
    assert after.service.offsets().offsets == {1: 3, 2: 3}
    assert len(after.found()) == COUNT


def test_delivery_that_the_crash_took_out_of_the_log_is_repeated() -> None:
    life = Life(SimDisk(), sync=False)
    life.send(0)
    life.write()
    life.save()
    before = life.disk.kept()
    life.deliver()
    life.write(synced=False)
    life.save()

    after = life.next(disk=before)
    count = after.deliver()
    after.write()

    assert life.found() == [b"0"]
    assert count == 1
    assert after.found() == [b"0"]


def test_saved_progress_is_never_ahead_of_the_disk() -> None:
    life = Life(SimDisk(), sync=False)
    life.send(0)
    life.write()
    life.save()
    saved = life.saved
    life.deliver()
    life.write(synced=False)

    life.save()
    unflushed = life.saved
    flush(life.store)
    life.save()

    assert (unflushed.offsets, unflushed.log_offset) == (saved.offsets, saved.log_offset)
    assert life.saved.offsets == {1: 1}
    assert life.saved.log_offset == life.store.flushed_offset
    life.kill()


def test_saved_log_offset_lies_before_what_is_not_safe_yet() -> None:
    life = Life(SimDisk())
    for number in range(2):
        life.send(number, level=number + 1)
    life.write()
    end = life.store.written_offset
    life.deliver()
    life.store.write(LATER_MS)
    life.unsafe.pop(0)(ResponseCode.SUCCESS)
    flush(life.store)

    life.save()
    after = life.next()
    count = after.deliver()

    assert life.saved.offsets == {1: 1}
    assert life.saved.log_offset is not None
    assert end < life.saved.log_offset < life.store.written_offset
    assert count == 0
    assert sorted(after.found()) == [b"0", b"1"]


@pytest.mark.parametrize("delivered", range(4))
def test_equal_messages_without_a_unique_key_are_counted(delivered: int) -> None:
    life = Life(SimDisk())
    for _ in range(3):
        life.send(1, body=b"same")
    life.deliver_unsaved()
    ends = [one.log_offset + one.size for run in life.store.reader.records_from(0) for one in run]
    disk = life.disk.kept()
    log = disk.open(Path("/store/commitlog/00000000000000000000"))
    log.pwrite(bytes(4096), ends[2 + delivered])

    after = life.next(disk=disk.kept())
    count = after.deliver()
    after.write()

    assert count == 3 - delivered
    assert after.found() == [b"same"] * 3


def test_record_that_looks_like_a_delivery_and_is_none_moves_nothing() -> None:
    life = Life(SimDisk())
    life.send(0)
    life.write()
    life.save()
    for changed in (
        {"body": b"another"}, {"queue_id": 1}, {"topic": "topic-b", "topic_bytes": b"topic-b"},
        {"born_ms": 1}, {"reconsume_times": 1},
        {"properties": b"DELAY\x011\x02REAL_TOPIC\x01topic-a\x02REAL_QID\x010\x02UNIQ_KEY\x01u"},
        {"properties": b"DELAY\x01one\x02REAL_TOPIC\x01topic-a\x02REAL_QID\x010"},
        {"properties": b"DELAY\x0199\x02REAL_TOPIC\x01topic-a\x02REAL_QID\x010"},
    ):  # fmt: skip
        stray = message(0, queue_id=0, body=b"0")
        stray.properties = b"DELAY\x011\x02REAL_TOPIC\x01topic-a\x02REAL_QID\x010"
        for name, value in changed.items():
            setattr(stray, name, value)
        life.put(stray)
    life.write()

    after = life.next()

    assert after.deliver() == 1
    after.kill()


def test_message_that_cannot_be_delivered_does_not_hide_the_deliveries_behind_it() -> None:
    life = Life(SimDisk())
    life.send(0)
    nowhere = message(1, queue_id=0, body=b"nowhere")
    redirect(nowhere, {"DELAY": "1"}, level=1, delay_ms=1_000, now_ms=START_MS)
    nowhere.properties = b"DELAY\x011"
    life.put(nowhere)
    life.send(2)
    life.deliver_unsaved()

    after = life.next()

    assert after.deliver() == 0
    assert after.service.offsets().offsets == {1: 3}
    assert after.found() == [b"0", b"2"]


def test_file_of_the_real_broker_delivers_again_what_it_does_not_count() -> None:
    life = killed_after_delivery()
    life.saved = DelayOffsets({1: 1})

    after = life.next()
    count = after.deliver()
    after.write()
    again = after.next()

    assert count == COUNT - 1
    assert after.saved.log_offset is None
    assert again.deliver() == COUNT - 1
    again.kill()


def test_broker_that_is_killed_while_it_reads_the_log_reads_it_again() -> None:
    life = killed_after_delivery()

    second = life.next()
    second.save()
    third = second.next()

    assert third.deliver() == 0
    assert third.service.offsets().offsets == {1: 3, 2: 3}
    third.kill()


def test_reading_the_log_gives_others_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqserver.broker.delay.schedule.TAIL_STEPS", 1)
    after = killed_after_delivery().next()

    first = after.service.deliver(Times(LATER_MS, LATER_MS))
    is_done = after.service.is_caught_up
    count = after.deliver()

    assert (first, is_done, count) == (0, False, 0)
    assert after.service.is_caught_up
    after.kill()


def test_log_that_grows_without_deliveries_moves_the_place_where_reading_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mqserver.broker.delay.schedule.TAIL_SIZE_MAX", 1_000)
    life = Life(SimDisk())
    life.deliver()
    life.save()
    first = life.saved.log_offset
    life.send(0, body=b"x" * 500)
    life.write()
    life.save()
    second = life.saved.log_offset
    life.send(1, body=b"x" * 500)
    life.write()
    life.save()

    assert TAIL_SIZE_MAX == 64 << 20
    assert (first, second) == (0, 0)
    assert life.saved.log_offset == life.store.written_offset > 1_000
    life.kill()


def test_promoted_slave_delivers_nothing_that_its_master_delivered() -> None:
    master = killed_after_delivery()
    told = DelayOffsets({1: 1}, log_offset=master.store.written_offset)
    first = next(
        one.log_offset
        for run in master.store.reader.records_from(0)
        for one in run
        if one.topic != SCHEDULE_TOPIC
    )
    exact = DelayOffsets({}, log_offset=first)
    slave = master.next()

    slave.service.adopt(exact)
    slave.service.look_again()
    count = slave.deliver()
    known = slave.service.offsets().offsets
    again = master.next()
    again.service.adopt(told)
    again.service.adopt(DelayOffsets({1: 1, 2: 1}))

    assert (count, known) == (0, {1: 3, 2: 3})
    # A master of Java's does not say where its deliveries lie: they come again, as there.
    assert again.service.durable_offsets() == DelayOffsets({1: 1, 2: 1})
    assert again.service.durable_offsets().log_offset is None
    again.service.look_again()
    assert again.deliver() == COUNT - 2
    slave.kill()
    again.kill()


def run_until(call: int, *, sync: bool) -> Life | None:
    """Send, deliver and save in turns; the machine stops at a call of the disk, None for never."""
    life = Life(SimDisk(), sync=sync)
    life.deliver()
    left = call

    def cut(name: str, path: Path) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise PowerCut

    life.disk.on_call = cut
    try:
        for number in range(24):
            life.send(number, level=number % 2 + 1)
            life.write(synced=sync or number % 4 == 0)
            if number % 2:
                life.deliver()
                life.write(synced=sync or number % 4 == 1)
            if number % 3 == 0:
                life.save()
    except PowerCut:
        life.disk.on_call = lambda name, path: None
        return life
    life.kill()
    return None


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("power_cut", [False, True], ids=["kill", "power cut"])
def test_crash_at_any_call_of_the_disk_delivers_each_message_once(
    *, sync: bool, power_cut: bool
) -> None:
    call = 0
    while (life := run_until(call, sync=sync)) is not None:
        life.kill()
        for seed in range(8 if power_cut else 1):
            disk = life.disk.crash(seed) if power_cut else life.disk.kept()
            after = Life(disk, life.saved, sync=sync)

            after.deliver()
            after.write()

            waiting = sum(after.store.max_offset(SCHEDULE_TOPIC, level) for level in range(2))
            found = after.found()
            assert len(found) == len(set(found)) == waiting, (call, seed)
            after.kill()
        call += 1
    assert call > 30
