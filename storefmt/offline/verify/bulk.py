"""Checks whole windows of the log with numpy, so that records in order need no other check.

    window ──scan_log (CRC)──> heads as one array ──> plain? ──> counted, entries marked
                                                        └ no ──> the checks record by record

Rule: a record is plain if every check of ``check_log`` and ``check_queues`` would pass. This
module makes no findings: all other records go through those checks one by one, in log order, so
the findings are the same with and without numpy. The scan that describes damage handles bytes
that are not a complete record. ``check_log`` imports this module only for large logs.

``bulk_tags`` finds the tags of many records at once, and ``bulk_entries`` compares the records
with their queue entries, a queue at a time.
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from storefmt.arrow.record_positions import Bytes, Flags, Ints, RecordHeads, RecordPositions
from storefmt.errors import BadCall
from storefmt.formats.message import Record, decode_record
from storefmt.formats.properties import INNER_MULTI_DISPATCH
from storefmt.formats.scan import scan_log
from storefmt.formats.sysflag import COMPRESSED, TRANSACTION_COMMIT, TRANSACTION_MASK
from storefmt.names import SCHEDULE_TOPIC
from storefmt.offline.verify.bulk_entries import Claims, MarkedEntries, match
from storefmt.offline.verify.bulk_tags import codes_of, find_tags, texts_of
from storefmt.offline.verify.check_tree import TIME_MAX_MS, TIME_MIN_MS
from storefmt.offline.verify.outliers import CLOCK_SLACK_MS
from storefmt.offline.views.matching import Marks, Matching
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.tree import FileSpan, QueueKey
from storefmt.paths import DIRECTORY_NAME_SIZE_MAX, check_topic_name
from storefmt.store_file import StoreFile

WINDOW_SIZE: Final = 4 << 20
RECORDS_MIN: Final = 4
"""Windows with fewer records are checked one by one: large messages, damage, the end."""
COUNT_MIN: Final = 2
"""Smallest number of records before the last one of a window that is checked at once."""
TOPICS_MAX: Final = 100_000
NO_NAME: Final = -1
NO_TEXT: Final = -2
_SCHEDULE_TOPIC: Final = SCHEDULE_TOPIC.encode()
_QUEUE_BITS: Final = 32
_COPIES: Final = INNER_MULTI_DISPATCH.encode()


@dataclass(slots=True)
class Window:
    """Whole records of one window of a file, and which of them are plain.

    Attributes:
        data: the bytes; empty if another process read them.
        pos: position of the window in the file.
        starts: positions of the records in ``data``.
        plain: for each record, whether the record and its queue entry pass every check.
        odd_neighbours: whether some record differs from both of its neighbours.
        marked: the queue entries of the plain records.
    """

    data: bytes
    pos: int
    starts: Ints
    plain: Flags
    odd_neighbours: bool
    marked: list[MarkedEntries]

    def odd(self, count: int) -> list[int]:
        """Return which of the first ``count`` records are not plain."""
        numbers: list[int] = np.flatnonzero(~self.plain[:count]).tolist()
        return numbers

    def record(self, number: int, file: StoreFile) -> Record:
        """Decode one record, any but the last."""
        start, end = self.starts[number : number + 2].tolist()
        if self.data:
            return decode_record(self.data, start, check_crc=False)
        return decode_record(file.read(self.pos + start, end - start), check_crc=False)

    def up_to(self, stop: int) -> "Window":
        """Return the window up to the first record at or after ``stop``, or all of it."""
        number = int(np.searchsorted(self.starts, stop - self.pos))
        if not COUNT_MIN <= number < len(self.starts):
            return self
        kept = slice(number + 1)
        return replace(self, starts=self.starts[kept], plain=self.plain[kept])


@dataclass(slots=True)
class Bulk:
    """Checks windows of one store.

    Attributes:
        deep: bodies are decompressed later, so compressed records are not plain.
        batch_queues: (topic, queue id) of batch consume queues, which are not checked.
    """

    matching: Matching
    deep: bool
    batch_queues: frozenset[tuple[str, int]]
    window_size: int = WINDOW_SIZE
    _topics: "TopicNumbers" = field(default_factory=lambda: TopicNumbers())

    def check_window(self, span: FileSpan, pos: int, base: int) -> Window | None:
        """Check the window at a position of a file, mark its entries and return it."""
        file = self.matching.store.log.open(span)
        window = self.window(file.read(pos, self.window_size), pos, base)
        if window is not None:
            self.mark_entries(window)
        return window

    def mark_entries(self, window: Window) -> None:
        """Mark the queue entries of the plain records of ``window``."""
        for key, first, more in window.marked:
            if self.matching.view(key) is not None:
                _mark(self.matching.marks[key], more.astype(np.int64) + first)

    def window(self, data: bytes, pos: int, base: int) -> Window | None:
        """Check the records at the start of ``data``; None if they are too few.

        Args:
            data: bytes of the file from ``pos`` on; a record should start there.
            base: log offset of the first byte of the file.
        """
        record_starts, _ = scan_log(data, 0, len(data), check_crc=True)
        if len(record_starts) < RECORDS_MIN:
            return None
        starts = np.array(record_starts, dtype=np.int64)
        view = np.frombuffer(data, dtype=np.uint8)
        heads = RecordHeads(view, starts)
        positions = heads.positions()
        topics = self._topic_numbers(data, positions)
        if len(topics) < RECORDS_MIN:
            return None
        if len(topics) < len(starts):
            # The record by record check meets the rest, and describes it.
            starts = starts[: len(topics)]
            heads = RecordHeads(view, starts)
            positions = heads.positions()
        plain = heads.host_bits == 0
        plain &= self._fields_good(view, heads, starts, positions, base + pos)
        plain &= topics >= 0
        codes = self._tags(view, positions, plain)
        rows = np.flatnonzero(plain)
        claims = self._claims(heads, topics, codes, rows)
        plain[rows], marked = match(claims, self._queue_of, self._view_of)
        return Window(
            data=data,
            pos=pos,
            starts=starts,
            plain=plain,
            odd_neighbours=_odd_neighbours(heads),
            marked=marked,
        )

    def _topic_numbers(self, data: bytes, positions: RecordPositions) -> Ints:
        """Return the number of each topic, up to the first record that is not whole or not text."""
        bad = np.flatnonzero(~positions.is_whole)
        count = int(bad[0]) if len(bad) else len(positions.is_whole)
        spans = zip(
            positions.topic[:count].tolist(), positions.topic_end[:count].tolist(), strict=True
        )
        topics = [data[start:end] for start, end in spans]
        if len(self._topics) > TOPICS_MAX:
            self._topics = TopicNumbers()
        numbers = np.fromiter(map(self._topics.__getitem__, topics), np.int64, len(topics))
        bad = np.flatnonzero(numbers == NO_TEXT)
        return numbers[: bad[0]] if len(bad) else numbers

    def _fields_good(
        self,
        view: Bytes,
        heads: RecordHeads,
        starts: Ints,
        positions: RecordPositions,
        base: int,
    ) -> Flags:
        """Return which records pass every check of their own fields.

        Args:
            base: log offset of the first byte of ``view``.
        """
        store_ms, flags = heads.ints("store_ms"), heads.ints("sys_flag")
        good: Flags = heads.ints("log_offset") == starts + base
        good &= (store_ms >= TIME_MIN_MS) & (store_ms <= TIME_MAX_MS)
        for name in ("queue_id", "queue_offset", "reconsume_times"):
            good &= heads.ints(name) >= 0
        for name in ("born_host_port", "store_host_port"):
            ports = heads.ints(name)
            good &= (ports >= 0) & (ports <= 65535)
        transaction = flags & TRANSACTION_MASK
        good &= (transaction == 0) | (transaction == TRANSACTION_COMMIT)
        if self.deep:
            good &= (flags & COMPRESSED) == 0
        ends = positions.end
        # A page that was never written ends the properties with four zeros.
        torn = (view[ends - 1] | view[ends - 2] | view[ends - 3] | view[ends - 4]) == 0
        good &= ~torn
        return good

    def _tags(self, view: Bytes, positions: RecordPositions, plain: Flags) -> Ints:
        """Return the code of each tag; records whose tag needs a closer look are not plain."""
        rows = np.flatnonzero(plain)
        codes = np.zeros(len(plain), dtype=np.int64)
        plain[rows] = False
        pos = positions.properties[rows]
        for texts in texts_of(view, pos, positions.end[rows] - pos):
            tags, text_rows = find_tags(texts), rows[texts.rows]
            good = ~tags.odd
            if _COPIES in texts.data:
                spans = zip(texts.start.tolist(), texts.end.tolist(), strict=True)
                copies = (texts.data.find(_COPIES, *span) >= 0 for span in spans)
                good &= ~np.fromiter(copies, bool, len(good))
            plain[text_rows] = good
            tagged = good & (tags.start < tags.end)
            codes[text_rows[tagged]] = codes_of(texts.data, tags.start[tagged], tags.end[tagged])
        return codes

    def _claims(self, heads: RecordHeads, topics: Ints, codes: Ints, rows: Ints) -> Claims:
        def of(name: str) -> Ints:
            return heads.ints(name)[rows]

        topics = topics[rows]
        return Claims(
            queue=topics << _QUEUE_BITS | of("queue_id"),
            queue_offset=of("queue_offset"),
            log_offset=of("log_offset"),
            size=of("size"),
            tags_code=codes[rows],
            delayed_ms=np.where(topics == self._topics[_SCHEDULE_TOPIC], of("store_ms"), 0),
        )

    def _queue_of(self, number: int) -> QueueKey:
        topic = self._topics.names[number >> _QUEUE_BITS]
        return topic, number & ((1 << _QUEUE_BITS) - 1)

    def _view_of(self, key: QueueKey) -> QueueView | None:
        return None if key in self.batch_queues else self.matching.view(key)


class TopicNumbers(dict[bytes, int]):
    """Gives each topic of a log a number; ``names[number]`` is a valid name.

    ``NO_NAME`` stands for a text that is not a valid topic name, ``NO_TEXT`` for other bytes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, topic: bytes) -> int:
        try:
            name = topic.decode("utf-8")
            check_topic_name(name, size_max=DIRECTORY_NAME_SIZE_MAX)
        except UnicodeDecodeError:
            number = NO_TEXT
        except BadCall:
            # The check of the record says what is wrong with it.
            number = NO_NAME
        else:
            number = len(self.names)
            self.names.append(name)
        self[topic] = number
        return number


def _odd_neighbours(heads: RecordHeads) -> bool:
    """Return whether some record differs from both neighbours in host or time."""
    if heads.host_bits.any():
        return True
    addresses = heads.lanes[0].heads["store_host"].view(">u4").astype(np.int64)
    host = addresses << 32 | heads.ints("store_host_port") & 0xFFFFFFFF
    before, middle, after = host[:-2], host[1:-1], host[2:]
    if ((before == after) & (before != middle)).any():
        return True
    times = heads.ints("store_ms")
    before, middle, after = times[:-2], times[1:-1], times[2:]
    distance = np.minimum(np.abs(middle - before), np.abs(middle - after))
    close = np.abs(after - before) <= CLOCK_SLACK_MS
    return bool((close & (distance > CLOCK_SLACK_MS)).any())


def _mark(marks: Marks, offsets: npt.NDArray[np.int64]) -> None:
    numbers = offsets - marks.start
    bits = np.frombuffer(marks.bits, dtype=np.uint8)
    # Entries that came since the queue was measured are left out, as in ``Marks.set``.
    numbers = numbers[numbers >> 3 < len(bits)]
    np.bitwise_or.at(bits, numbers >> 3, (1 << (numbers & 7)).astype(np.uint8))
