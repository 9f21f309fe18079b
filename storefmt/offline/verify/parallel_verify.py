"""Windows of a log that others have judged: ``bulk`` over the cores, or over a cluster.

    piece 0 | piece 1 | piece 2 …        each by a worker: first record of it, then window
    ──window──window─┤─window──window─>  after window; the walk takes a window where it
                                         begins at the very record that the walk is at

Rule: what the workers say is never looked for, only met: the walk follows the records from
the start of each file, and where no judged window begins it judges for itself, up to the
next one. So damage, or bytes in a body that look like a record, change nothing. Only the
judgement of a window (CRC, fields, queue entries) is done elsewhere; all that has a state
(neighbours, marks, records without an entry, findings) stays in one process, in log order.
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
from storefmt.offline.views.opened import Opened
from storefmt.offline.views.tree import FileSpan, Tree

PIECE_SIZE: Final = 32 << 20


class Piece(NamedTuple):
    """A part of a log file: records that start from ``start`` to before ``end``."""

    number: int
    """Of the file, from 0."""
    start: int
    end: int


Judging = Callable[[list[Piece], Bulk], Generator[list[Window], None, None]]
"""Has pieces judged as ``bulk`` would, and gives the windows of each in their order."""


class Judged:
    """Gives windows as ``Bulk`` does, most of them from others.

    Args:
        bulk: judges what they did not.
        judging: has them judge. Use it in a ``with``, which closes what this returns.
    """

    def __init__(self, store: Opened, bulk: Bulk, *, judging: Judging) -> None:
        self._store = store
        self._bulk = bulk
        self._numbers = {span: number for number, span in enumerate(store.log.spans)}
        self._windows: deque[tuple[int, Window]] = deque()
        self._pieces = deque(pieces(store))
        self._results = judging(list(self._pieces), bulk)

    def at(self, span: FileSpan, pos: int, base: int) -> Window | None:
        """Return the window at a position of a file; None where that is not worth it."""
        place = self._numbers[span], pos
        self._go_to(place)
        if self._windows and self._place(0) == place:
            window = self._windows.popleft()[1]
            self._bulk.mark(window)
            return window
        found = self._bulk.at(span, pos, base)
        if found is not None and self._windows and self._place(0)[0] == place[0]:
            return found.up_to(self._place(0)[1])
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._results.close()

    def _go_to(self, place: tuple[int, int]) -> None:
        """Drop what lies before ``place``; wait for the piece that holds it."""
        while self._pieces and self._pieces[0][:2] <= place:
            piece = self._pieces.popleft()
            self._windows += ((piece.number, window) for window in next(self._results))
        while self._windows and self._place(0) < place:
            self._windows.popleft()

    def _place(self, number: int) -> tuple[int, int]:
        file, window = self._windows[number]
        return file, window.pos


def by_processes(worker_count: int) -> Judging:
    """Return what has pieces judged by processes of this machine."""

    def judging(pieces: list[Piece], bulk: Bulk) -> Generator[list[Window], None, None]:
        make = partial(judge_of, bulk.matching.store.tree, bulk.deep, bulk.window_size)
        return map_files(judge, pieces, make=make, worker_count=worker_count)

    return judging


def pieces(store: Opened) -> Iterator[Piece]:
    """Yield the parts of the log that are no holes."""
    for number, span in enumerate(store.log.spans):
        file = store.log.open(span)
        behind = 0
        for first, last in file.extents():
            start = max(behind, first - first % PIECE_SIZE)
            for pos in range(start, last, PIECE_SIZE):
                yield Piece(number, pos, min(pos + PIECE_SIZE, span.size))
                behind = pos + PIECE_SIZE


def judge_of(tree: Tree, deep: bool, window_size: int = WINDOW_SIZE) -> Bulk:
    """Return a judge of one store's windows that shares nothing with another."""
    matching = Matching(Opened(tree))
    return Bulk(matching, deep, frozenset(tree.batch_queues), window_size)


def judge(bulk: Bulk, piece: Piece) -> list[Window]:
    """Return the windows of one piece, without their bytes.

    Where records are large, or damaged, a window's worth of log is left out.
    """
    log = bulk.matching.store.log
    span, base = log.spans[piece.number], log.bases[piece.number]
    file = log.open(span)
    windows: list[Window] = []
    pos, is_start = piece.start, piece.start == 0
    while pos < piece.end:
        if not is_start:
            found = next_start(file.read, pos, base=base, end=piece.end, data_after=file.data_after)
            if found is None:
                break
            pos = found
        window = bulk.window(file.read(pos, bulk.window_size), pos, base)
        is_start = window is not None
        if window is None:
            pos += bulk.window_size
        else:
            window = window.up_to(piece.end)
            windows.append(replace(window, data=b""))
            pos += int(window.starts[-1])
    return windows
