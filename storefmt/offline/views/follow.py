"""Follows a commit log while a broker writes it; each record comes once, when it is complete.

    poll ──> |record|record|record|0 0 0 …      what came since the last poll
                                  ^ position: the next poll begins here

Rule: nothing is locked or kept open between polls. Bytes that are not a complete record may be a
record that the broker is writing, so ``poll`` waits for them. Only when complete records lie
after them are they reported as ``SkippedBytes`` and skipped. Files that retention deletes are
reported and skipped in the same way.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storefmt.errors import StoreError
from storefmt.formats.message import Record
from storefmt.offline.views.log_scan import Blank, Damage, walk_file
from storefmt.paths import parse_log_file_name
from storefmt.store_file import StoreFile

POLLS_TO_WAIT: Final = 10
"""How often damage with records after it is read again before it is skipped."""


@dataclass(frozen=True, slots=True)
class FollowedRecord:
    """A record with its real position: file name and log offset."""

    file: str
    log_offset: int
    record: Record


@dataclass(frozen=True, slots=True)
class SkippedBytes:
    """Bytes of the log that were skipped, and why."""

    log_offset: int
    size: int
    why: str


class Follower:
    """Follows the log of one store directory.

    Args:
        directory: ``commitlog`` of a store; it may be missing until the broker creates it.
        log_offset: where to begin (bytes): the start of a record, or the end of the log.
    """

    def __init__(self, directory: Path, log_offset: int) -> None:
        self.directory = directory
        self.log_offset = log_offset
        self._waited = 0

    def poll(self) -> Iterator[FollowedRecord | SkippedBytes]:
        """Yield the records that were written since the last poll.

        Raises:
            StoreError: the disk refuses a read.
        """
        while True:
            path, skipped = self._file()
            if skipped is not None:
                self.log_offset += skipped.size
                yield skipped
            if path is None:
                return
            try:
                yield from self._read(path)
            except StoreError:
                # Retention may have deleted it since it was listed: look again.
                if path.exists():
                    raise
                continue
            if not self._at_end_of(path):
                return

    def _at_end_of(self, path: Path) -> bool:
        """Return whether a file was read to its end, so that the next file may exist."""
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return True
        return self.log_offset >= (parse_log_file_name(path.name) or 0) + size

    def _file(self) -> tuple[Path | None, SkippedBytes | None]:
        """Return the file at the position, and the gap before the next file if there is none."""
        try:
            files = sorted(
                (start, path)
                for path in self.directory.iterdir()
                if (start := parse_log_file_name(path.name)) is not None
            )
        except FileNotFoundError:
            return None, None
        before = [place for place in files if place[0] <= self.log_offset]
        later = [place for place in files if place[0] > self.log_offset]
        if before:
            start, path = before[-1]
            try:
                end = start + path.stat().st_size
            except FileNotFoundError:
                end = start
            if self.log_offset < end:
                return path, None
        if not later:
            return None, None
        start, path = later[0]
        size = start - self.log_offset
        return path, SkippedBytes(
            self.log_offset, size, f"{size} bytes of log are no longer in any file"
        )

    def _read(self, path: Path) -> Iterator[FollowedRecord | SkippedBytes]:
        base = parse_log_file_name(path.name) or 0
        with closing(StoreFile(path)) as file:
            for pos, item in walk_file(file, base=base, start=self.log_offset - base):
                if isinstance(item, Blank):
                    self.log_offset = base + file.size
                elif isinstance(item, Record):
                    if _is_torn(item) and not self._is_followed(file, pos + item.size):
                        return
                    self.log_offset = base + pos + item.size
                    self._waited = 0
                    yield FollowedRecord(path.name, base + pos, item)
                elif isinstance(item, Damage):
                    if not self._give_up(file, item):
                        return
                    self.log_offset = base + item.pos + item.size
                    yield SkippedBytes(base + item.pos, item.size, str(item.error))
                else:
                    return

    def _give_up(self, file: StoreFile, damage: Damage) -> bool:
        behind = damage.pos + damage.size
        if behind >= file.size and not self._has_next(file):
            return False
        self._waited += 1
        if self._waited <= POLLS_TO_WAIT:
            return False
        self._waited = 0
        return True

    def _has_next(self, file: StoreFile) -> bool:
        start = (parse_log_file_name(file.path.name) or 0) + file.size
        return any(
            parse_log_file_name(path.name) == start and StoreFile(path).read(0, 4) > bytes(4)
            for path in self.directory.iterdir()
        )

    def _is_followed(self, file: StoreFile, pos: int) -> bool:
        return file.read(pos, 8).strip(b"\0") != b""


def _is_torn(record: Record) -> bool:
    """Return whether the end of a record may not be written yet: the CRC covers the body only."""
    return record.properties_raw.endswith(b"\0") or record.topic.endswith("\0")
