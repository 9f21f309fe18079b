"""Finds records in files that are no longer a store: cut, overwritten, orphaned or renamed.

    garbage | record | garbage | record | half a record
            ^ magic, sizes that add up, CRC of the body ──> a record, wherever it lies

Rule: only the bytes count. Any position may be the start of a record, and ``log_offset`` says
where the record once was, not where it is. A record counts if its lengths add up and its CRC fits;
the search continues after it, else one byte further. The same record found twice (a copy of a
file, a page written twice) counts once. ``CarvedLog`` writes the records into a new log.

Source: store/CommitLog.java#checkMessageAndReturnSize (layout only).
"""

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from storefmt.errors import BadCall, NotInStore, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.dledger import HEAD_SIZE, wraps
from storefmt.formats.message import (
    BLANK_SIZE_MIN,
    RECORD_SIZE_MIN,
    Record,
    blank,
    decode_record,
)
from storefmt.formats.scan import MAGIC, MAGIC_POS, RECORD_SIZE_MAX
from storefmt.offline.output_dir import OutputDirectory, SparseFile, progress_none
from storefmt.offline.views.effective_log import ProgressCall
from storefmt.paths import DIRECTORY_NAME_SIZE_MAX, check_topic_name, log_file_name
from storefmt.store_file import OpenFiles, StoreFile

WINDOW_SIZE: Final = 4 << 20
SEEN_MAX: Final = 4_000_000
"""How many records are remembered to find copies: 16 bytes each, and a set around them."""
FILES_DEPTH_MAX: Final = 16


class CarvedRecord(NamedTuple):
    """One record that was found.

    Attributes:
        path: the file it lies in, ``pos`` its first byte there.
        data: its bytes.
        in_place: the file's name and the position agree with the record's log offset.
        wrapped: it is the body of an entry of a Raft log (DLedger).
    """

    path: Path
    pos: int
    record: Record
    data: bytes
    in_place: bool
    wrapped: bool = False


@dataclass(slots=True)
class CarveCount:
    """Counts of a search.

    Attributes:
        files, size: files searched, and bytes of them outside holes.
        records: records found once; ``copies``: the same ones found again.
        torn: positions with a magic that are not a complete record.
        not_remembered: records that were not compared with others, because there were too many.
    """

    files: int = 0
    size: int = 0
    records: int = 0
    copies: int = 0
    torn: int = 0
    not_remembered: int = 0


class Carver:
    """Searches files for records; ``count`` has the counts so far.

    Args:
        check_crc: False also accepts records whose body does not fit its CRC.
        dedupe: leave out records that were found before.
    """

    def __init__(self, *, check_crc: bool = True, dedupe: bool = True) -> None:
        self.count = CarveCount()
        self._check_crc = check_crc
        self._dedupe = dedupe
        self._seen: set[bytes] = set()

    def search(
        self, paths: list[Path], *, progress: ProgressCall = progress_none
    ) -> Iterator[CarvedRecord]:
        """Yield the records of some files.

        Raises:
            StoreError: a file cannot be read.
        """
        total, done_size = sum(path.stat().st_size for path in paths), 0
        for path in paths:
            with closing(StoreFile(path)) as file:
                self.count.files += 1
                for pos, record, data in self._search_file(file, done_size, total, progress):
                    if self._is_new(record):
                        self.count.records += 1
                        base = int(path.name) if path.name.isdecimal() else 0
                        in_place = record.log_offset == base + pos
                        head = file.read(pos - HEAD_SIZE, HEAD_SIZE) if pos >= HEAD_SIZE else b""
                        yield CarvedRecord(path, pos, record, data, in_place, wraps(head, record))
                    else:
                        self.count.copies += 1
                done_size += file.size
        progress(total, total)

    def _search_file(
        self, file: StoreFile, done: int, total: int, progress: ProgressCall
    ) -> Iterator[tuple[int, Record, bytes]]:
        behind = 0
        for first, last in file.extents():
            # A record may begin in the last bytes of a hole: its size is 00 00 xx xx.
            pos = max(behind, first - MAGIC_POS, 0)
            while pos < last:
                window = file.read(pos, WINDOW_SIZE)
                self.count.size += min(len(window), last - pos)
                for match in MAGIC.finditer(window):
                    start = pos + match.start() - MAGIC_POS
                    if start < behind or start < pos:
                        continue
                    carved = self._record_at(file, window, pos, start)
                    if carved is None:
                        self.count.torn += 1
                    else:
                        behind = start + len(carved[1])
                        yield start, *carved
                    progress(done + start, total)
                # Windows overlap so that no magic and no size before it is cut.
                step = max(len(window) - 2 * MAGIC_POS + 1, 1)
                pos = max(pos + step, min(behind, last))
                progress(done + pos, total)

    def _record_at(
        self, file: StoreFile, window: bytes, pos: int, start: int
    ) -> tuple[Record, bytes] | None:
        window_pos = start - pos
        size = int.from_bytes(window[window_pos : window_pos + MAGIC_POS], "big", signed=True)
        if not RECORD_SIZE_MIN <= size <= min(RECORD_SIZE_MAX, file.size - start):
            return None
        inside = window_pos + size <= len(window)
        data = window[window_pos : window_pos + size] if inside else file.read(start, size)
        try:
            record = decode_record(data, check_crc=self._check_crc)
            check_topic_name(record.topic, size_max=DIRECTORY_NAME_SIZE_MAX)
        except (RecordDamaged, BadCall):
            return None
        return record, data

    def _is_new(self, record: Record) -> bool:
        if not self._dedupe:
            return True
        key = _key(record)
        if key in self._seen:
            return False
        if len(self._seen) < SEEN_MAX:
            self._seen.add(key)
        else:
            self.count.not_remembered += 1
        return True


def _key(record: Record) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    head = record[1:14]
    digest.update(repr(head).encode())
    for part in (record.body, record.topic.encode(), record.properties_raw):
        digest.update(len(part).to_bytes(4, "big") + part)
    return digest.digest()


def files_to_carve(path: Path) -> list[Path]:
    """Return ``path`` if it is a file, or every regular file below it.

    Raises:
        NotInStore: the path does not exist.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise NotInStore(f"{path}: no file or directory; name the damaged file")
    return sorted(_below(path, 0))


def _below(directory: Path, depth: int) -> Iterator[Path]:
    for entry in directory.iterdir():
        if entry.is_symlink():
            continue
        if entry.is_dir() and depth < FILES_DEPTH_MAX:
            yield from _below(entry, depth + 1)
        elif entry.is_file():
            yield entry


LOG_FILE_SIZE: Final = 1 << 30
"""``mappedFileSizeCommitLog`` unless the broker's settings say otherwise."""
OPEN_MAX: Final = 16
FILES_MAX: Final = 100_000
_LOG_OFFSET: Final = slice(
    layout.MESSAGE.part("queue_offset").struct().size,
    layout.MESSAGE.part("log_offset").struct().size,
)


class CarvedLog:
    """A commit log that is written one record at a time, in any order.

    Args:
        file_size: of each file, bytes.
    """

    def __init__(self, out: OutputDirectory, *, file_size: int = LOG_FILE_SIZE) -> None:
        if file_size <= BLANK_SIZE_MIN:
            raise BadCall(f"log files of {file_size} bytes hold no record; give their real size")
        self.file_size = file_size
        self.written_count = 0
        self.out = out
        self._open: OrderedDict[int, SparseFile] = OrderedDict()
        self._bases: set[int] = set()
        # The place of each record of a Raft log, in 8 bytes a number: there may be millions.
        self._waiting: set[int] = set()
        self._places = array("q")
        self._paths: list[Path] = []
        self._in_place_end = 0

    def put(self, carved: CarvedRecord) -> bool:
        """Write a record at its own log offset; False if that place is taken or impossible.

        ``finish`` writes the records of a Raft log.

        Raises:
            OSError: the disk refuses.
        """
        log_offset, size = carved.record.log_offset, len(carved.data)
        base = log_offset - log_offset % self.file_size
        if log_offset < 0 or size + BLANK_SIZE_MIN > self.file_size:
            return False
        if carved.wrapped:
            if log_offset in self._waiting:
                return False
            if not self._paths or self._paths[-1] != carved.path:
                self._paths.append(carved.path)
            self._waiting.add(log_offset)
            self._places.extend((log_offset, carved.pos, size, len(self._paths) - 1))
            return True
        pos = log_offset - base
        has_room = base in self._bases or len(self._bases) < FILES_MAX
        if pos + size + BLANK_SIZE_MIN > self.file_size or not has_room:
            return False
        file = self._file(base)
        if file.read(pos, size).strip(b"\0"):
            return False
        file.pwrite(carved.data, pos)
        self._in_place_end = max(self._in_place_end, log_offset + size)
        self.written_count += 1
        return True

    def finish(self) -> None:
        """Write the records of a Raft log, one after another.

        Raises:
            StoreError: a file in which they were found can no longer be read.
            OSError: the output cannot be written.
        """
        places = self._places
        order = sorted(range(0, len(places), 4), key=places.__getitem__)
        if not order:
            return
        first = places[order[0]] - HEAD_SIZE
        # The log begins with a file, or continues after the log from before the Raft group.
        log_offset = max(first - first % self.file_size, self._in_place_end)
        with closing(OpenFiles()) as files:
            for place in order:
                _, pos, size, path_number = places[place : place + 4]
                source = files.open(self._paths[path_number])
                log_offset = self._pack(bytearray(source.read(pos, size)), log_offset)

    def _pack(self, data: bytearray, log_offset: int) -> int:
        """Write a record at ``at``, or in the next file; return where it ends."""
        left = self.file_size - log_offset % self.file_size
        if len(data) + BLANK_SIZE_MIN > left:
            self._file(log_offset - log_offset % self.file_size).pwrite(
                blank(left), log_offset % self.file_size
            )
            log_offset += left
        data[_LOG_OFFSET] = log_offset.to_bytes(8, "big")
        self._file(log_offset - log_offset % self.file_size).pwrite(
            data, log_offset % self.file_size
        )
        self.written_count += 1
        return log_offset + len(data)

    def _file(self, base: int) -> SparseFile:
        file = self._open.get(base)
        if file is not None:
            self._open.move_to_end(base)
            return file
        path = self.out.file("commitlog", log_file_name(base))
        file = self._open[base] = SparseFile(path, size=self.file_size)
        self._bases.add(base)
        if len(self._open) > OPEN_MAX:
            self._open.popitem(last=False)[1].close()
        return file

    def close(self) -> None:
        """Close every file."""
        while self._open:
            self._open.popitem()[1].close()
