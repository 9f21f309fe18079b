"""Records out of files that are no store any more: cut, overwritten, orphaned, renamed.

    garbage | record | garbage | record | half a record
            ^ magic, sizes that add up, CRC of the body ──> a record, wherever it lies

Rule: nothing is believed but the bytes: any position may be a record's start, and its
``log_offset`` says where it once lay, not where it is. A record counts when its lengths
add up and its CRC fits; the search goes on behind it, or one byte further where it does
not. The same record found twice (a copy of a file, a page written twice) counts once.

Source: store/CommitLog.java#checkMessageAndReturnSize (layout only).
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from storefmt.errors import BadCall, NotInStore, RecordDamaged
from storefmt.formats.dledger import HEAD_SIZE, wraps
from storefmt.formats.message import MAGIC_V1, MAGIC_V2, RECORD_SIZE_MIN, Record, decode_record
from storefmt.formats.scan import RECORD_SIZE_MAX
from storefmt.offline.output_dir import progress_none
from storefmt.offline.views.effective_log import ProgressCall
from storefmt.paths import check_topic_name
from storefmt.store_file import StoreFile

WINDOW_SIZE: Final = 4 << 20
SEEN_MAX: Final = 4_000_000
"""Records that are remembered to find copies: 16 bytes each, and a set around them."""
FILES_DEPTH_MAX: Final = 16
_MAGIC_POS: Final = 4
_MAGIC: Final = re.compile(
    b"|".join(re.escape(magic.to_bytes(4, "big", signed=True)) for magic in (MAGIC_V1, MAGIC_V2))
)
_TOPIC_SIZE_MAX: Final = 255


class Carved(NamedTuple):
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
    """What a search found.

    Attributes:
        files, size: files searched, and bytes of them that are no hole.
        records: records found once; ``copies``: the same ones found again.
        torn: places with a magic that were no whole record.
        not_remembered: records that were not compared with others: too many were found.
    """

    files: int = 0
    size: int = 0
    records: int = 0
    copies: int = 0
    torn: int = 0
    not_remembered: int = 0


class Carver:
    """Searches files; ``count`` tells what was found so far.

    Args:
        check_crc: False also takes records whose body does not fit its CRC.
        dedupe: leave out records that were found before.
    """

    def __init__(self, *, check_crc: bool = True, dedupe: bool = True) -> None:
        self.count = CarveCount()
        self._check_crc = check_crc
        self._dedupe = dedupe
        self._seen: set[bytes] = set()

    def search(
        self, paths: list[Path], *, progress: ProgressCall = progress_none
    ) -> Iterator[Carved]:
        """Yield the records of some files.

        Raises:
            StoreError: a file cannot be read.
        """
        total, done = sum(path.stat().st_size for path in paths), 0
        for path in paths:
            file = StoreFile(path)
            try:
                self.count.files += 1
                for pos, record, data in self._search_file(file, done, total, progress):
                    if self._is_new(record):
                        self.count.records += 1
                        base = int(path.name) if path.name.isdecimal() else 0
                        in_place = record.log_offset == base + pos
                        head = file.read(pos - HEAD_SIZE, HEAD_SIZE) if pos >= HEAD_SIZE else b""
                        yield Carved(path, pos, record, data, in_place, wraps(head, record))
                    else:
                        self.count.copies += 1
                done += file.size
            finally:
                file.close()
        progress(total, total)

    def _search_file(
        self, file: StoreFile, done: int, total: int, progress: ProgressCall
    ) -> Iterator[tuple[int, Record, bytes]]:
        behind = 0
        for first, last in file.extents():
            # A record may begin in the last bytes of a hole: its size is 00 00 xx xx.
            pos = max(behind, first - _MAGIC_POS, 0)
            while pos < last:
                window = file.read(pos, WINDOW_SIZE)
                self.count.size += min(len(window), last - pos)
                for match in _MAGIC.finditer(window):
                    start = pos + match.start() - _MAGIC_POS
                    if start < behind or start < pos:
                        continue
                    found = self._record_at(file, window, pos, start)
                    if found is None:
                        self.count.torn += 1
                    else:
                        behind = start + len(found[1])
                        yield start, *found
                    progress(done + start, total)
                # Windows overlap so that no magic and no size before it is cut.
                step = max(len(window) - 2 * _MAGIC_POS + 1, 1)
                pos = max(pos + step, min(behind, last))
                progress(done + pos, total)

    def _record_at(
        self, file: StoreFile, window: bytes, pos: int, start: int
    ) -> tuple[Record, bytes] | None:
        at = start - pos
        size = int.from_bytes(window[at : at + _MAGIC_POS], "big", signed=True)
        if not RECORD_SIZE_MIN <= size <= min(RECORD_SIZE_MAX, file.size - start):
            return None
        inside = at + size <= len(window)
        data = window[at : at + size] if inside else file.read(start, size)
        try:
            record = decode_record(data, check_crc=self._check_crc)
            check_topic_name(record.topic, size_max=_TOPIC_SIZE_MAX)
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
    """Return the files that ``path`` means: itself, or every regular file below it.

    Raises:
        NotInStore: nothing is there.
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
