"""Verification of the log in parallel: worker processes, or a Spark cluster, check windows.

    part 0 | part 1 | part 2 …           each by a worker: first record of it, then windows
    ──window──window─┤─window──window─>  after window; the walk takes a window only where the
                                         window begins at the record that the walk has reached

Rule: the walk follows the records from the start of each file. Where no window of a worker
begins, the walk checks the log itself, up to the next window that fits. So damage, or bytes in
a body that look like a record, change no finding. Workers check a window by itself (CRC, fields,
queue entries). Everything that has a state (neighbours, marks, records without an entry,
findings) stays in one process, in log order.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, Self

from storefmt.formats.scan import next_start
from storefmt.offline.parallel import map_files
from storefmt.offline.verify.bulk import WINDOW_SIZE, Bulk, Window
from storefmt.offline.views.matching import Matching
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import FileSpan, Tree

LOG_PART_SIZE: Final = 32 << 20


class LogPart(NamedTuple):
    """A part of a log file: the records that start in ``start`` <= position < ``end``."""

    number: int
    """Number of the log file, from 0."""
    start: int
    end: int


WindowChecking = Callable[[list[LogPart], Bulk], Generator[list[Window], None, None]]
"""Takes parts of the log and yields the checked windows of each part, in order."""


class WorkerWindows:
    """Returns windows as ``Bulk`` does; workers have checked most of them.

    Use it in a ``with`` block, which closes the generator that ``checking`` returned.

    Args:
        bulk: checks the windows that no worker has checked.
        checking: starts the workers.
    """

    def __init__(self, store: StoreView, bulk: Bulk, *, checking: WindowChecking) -> None:
        self._store = store
        self._bulk = bulk
        self._numbers = {span: number for number, span in enumerate(store.log.spans)}
        self._windows: deque[tuple[int, Window]] = deque()
        self._parts = deque(log_parts(store))
        self._results = checking(list(self._parts), bulk)

    def check_window(self, span: FileSpan, pos: int, base: int) -> Window | None:
        """Return the window at a position of a file; None if checking it is not worthwhile."""
        place = self._numbers[span], pos
        self._go_to(place)
        if self._windows and self._place() == place:
            window = self._windows.popleft()[1]
            self._bulk.mark_entries(window)
            return window
        end = self._bulk.check_window(span, pos, base)
        if end is not None and self._windows and self._place()[0] == place[0]:
            return end.up_to(self._place()[1])
        return end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._results.close()

    def _go_to(self, place: tuple[int, int]) -> None:
        """Drop the windows before ``place``; wait for the part of the log that holds it."""
        while self._parts and self._parts[0][:2] <= place:
            part = self._parts.popleft()
            self._windows += ((part.number, window) for window in next(self._results))
        while self._windows and self._place() < place:
            self._windows.popleft()

    def _place(self) -> tuple[int, int]:
        file, window = self._windows[0]
        return file, window.pos


def by_processes(worker_count: int) -> WindowChecking:
    """Return a ``WindowChecking`` that uses processes of this machine."""

    def checking(parts: list[LogPart], bulk: Bulk) -> Generator[list[Window], None, None]:
        make = partial(bulk_of, bulk.matching.store.tree, bulk.deep, bulk.window_size)
        return map_files(check_part, parts, make=make, worker_count=worker_count)

    return checking


def log_parts(store: StoreView) -> Iterator[LogPart]:
    """Yield the parts of the log that hold data; holes of the files are left out."""
    for number, span in enumerate(store.log.spans):
        file = store.log.open(span)
        behind = 0
        for first, last in file.extents():
            start = max(behind, first - first % LOG_PART_SIZE)
            for pos in range(start, last, LOG_PART_SIZE):
                yield LogPart(number, pos, min(pos + LOG_PART_SIZE, span.size))
                behind = pos + LOG_PART_SIZE


def bulk_of(tree: Tree, deep: bool, window_size: int = WINDOW_SIZE) -> Bulk:
    """Return a ``Bulk`` for one store that shares no state with another ``Bulk``."""
    matching = Matching(StoreView(tree))
    return Bulk(matching, deep, frozenset(tree.batch_queues), window_size)


def check_part(bulk: Bulk, part: LogPart) -> list[Window]:
    """Check one part of the log and return its windows, without their bytes.

    Where records are large or damaged, the bytes of one window are skipped.
    """
    log = bulk.matching.store.log
    span, base = log.spans[part.number], log.bases[part.number]
    file = log.open(span)
    windows: list[Window] = []
    pos, is_start = part.start, part.start == 0
    while pos < part.end:
        if not is_start:
            first_start = next_start(
                file.read, pos, base=base, end=part.end, data_after=file.data_after
            )
            if first_start is None:
                break
            pos = first_start
        window = bulk.window(file.read(pos, bulk.window_size), pos, base)
        is_start = window is not None
        if window is None:
            pos += bulk.window_size
        else:
            window = window.up_to(part.end)
            windows.append(replace(window, data=b""))
            pos += int(window.starts[-1])
    return windows
