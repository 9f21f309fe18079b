"""The index: a sequence of index files, of which the last one takes new keys.

Rule: the keys of a record are added as ``topic#key``, the unique key first, then the user's
keys; rollback records are skipped. A full file is followed by a new one, which is named by the
local time. Until its first key comes, the new file's begin is the end of the file before it.
Everything here can be rebuilt from the commit log.

Source: store/index/IndexService.java#buildIndex, #queryOffset, #getAndCreateLastIndexFile.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from server.store.disk.disk import Disk
from server.store.index.index_file import FRESH_SIZE_MAX, IndexFile
from server.store.results import DispatchEntry
from storefmt.errors import RecordDamaged
from storefmt.formats.index import IndexHeader
from storefmt.formats.javahash import KeyHashes, index_key_hash
from storefmt.formats.sysflag import TRANSACTION_MASK, TRANSACTION_ROLLBACK

PAGES_A_STEP: Final = 256
"""Slot pages (4 KiB) that one housekeeping step writes, so that the event loop is not held up."""


class Index:
    """All index files of a store.

    Args:
        disk: the disk that holds the files.
        directory: the ``index`` directory.
        slot_count: number of slots of a new file.
        entry_count_max: most entries of a new file.
        files: the existing files, the oldest first.
    """

    def __init__(
        self,
        disk: Disk,
        directory: Path,
        *,
        slot_count: int,
        entry_count_max: int,
        files: Iterable[IndexFile] = (),
    ) -> None:
        self._disk = disk
        self._directory = directory
        self.slot_count = slot_count
        self._entry_count_max = entry_count_max
        self.files = list(files)
        # Files that are not fully written and synced; the last file is always among them.
        self._active = self.files[-1:]
        self._hashes = KeyHashes()
        self._skip_keys = self._keys_at_end(self.files)

    def dispatch(self, entry: DispatchEntry, now_ms: int) -> None:
        """Add the keys of one record unless the index already has them.

        Raises:
            OSError: no file could be created for them.
        """
        file = self._last(now_ms)
        keys = entry.keys
        if entry.log_offset < file.end_log_offset:
            return
        if self._skip_keys:
            # A rebuild starts at the last record of the last file. The end of that file may
            # have cut off some of its keys, so only the others are new.
            if entry.log_offset == file.end_log_offset:
                keys = keys[self._skip_keys :]
            self._skip_keys = 0
        if not keys or entry.sys_flag & TRANSACTION_MASK == TRANSACTION_ROLLBACK:
            return
        key_hash = self._hashes.of(entry.topic)
        self._put_rows([(key_hash(key), entry.log_offset, entry.store_ms) for key in keys], now_ms)

    def dispatch_all(self, entries: Sequence[DispatchEntry], now_ms: int) -> None:
        """Add the keys of records in log order unless the index already has them.

        Raises:
            OSError: no file could be created for them.
        """
        new = 0
        while new < len(entries) and (
            self._skip_keys or not self.files or entries[new].log_offset <= self.end_log_offset
        ):
            self.dispatch(entries[new], now_ms)
            new += 1
        if new < len(entries):
            self.dispatch_new(entries[new:], now_ms)

    @property
    def end_log_offset(self) -> int:
        """Log offset of the last record that has keys in the index, 0 for none."""
        return self.files[-1].end_log_offset if self.files else 0

    def dispatch_new(self, entries: Sequence[DispatchEntry], now_ms: int) -> None:
        """Add the keys of newly stored records, none of which is in the index.

        Raises:
            OSError: no file could be created for some of the keys. None of those is in the
                index, and ``dispatch`` may be called with all of the records.
        """
        rows: list[tuple[int, int, int]] = []
        add = rows.append
        known: str | None = None
        key_hash = self._hashes.of("")
        for topic, _, _, log_offset, _, _, store_ms, sys_flag, keys in entries:
            if not keys or sys_flag & TRANSACTION_MASK == TRANSACTION_ROLLBACK:
                continue
            if topic is not known:
                key_hash = self._hashes.of(topic)
                known = topic
            for key in keys:
                add((key_hash(key), log_offset, store_ms))
        if rows:
            self._put_rows(rows, now_ms)

    def _put_rows(self, rows: Sequence[tuple[int, int, int]], now_ms: int) -> None:
        try:
            done = self._last(now_ms).put_rows(rows)
            while done < len(rows):
                done += self._last(now_ms).put_rows(rows[done:])
        except OSError:
            # The caller repeats this with ``dispatch``, from the record whose keys were divided.
            self._skip_keys = self._keys_at_end(self.files)
            raise

    def _keys_at_end(self, files: list[IndexFile]) -> int:
        """Return how many keys of the last record in ``files`` these files have."""
        count = 0
        for file in reversed(files):
            if file.end_log_offset != files[-1].end_log_offset:
                break
            count += file.keys_at_end()
        return count

    def _last(self, now_ms: int) -> IndexFile:
        """Return the file that takes the next key, a new one if the last one is full."""
        previous = self.files[-1] if self.files else None
        if previous is not None and previous.entry_count < previous.entry_count_max:
            if previous.fresh_size >= FRESH_SIZE_MAX:
                previous.write(pages_max=0)
            return previous
        header = IndexHeader()
        if previous is not None:
            header = header._replace(
                begin_ms=previous.end_ms,
                end_ms=previous.end_ms,
                begin_log_offset=previous.end_log_offset,
                end_log_offset=previous.end_log_offset,
            )
        file = IndexFile(
            self._disk,
            self._directory / self._new_name(now_ms),
            slot_count=self.slot_count,
            entry_count_max=self._entry_count_max,
            header=header,
        )
        self.files.append(file)
        self._active.append(file)
        return file

    def _new_name(self, now_ms: int) -> str:
        """Return a name by local time (yyyyMMddHHmmssSSS) that sorts after the last one."""
        name = _time_name(now_ms)
        last = self.files[-1].path.name if self.files else ""
        return name if name > last else _next_name(last)

    def write(self, *, pages_max: int | None = None) -> bool:
        """Write what is only in memory; return True if nothing is left.

        Args:
            pages_max: most slot pages (4 KiB) to write for each file; None for all.

        Raises:
            OSError: the disk refused it; it stays in memory.
        """
        done = True
        for file in self._active:
            if not file.write(pages_max=pages_max):
                done = False
            elif file.is_full:
                file.release_slots()
        return done

    def take_unsynced(self) -> list[IndexFile]:
        """Return the files written since the last call; full ones are not written again."""
        files = [file for file in self._active if file.unsynced]
        for file in files:
            file.unsynced = False
        self._active = [file for file in self._active if not file.is_done]
        return files

    def query(
        self, topic: str, key: str, *, count_max: int, begin_ms: int, end_ms: int
    ) -> list[int]:
        """Return log offsets of records whose key has the same hash as ``key``, newest first.

        Args:
            topic: the records' topic.
            key: one key of the records.
            count_max: most log offsets to return.
            begin_ms: oldest store time; index entries have whole seconds.
            end_ms: newest store time.
        """
        key_hash = index_key_hash(f"{topic}#{key}")
        found: list[int] = []
        for file in reversed(self.files):
            if file.is_time_matched(begin_ms, end_ms):
                try:
                    found += file.select(
                        key_hash,
                        begin_ms=begin_ms,
                        end_ms=end_ms,
                        count_max=count_max - len(found),
                    )
                except RecordDamaged:
                    # The entries of this slot form a circle, in which Java would loop for ever.
                    continue
            if file.begin_ms < begin_ms or len(found) >= count_max:
                break
        return found

    def drop_from(self, number: int) -> int:
        """Delete the files from ``number`` on, to be rebuilt; return how many there were.

        Raises:
            OSError: the disk refused.
        """
        gone = self.files[number:]
        for file in gone:
            file.close()
            self._disk.unlink(file.path)
        del self.files[number:]
        self._active = [file for file in self._active if file not in gone]
        self._skip_keys = self._keys_at_end(self.files)
        return len(gone)

    def take_expired(self, log_min: int) -> list[Path]:
        """Close and return the files whose records are all below ``log_min``, except the last."""
        gone: list[Path] = []
        while len(self.files) > 1 and self.files[0].end_log_offset < log_min:
            if self.files[0] in self._active:
                break
            file = self.files.pop(0)
            file.close()
            gone.append(file.path)
        return gone

    def has_all(self, number: int, keys: tuple[str, ...]) -> bool:
        """Tell whether the first ``number`` files have all keys of their last record."""
        return self._keys_at_end(self.files[:number]) >= len(keys)

    def close(self) -> None:
        """Close every file."""
        for file in self.files:
            file.close()


def _time_name(now_ms: int) -> str:
    when = datetime.fromtimestamp(now_ms / 1000)
    return f"{when:%Y%m%d%H%M%S}{now_ms % 1000:03d}"


def _next_name(last: str) -> str:
    """Return the time name one ms after ``last``, or the next number if it is not a time."""
    try:
        when = datetime.strptime(last[:14], "%Y%m%d%H%M%S").timestamp()
    except ValueError:
        return str(int(last) + 1).zfill(len(last))
    return _time_name(int(when) * 1000 + int(last[14:] or "0") + 1)
