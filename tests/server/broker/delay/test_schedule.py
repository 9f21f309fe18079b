"""The delay service on a store that answers from a list, with a clock moved by hand."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from mqserver.broker.delay.delivered import restore_message
from mqserver.broker.delay.schedule import RETRY_MS, DelayLevels, DelayService, redirect
from mqserver.broker.serving.cold_reads import ColdReads
from mqserver.runtime.clock import Times
from mqserver.runtime.request import RequestRefused
from mqserver.store.commitlog.log_scan import ScannedRecord
from mqserver.store.disk.nowait import ColdRead
from mqserver.store.results import GetResult, GetStatus, PutMessage, PutResult, PutStatus
from remoting.codes import ResponseCode
from storefmt.config.tables import DelayOffsets
from storefmt.formats.message import Record, decode_record
from tests.records import record_bytes
from tests.server.broker.contexts import context_of, puts_of
from tests.server.broker.desk import NO_THREADS
from tests.server.doubles import FakeClock

HOST = b"\x7f\0\0\x01\0\0\0\1"
LEVELS = DelayLevels([1_000, 5_000])
SECOND = 1_000


def waiting(
    body: bytes, *, store_ms: int, queue_offset: int, properties: bytes | None = None
) -> bytes:
    """Return a record of the schedule topic."""
    return record_bytes(
        topic=b"SCHEDULE_TOPIC_XXXX",
        queue_offset=queue_offset,
        log_offset=100 * queue_offset,
        born_host=HOST,
        store_ms=store_ms,
        store_host=HOST,
        reconsume_times=2,
        body=body,
        properties=b"REAL_TOPIC\1T\2REAL_QID\0013" if properties is None else properties,
    )


class Store:
    """One queue of waiting records."""

    def __init__(self, *records: bytes, first: int = 0) -> None:
        self.records = list(records)
        self.first = first
        self.written_offset = self.flushed_offset = 0
        self.reader = self

    def max_offset(self, topic: str, queue_id: int) -> int:
        return 0 if queue_id else self.first + len(self.records)

    def deleted_until(self, topic: str) -> int:
        return 0

    def records_from(self, log_offset: int) -> Iterator[list[ScannedRecord]]:
        return iter(())

    def get_message(
        self, topic: str, queue_id: int, queue_offset: int, *, count_max: int, **limits: object
    ) -> GetResult:
        end = self.first + len(self.records)
        if queue_id != 0 or not self.records:
            return GetResult(GetStatus.NO_MESSAGE_IN_QUEUE, [], 0, 0, 0, 0)
        if queue_offset < self.first:
            status = GetStatus.OFFSET_TOO_SMALL
            return GetResult(status, [], 0, self.first, self.first, end)
        found = self.records[queue_offset - self.first :][:count_max]
        past = GetStatus.OFFSET_OVERFLOW_BADLY
        status = GetStatus.OFFSET_OVERFLOW_ONE if queue_offset == end else past
        status = GetStatus.FOUND if found else status
        return GetResult(status, found, len(found), end, self.first, end)


def waiting_store(count: int, *, store_ms: int = 0) -> Store:
    """Return a queue of messages ``b"0"``, ``b"1"``, … that were stored at one time."""
    return Store(*(waiting(b"%d" % at, store_ms=store_ms, queue_offset=at) for at in range(count)))


class Desk:
    """A delay service, what it puts, and what waits to be safe."""

    def __init__(
        self,
        store: Store,
        stored: DelayOffsets | None = None,
        *,
        start_ms: int = 0,
        cold: ColdReads = NO_THREADS,
    ) -> None:
        self.jumped_ms = 0
        self.put: list[PutMessage] = []
        self.unsafe: list[Callable[[ResponseCode], None]] = []
        self.refusal: RequestRefused | None = None
        self.service = DelayService(
            context_of(store, clock=FakeClock(start_ms), cold=cold),
            puts_of(self._put, self.unsafe.append),
            levels=LEVELS,
            stored=stored,
        )

    def _put(self, message: PutMessage, now_ms: int) -> PutResult:
        if self.refusal is not None:
            raise self.refusal
        self.put.append(message)
        return PutResult(PutStatus.PUT_OK, 0, 0, 1)

    def times(self, at_ms: int) -> Times:
        """Return both clocks at a time of the steady one."""
        return Times(at_ms + self.jumped_ms, at_ms)

    def deliver(self, at_ms: int) -> int:
        return self.service.deliver(self.times(at_ms))

    def settle(self, code: ResponseCode = ResponseCode.SUCCESS) -> None:
        waiting, self.unsafe[:] = list(self.unsafe), []
        for done in waiting:
            done(code)

    def bodies(self) -> list[bytes]:
        return [message.body for message in self.put]


def test_messages_are_put_again_in_order_when_they_are_due() -> None:
    store = Store(
        waiting(b"a", store_ms=0, queue_offset=0), waiting(b"b", store_ms=500, queue_offset=1)
    )
    desk = Desk(store, start_ms=500)

    assert [desk.deliver(at_ms) for at_ms in (999, 1_000, 1_499, 1_500)] == [0, 1, 0, 1]
    assert desk.bodies() == [b"a", b"b"]
    message = desk.put[0]
    assert (message.topic, message.queue_id, message.reconsume_times) == ("T", 3, 2)


def test_service_says_when_to_look_next() -> None:
    desk = Desk(waiting_store(1))

    desk.deliver(10)
    assert desk.service.next_look_ms() == 1_000
    desk.deliver(1_000)
    assert desk.service.next_look_ms() == 2_000
    desk.service.arrived(0, 1, store_ms=1_200, times=desk.times(1_200))
    assert desk.service.next_look_ms() == 2_000


def test_progress_moves_only_when_the_message_is_safe() -> None:
    desk = Desk(waiting_store(1))
    desk.deliver(SECOND)

    before = desk.service.offsets()
    desk.settle()

    assert before == DelayOffsets()
    assert desk.service.offsets() == DelayOffsets({1: 1})


def test_progress_is_saved_only_when_the_disk_has_what_was_delivered() -> None:
    store = waiting_store(1)
    desk = Desk(store)
    desk.deliver(SECOND)
    store.written_offset = 100
    desk.settle()

    desk.service.settle()
    store.written_offset, store.flushed_offset = 200, 99
    desk.service.settle()
    before = desk.service.change_count, desk.service.durable_offsets()
    store.flushed_offset = 100
    desk.service.settle()

    assert before == (0, DelayOffsets())
    assert (desk.service.change_count, desk.service.durable_offsets()) == (1, DelayOffsets({1: 1}))


def test_one_look_after_the_last_flush_counts_everything_that_was_delivered() -> None:
    records = [waiting(b"%d" % at, store_ms=100 * at, queue_offset=at) for at in range(2)]
    store = Store(*records)
    desk = Desk(store, start_ms=500)
    for at_ms, end in ((1_000, 100), (1_100, 200)):
        desk.deliver(at_ms)
        store.written_offset = end
        desk.settle()
        desk.service.settle()
    before = desk.service.durable_offsets()

    # The broker stops: the log is flushed, and nobody looks again.
    store.flushed_offset = 200
    desk.service.settle()

    assert before == DelayOffsets()
    assert desk.service.durable_offsets() == DelayOffsets({1: 2})


def test_message_that_was_not_stored_is_put_again() -> None:
    desk = Desk(waiting_store(2))
    desk.deliver(SECOND)

    desk.settle(ResponseCode.SERVICE_NOT_AVAILABLE)
    desk.deliver(SECOND + 1)
    desk.settle()

    assert desk.bodies() == [b"0", b"1", b"0", b"1"]
    assert desk.service.offsets() == DelayOffsets({1: 2})


def test_refused_put_waits_and_tries_again() -> None:
    desk = Desk(waiting_store(1))
    desk.refusal = RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, "disk full")
    desk.deliver(SECOND)
    desk.refusal = None

    assert desk.deliver(SECOND + RETRY_MS - 1) == 0
    assert desk.deliver(SECOND + RETRY_MS) == 1


def test_stored_progress_is_where_it_goes_on() -> None:
    desk = Desk(waiting_store(3), DelayOffsets({1: 2}))
    desk.deliver(SECOND)

    assert desk.bodies() == [b"2"]


def test_progress_before_the_first_kept_message_moves_to_it() -> None:
    desk = Desk(Store(waiting(b"a", store_ms=0, queue_offset=7), first=7), DelayOffsets({1: 3}))

    desk.deliver(SECOND)
    desk.deliver(2 * SECOND)

    assert desk.bodies() == [b"a"]


def test_messages_of_the_future_are_due_one_delay_after_the_start_all_of_them() -> None:
    desk = Desk(waiting_store(3, store_ms=10_000_000), start_ms=5_000)

    assert [desk.deliver(at_ms) for at_ms in (5_000, 5_999, 6_000)] == [0, 0, 3]


@pytest.mark.parametrize(
    "properties",
    [
        b"",
        b"REAL_TOPIC\1T",
        b"REAL_TOPIC\1../x\2REAL_QID\0010",
        b"REAL_TOPIC\1T\2REAL_QID\1-1",
        b"REAL_TOPIC\1RMQ_SYS_TRANS_HALF_TOPIC\2REAL_QID\0010",
        b"REAL_TOPIC\1SCHEDULE_TOPIC_XXXX\2REAL_QID\0010",
    ],
)
def test_message_that_says_nowhere_to_go_is_left_out(properties: bytes) -> None:
    bad = waiting(b"bad", store_ms=0, queue_offset=0, properties=properties)
    desk = Desk(Store(bad, waiting(b"good", store_ms=0, queue_offset=1)))

    desk.deliver(SECOND)
    desk.settle()

    assert desk.bodies() == [b"good"]
    assert desk.service.offsets() == DelayOffsets({1: 2})


@pytest.mark.parametrize("damaged", [(0,), (1,), (3,), (0, 1), (1, 2, 3), (0, 1, 2, 3)])
def test_message_that_cannot_be_read_is_left_out_and_holds_up_no_other(
    damaged: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    records = [waiting(b"message %d" % at, store_ms=0, queue_offset=at) for at in range(4)]
    for at in damaged:
        records[at] = records[at].replace(b"message", b"massage")
    desk = Desk(Store(*records))

    desk.deliver(1_000)

    assert desk.bodies() == [b"message %d" % at for at in range(4) if at not in damaged]
    assert caplog.text.count("which cannot be read") == len(damaged)


def test_redirected_message_and_back() -> None:
    message = PutMessage(
        topic="T",
        topic_bytes=b"T",
        queue_id=3,
        body=b"x",
        properties=b"",
        born_ms=1,
        born_host=HOST,
        store_host=HOST,
        tags_code=77,
        keys=("k",),
    )

    redirect(message, {"TAGS": "A", "DELAY": "99"}, level=2, delay_ms=5_000, now_ms=1_000)

    assert (message.topic, message.queue_id, message.tags_code) == ("SCHEDULE_TOPIC_XXXX", 1, 6_000)
    assert message.keys == ("k",)
    data = waiting(b"x", store_ms=0, queue_offset=0, properties=message.properties)
    record: Record = decode_record(data)
    back = restore_message(record)
    assert (back.topic, back.queue_id, back.properties) == ("T", 3, message.properties)
    assert record.properties == {"REAL_TOPIC": "T", "DELAY": "2", "TAGS": "A", "REAL_QID": "3"}


@pytest.mark.parametrize(("text", "level"), [("0", 0), ("-3", 0), ("1", 1), ("2", 2), ("+99", 2)])
def test_level_is_cut_to_those_there_are(text: str, level: int) -> None:
    assert LEVELS.level_of(text) == level


@pytest.mark.parametrize("text", ["soon", "1.5", "", " 1", "9" * 20, "2147483648", "+-1", "١"])
def test_level_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(RequestRefused, match="NumberFormatException"):
        LEVELS.level_of(text)


class ColdStore(Store):
    """Records that no cache holds before a thread has read them."""

    def __init__(self, *records: bytes, fd: int) -> None:
        super().__init__(*records)
        self.fd = fd
        self.is_warm = False

    def get_message(
        self, topic: str, queue_id: int, queue_offset: int, **limits: object
    ) -> GetResult:
        if queue_id == 0 and not self.is_warm and not limits["may_wait"]:
            raise ColdRead(self.fd, 1, 0)
        return super().get_message(topic, queue_id, queue_offset, **limits)


class Threads:
    """Reads when it is told to."""

    def __init__(self, tries_max: int) -> None:
        self.tries_max = tries_max
        self.waiting: list[Callable[[int], object]] = []

    def warm(self, cold: ColdRead, again: Callable[[int], object]) -> None:
        cold.drop()
        self.waiting.append(again)


@pytest.mark.parametrize("is_warmed", [True, False])
def test_delivery_of_cold_messages_waits_for_a_thread(tmp_path: Path, *, is_warmed: bool) -> None:
    (tmp_path / "file").write_bytes(b"x")
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    store = ColdStore(waiting(b"a", store_ms=0, queue_offset=0), fd=fd)
    threads = Threads(tries_max=3)
    desk = Desk(store, cold=cast(ColdReads, threads))

    assert desk.deliver(1_000) == 0
    assert len(threads.waiting) == 1
    assert desk.deliver(1_001) == 0
    assert len(threads.waiting) == 1
    if is_warmed:
        store.is_warm = True
        threads.waiting[0](1_010)
        assert desk.service.next_look_ms() == 0
        assert desk.deliver(1_010) == 1
    else:
        # A thread that never comes back costs a second, and in the end the loop waits.
        counts = [desk.deliver(at_ms) for at_ms in range(2_000, 6_000, 1_000)]
        assert counts == [0, 0, 1, 0]
    assert desk.bodies() == [b"a"]
    os.close(fd)


JUMPS_MS = [3_600_000, -3_600_000, 30 * 86_400_000, -30 * 86_400_000]


@pytest.mark.parametrize("jump_ms", JUMPS_MS)
@pytest.mark.parametrize("is_after_restart", [False, True])
def test_clock_that_is_set_makes_nothing_early_or_late(
    jump_ms: int, *, is_after_restart: bool
) -> None:
    store = Store()
    start_ms = 1_000_000
    if is_after_restart:
        store.records.append(waiting(b"old", store_ms=start_ms - 400, queue_offset=0))
    desk = Desk(store, start_ms=start_ms)
    delivered: dict[bytes, int] = {}
    for at_ms in range(start_ms, start_ms + 3_000, 50):
        if at_ms == start_ms + 500:
            desk.jumped_ms = jump_ms
        if at_ms in (start_ms + 300, start_ms + 700):
            offset = len(store.records)
            store_ms = at_ms + desk.jumped_ms
            store.records.append(waiting(b"%d" % at_ms, store_ms=store_ms, queue_offset=offset))
            desk.service.arrived(0, offset, store_ms=store_ms, times=desk.times(at_ms))
        known = len(desk.put)
        desk.deliver(at_ms)
        delivered |= {message.body: at_ms for message in desk.put[known:]}

    expected = {b"%d" % at_ms: at_ms + SECOND for at_ms in (start_ms + 300, start_ms + 700)}
    if is_after_restart:
        expected[b"old"] = start_ms + 600
    assert delivered == expected
