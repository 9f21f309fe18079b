"""Checks whole windows of the log with numpy, so that records in order need no other check.

    window ──scan_log (CRC)──> heads as one array ──> plain? ──> counted, entries marked
                                                        └ no ──> the checks record by record

Rule: a record is plain if every check of ``check_log`` and ``check_queues`` would pass. This
module makes no findings: all other records go through those checks one by one, in log order, so
the findings are the same with and without numpy. The scan that describes damage handles bytes
that are not a complete record. ``check_log`` imports this module only for large logs.

Properties are found for many records at once (``texts_of``, ``find_tags``), and queue entries are
compared by the queue (``match``): a claim is what one record says about its entry.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from storefmt.errors import BadCall, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.consumequeue import ENTRY_SIZE, EXT_ADDRESS_MAX
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import MAGIC_V2, TOPIC_SIZE_V1_MAX, Record, decode_record
from storefmt.formats.properties import INNER_MULTI_DISPATCH, PROPERTIES_SIZE_MAX, TAGS
from storefmt.formats.scan import scan_log
from storefmt.formats.sysflag import COMPRESSED, HOSTS_V6, TRANSACTION_COMMIT, TRANSACTION_MASK
from storefmt.names import SCHEDULE_TOPIC
from storefmt.offline.verify.check_tree import TIME_MAX_MS, TIME_MIN_MS
from storefmt.offline.verify.entries import DELAY_MS_MAX
from storefmt.offline.verify.outliers import CLOCK_SLACK_MS
from storefmt.offline.views.matching import Marks, Matching
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.tree import FileSpan, QueueKey
from storefmt.paths import DIRECTORY_NAME_SIZE_MAX, check_topic_name
from storefmt.store_file import StoreFile

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_NAME: Final = TAGS.encode()
_NAMED: Final = len(_NAME) + 1
_SEPARATOR: Final = 2
_SIZE_MAX: Final = 32
"""Codes of longer tags are computed one by one."""


class Texts(NamedTuple):
    """Properties of some records: those of record ``rows[k]`` are ``data[start[k]:end[k]]``.

    A separator precedes each of them; the bytes between them have no meaning.
    """

    rows: Ints
    data: bytes
    start: Ints
    end: Ints


class Tags(NamedTuple):
    """The position of each record's tag; an empty range if there is none."""

    start: Ints
    end: Ints
    odd: npt.NDArray[np.bool_]


def texts_of(view: npt.NDArray[np.uint8], pos: Ints, sizes: Ints) -> Iterator[Texts]:
    """Yield the properties at these positions (above 0) in groups of similar size.

    Properties at the very end of ``view`` may be left out. At most twice their bytes are copied:
    a small part of the window, which stays in the cache of the core.
    """
    like = np.frexp(sizes)[1]
    for kind in np.unique(like).tolist():
        rows = np.flatnonzero(like == kind)
        width = int(sizes[rows].max()) + 1
        rows = rows[pos[rows] - 1 + width <= len(view)]
        if not len(rows):
            continue
        table = np.lib.stride_tricks.sliding_window_view(view, width)[pos[rows] - 1]
        table[:, 0] = _SEPARATOR
        start = np.arange(len(rows)) * width + 1
        data = table.tobytes() + bytes(_SIZE_MAX)
        yield Texts(rows, data, start, start + sizes[rows])


def find_tags(texts: Texts) -> Tags:
    """Return the positions of the tags."""
    view = np.frombuffer(texts.data, dtype=np.uint8)
    names = np.flatnonzero(view == 1) - len(_NAME)
    names = names[names >= 0]
    for number, letter in enumerate(_NAME):
        names = names[view[names + number] == letter]
    # What is looked for behind the last one lies in no properties.
    names = np.append(names, [len(view), len(view)])
    separators = np.append(np.flatnonzero(view == _SEPARATOR), len(view))
    at = np.searchsorted(names, texts.start)
    first = names[at]
    has_tag = first + _NAMED <= texts.end
    start = np.where(has_tag, first + _NAMED, texts.end)
    end = np.minimum(separators[np.searchsorted(separators, start)], texts.end)
    odd = (names[at + 1] + _NAMED <= texts.end) | (start == end) | (view[first - 1] != _SEPARATOR)
    return Tags(start, end, has_tag & odd)


def codes_of(data: bytes, start: Ints, end: Ints) -> Ints:
    """Return the code of each tag ``data[start[k]:end[k]]``; ``data`` is that of ``Texts``."""
    sizes = end - start
    width = min(int(sizes.max(initial=1)), _SIZE_MAX)
    view = np.frombuffer(data, dtype=np.uint8)
    table = np.lib.stride_tricks.sliding_window_view(view, width)[start]
    codes = np.zeros(len(start), dtype=np.int32)
    is_plain = sizes <= width
    for number in range(width):
        letters, inside = table[:, number], sizes > number
        codes = np.where(inside, codes * 31 + letters, codes)
        is_plain &= ~inside | (letters < 128)
    found: Ints = codes.astype(np.int64)
    for row in np.flatnonzero(~is_plain).tolist():
        found[row] = tags_code(data[start[row] : end[row]].decode("utf-8", "replace"))
    return found


QUEUE_SPAN_MAX: Final = 1 << 16
SPARE: Final = 64
"""Entries that are read beyond eight times the claimed ones; claims of a queue lie close."""
_ENTRY: Final = np.dtype(layout.CONSUME_QUEUE_ENTRY.numpy_fields())
assert _ENTRY.itemsize == ENTRY_SIZE


class MarkedEntries(NamedTuple):
    """Entries of a queue that belong to records of a window, relative to ``first``."""

    key: QueueKey
    first: int
    more: npt.NDArray[np.uint16]


class Claims(NamedTuple):
    """Claims: what some records say about their entries, as one column for each field."""

    queue: Ints
    """A number of the queue."""
    queue_offset: Ints
    log_offset: Ints
    size: Ints
    tags_code: Ints
    delayed_ms: Ints
    """Store time of a message that waits for its level, 0 of any other."""


def match(
    claims: Claims,
    key_of: Callable[[int], QueueKey],
    view_of: Callable[[QueueKey], QueueView | None],
) -> tuple[Flags, list[MarkedEntries]]:
    """Return which claims agree with their entries, and those entries.

    Args:
        key_of: returns the queue of a number.
        view_of: returns the queue's view, None for a queue that is missing or not checked.
    """
    fits = np.zeros(len(claims.queue), dtype=bool)
    if not len(fits):
        return fits, []
    order = np.argsort(claims.queue, kind="stable")
    queues, offsets = claims.queue[order], claims.queue_offset[order]
    starts = np.flatnonzero(np.diff(queues, prepend=queues[0] - 1))
    first = np.minimum.reduceat(offsets, starts)
    row_counts = np.diff(starts, append=len(order))
    most = np.minimum(8 * row_counts + SPARE, QUEUE_SPAN_MAX)
    # An offset may be any number: one more than it may be none.
    spans = np.minimum(np.maximum.reduceat(offsets, starts) - first, most - 1) + 1
    keys = [key_of(number) for number in queues[starts].tolist()]
    parts = [
        _entries(view_of(key), low, span)
        for key, low, span in zip(keys, first.tolist(), spans.tolist(), strict=True)
    ]
    counts = np.fromiter(map(len, parts), np.int64, len(parts)) // ENTRY_SIZE
    more = offsets - np.repeat(first, row_counts)
    there = more < np.repeat(counts, row_counts)
    places = more + np.repeat(counts.cumsum() - counts, row_counts)
    rows = order[there]
    found = np.frombuffer(b"".join(parts), dtype=_ENTRY)[places[there]]
    fits[rows] = _same(found, Claims(*(column[rows] for column in claims)))
    return fits, _marked(keys, first, starts, more, fits[order])


def _entries(view: QueueView | None, first: int, count: int) -> bytes:
    span = None if view is None else view.file_of(first)
    return b"" if view is None or span is None else view.read(span, first, count)


def _same(entries: npt.NDArray[np.void], claims: Claims) -> Flags:
    code = entries["tags_code"].astype(np.int64)
    late = code - claims.delayed_ms
    same: Flags = (claims.delayed_ms > 0) & (late >= 0) & (late <= DELAY_MS_MAX)
    same |= code == claims.tags_code
    same &= code > EXT_ADDRESS_MAX
    same &= entries["log_offset"] == claims.log_offset
    same &= entries["size"] == claims.size
    return same


def _marked(
    keys: list[QueueKey], first: Ints, starts: Ints, more: Ints, fits: Flags
) -> list[MarkedEntries]:
    # Only what lies within QUEUE_SPAN_MAX of the first one fits.
    kept = more[fits].astype(np.uint16)
    ends = np.add.reduceat(fits, starts, dtype=np.int64).cumsum().tolist()
    begins = [0, *ends[:-1]]
    return [
        MarkedEntries(key, low, kept[begin:end])
        for key, low, begin, end in zip(keys, first.tolist(), begins, ends, strict=True)
        if end > begin
    ]


WINDOW_SIZE: Final = 4 << 20
RECORDS_MIN: Final = 4
"""Windows with fewer records are not worth it: large messages, damage, the end."""
COUNT_MIN: Final = 2
"""Least number of records before the last one of a window that is worth checking."""
TOPICS_MAX: Final = 100_000
NO_NAME: Final = -1
NO_TEXT: Final = -2
_SCHEDULE_TOPIC: Final = SCHEDULE_TOPIC.encode()
_QUEUE_BITS: Final = 32
_COPIES: Final = INNER_MULTI_DISPATCH.encode()
_HEAD: Final = np.dtype(layout.MESSAGE.part("body_size").numpy_fields())
assert _HEAD.itemsize == 88


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
        found: list[int] = np.flatnonzero(~self.plain[:count]).tolist()
        return found

    def record(self, number: int, file: StoreFile) -> Record:
        """Decode one record, any but the last."""
        start, end = self.starts[number : number + 2].tolist()
        if self.data:
            return decode_record(self.data, start, check_crc=False)
        return decode_record(file.read(self.pos + start, end - start), check_crc=False)

    def up_to(self, stop: int) -> "Window":
        """Return the window up to the first record at or behind ``stop``, or all of it."""
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

    def at(self, span: FileSpan, pos: int, base: int) -> Window | None:
        """Check the window at a position of a file, mark its entries and return it."""
        file = self.matching.store.log.open(span)
        found = self.window(file.read(pos, self.window_size), pos, base)
        if found is not None:
            self.mark(found)
        return found

    def mark(self, window: Window) -> None:
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
        found, _ = scan_log(data, 0, len(data), check_crc=True)
        if len(found) < RECORDS_MIN:
            return None
        starts = np.array(found, dtype=np.int64)
        view = np.frombuffer(data, dtype=np.uint8)
        heads = _heads(view, starts)
        v4 = (heads["sys_flag"] & HOSTS_V6) == 0
        shape = _shape(view, starts, heads, v4)
        count = self._whole(data, starts, shape, v4)
        topics = self._topic_numbers(data, shape.part(count), v4[:count])
        count = len(topics)
        if count < RECORDS_MIN:
            return None
        # Columns of records that are not whole must not be looked at any more.
        shape = shape.part(count)
        starts, heads, v4 = starts[:count], heads[:count], v4[:count]
        plain = v4 & self._fields_good(view, heads, starts, shape, base + pos)
        plain &= topics >= 0
        codes = self._tags(view, shape, plain)
        rows = np.flatnonzero(plain)
        claims = self._claims(heads, topics, codes, rows)
        plain[rows], marked = match(claims, self._queue_of, self._view_of)
        return Window(
            data=data,
            pos=pos,
            starts=starts,
            plain=plain,
            odd_neighbours=_odd_neighbours(heads, v4),
            marked=marked,
        )

    def _whole(self, data: bytes, starts: Ints, shape: "FieldPositions", v4: Flags) -> int:
        """Return how many records from the first on are complete."""
        bad = np.flatnonzero(~shape.good)
        count = int(bad[0]) if len(bad) else len(starts)
        for number in np.flatnonzero(~v4[:count]).tolist():
            try:
                decode_record(data, int(starts[number]), check_crc=False)
            except RecordDamaged:
                # The walk meets it again, and describes it.
                return int(number)
        return count

    def _topic_numbers(self, data: bytes, shape: "FieldPositions", v4: Flags) -> Ints:
        """Return the number of each topic, up to the first that is no text."""
        spans = zip(shape.topic_pos.tolist(), shape.topic_end.tolist(), strict=True)
        topics = [data[start:end] for start, end in spans]
        if len(self._topics) > TOPICS_MAX:
            self._topics = TopicNumbers()
        numbers = np.fromiter(map(self._topics.__getitem__, topics), np.int64, len(topics))
        bad = np.flatnonzero(v4 & (numbers == NO_TEXT))
        return numbers[: bad[0]] if len(bad) else numbers

    def _fields_good(
        self, view: npt.NDArray[np.uint8], heads: npt.NDArray[np.void], starts: Ints,
        shape: "FieldPositions", origin: int,
    ) -> Flags:  # fmt: skip
        store_ms, flags = heads["store_ms"], heads["sys_flag"]
        good: Flags = heads["log_offset"] == starts + origin
        good &= (store_ms >= TIME_MIN_MS) & (store_ms <= TIME_MAX_MS)
        for name in ("queue_id", "queue_offset", "reconsume_times"):
            good &= heads[name] >= 0
        for name in ("born_host_port", "store_host_port"):
            good &= (heads[name] >= 0) & (heads[name] <= 65535)
        transaction = flags & TRANSACTION_MASK
        good &= (transaction == 0) | (transaction == TRANSACTION_COMMIT)
        if self.deep:
            good &= (flags & COMPRESSED) == 0
        ends = shape.end
        # A page that was never written ends the properties with four zeros.
        torn = (view[ends - 1] | view[ends - 2] | view[ends - 3] | view[ends - 4]) == 0
        good &= ~torn
        return good

    def _tags(self, view: npt.NDArray[np.uint8], shape: "FieldPositions", plain: Flags) -> Ints:
        """Return the code of each tag; records whose tag needs a closer look are not plain."""
        rows = np.flatnonzero(plain)
        codes = np.zeros(len(plain), dtype=np.int64)
        plain[rows] = False
        pos = shape.properties_pos[rows]
        for texts in texts_of(view, pos, shape.end[rows] - pos):
            found, some = find_tags(texts), rows[texts.rows]
            good = ~found.odd
            if _COPIES in texts.data:
                spans = zip(texts.start.tolist(), texts.end.tolist(), strict=True)
                copies = (texts.data.find(_COPIES, *span) >= 0 for span in spans)
                good &= ~np.fromiter(copies, bool, len(good))
            plain[some] = good
            tagged = good & (found.start < found.end)
            codes[some[tagged]] = codes_of(texts.data, found.start[tagged], found.end[tagged])
        return codes

    def _claims(self, heads: npt.NDArray[np.void], topics: Ints, codes: Ints, rows: Ints) -> Claims:
        def of(name: str) -> Ints:
            found: Ints = heads[name][rows].astype(np.int64)
            return found

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


@dataclass(slots=True)
class FieldPositions:
    """Positions of the variable parts of IPv4 records, and whether their lengths add up."""

    topic_pos: Ints
    topic_end: Ints
    properties_pos: Ints
    end: Ints
    good: Flags

    def part(self, count: int) -> "FieldPositions":
        """Return the first ``count`` rows."""
        return FieldPositions(
            self.topic_pos[:count],
            self.topic_end[:count],
            self.properties_pos[:count],
            self.end[:count],
            self.good[:count],
        )


def _heads(view: npt.NDArray[np.uint8], starts: Ints) -> npt.NDArray[np.void]:
    windows = np.lib.stride_tricks.sliding_window_view(view, _HEAD.itemsize)
    heads: npt.NDArray[np.void] = windows[starts].view(_HEAD).reshape(len(starts))
    return heads


def _shape(
    view: npt.NDArray[np.uint8], starts: Ints, heads: npt.NDArray[np.void], v4: Flags
) -> FieldPositions:
    ends = starts + heads["size"]
    body_end = starts + _HEAD.itemsize + heads["body_size"].astype(np.int64)
    good = v4 & (heads["body_size"] >= 0) & (body_end + 3 <= ends)
    long_topic = heads["magic"] == MAGIC_V2
    at = np.where(good, body_end, starts)
    size = view[at].astype(np.int64)
    size = np.where(long_topic, size << 8 | view[at + 1], size)
    topic_pos = at + 1 + long_topic
    good &= (size <= np.where(long_topic, 32767, TOPIC_SIZE_V1_MAX)) & (
        topic_pos + size + 2 <= ends
    )
    topic_end = np.where(good, topic_pos + size, topic_pos)
    at = np.where(good, topic_end, starts)
    size = view[at].astype(np.int64) << 8 | view[at + 1]
    good &= (size <= PROPERTIES_SIZE_MAX) & (topic_end + 2 + size == ends)
    # Records with IPv6 hosts have another layout; they are decoded one by one.
    return FieldPositions(topic_pos, topic_end, topic_end + 2, ends, good | ~v4)


def _odd_neighbours(heads: npt.NDArray[np.void], v4: Flags) -> bool:
    """Return whether some record differs from both neighbours in host or time."""
    if not v4.all():
        return True
    host = heads["store_host"].view(">u4").astype(np.int64) << 32 | (
        heads["store_host_port"].astype(np.int64) & 0xFFFFFFFF
    )
    before, middle, after = host[:-2], host[1:-1], host[2:]
    if ((before == after) & (before != middle)).any():
        return True
    times = heads["store_ms"].astype(np.int64)
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
