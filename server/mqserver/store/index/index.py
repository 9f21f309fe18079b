"""The index: a sequence of index files, of which the last one takes new keys.

Rule: the keys of a record are added as ``topic#key``, the unique key first, then the user's
keys; rollback records are skipped. A full file is followed by a new one (``IndexTable``).
Everything here can be rebuilt from the commit log.

Source: store/index/IndexService.java#buildIndex, #getAndCreateLastIndexFile.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import Disk
from mqserver.store.index.index_file import FRESH_SIZE_MAX, IndexFile
from mqserver.store.index.key_search import KeySearch
from mqserver.store.results import DispatchEntry
from storefmt.dispatch.index_table import Row, following_header, key_rows, new_file_name
from storefmt.formats.index import index_key
from storefmt.formats.javahash import index_key_hash

PAGES_A_STEP: Final = 256
"""Slot pages (4 KiB) that one housekeeping step copies, so that the event loop is not held up."""


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
        self._skip_keys = self._keys_at_end(self.files)

    def dispatch(self, entry: DispatchEntry, now_ms: int) -> None:
        """Add the keys of one record unless the index already has them.

        Raises:
            OSError: the slots of the last file could not be read.
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
        self._put_rows(key_rows([entry._replace(keys=keys)]), now_ms)

    def dispatch_all(self, entries: list[DispatchEntry], now_ms: int) -> None:
        """Add the keys of records in log order unless the index already has them, and write some.

        Raises:
            OSError: no file could be created for them. They may be added again.
        """
        new = 0
        while new < len(entries) and (
            self._skip_keys or not self.files or entries[new].log_offset <= self.end_log_offset
        ):
            self.dispatch(entries[new], now_ms)
            new += 1
        if new < len(entries):
            self.dispatch_new(entries[new:], now_ms)
        self._write_if_much()

    def _write_if_much(self) -> None:
        """Write the entries, if there are many of them or a new file has to be created."""
        if any(not file.is_made or file.fresh_size >= FRESH_SIZE_MAX for file in self._active):
            try:
                self.write(pages_max=0)
            except OSError:
                self._skip_keys = self._keys_at_end(self.files)
                raise

    @property
    def end_log_offset(self) -> int:
        """Log offset of the last record that has keys in the index, 0 for none."""
        return self.files[-1].end_log_offset if self.files else 0

    def dispatch_new(self, entries: list[DispatchEntry], now_ms: int) -> None:
        """Add the keys of newly stored records, none of which is in the index.

        After any error ``dispatch`` may be called with all of the records: it leaves out the keys
        that the index already has.

        Raises:
            OSError: the slots of the last file could not be read.
        """
        self._put_rows(key_rows(entries), now_ms)

    def _put_rows(self, rows: list[Row], now_ms: int) -> None:
        try:
            added = 0
            while added < len(rows):
                added += self._last(now_ms).put_rows(rows[added:] if added else rows)
        except Exception:
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
        if previous is not None and not previous.is_full:
            return previous
        last = self.files[-1].path.name if self.files else ""
        file = IndexFile(
            self._disk,
            self._directory / new_file_name(now_ms, last=last),
            slot_count=self.slot_count,
            entry_count_max=self._entry_count_max,
            header=following_header(previous.header if previous is not None else None),
        )
        self.files.append(file)
        self._active.append(file)
        return file

    def write(self, *, pages_max: int | None = None) -> bool:
        """Write what is only in memory; return True if nothing is left.

        Args:
            pages_max: most slot pages (4 KiB) to write for each file; None for all.

        Raises:
            OSError: the disk refused it; it stays in memory.
        """
        is_complete = True
        for file in self._active:
            is_complete = file.write(pages_max=pages_max) and is_complete
        return is_complete

    def unwritten_files(self) -> list[IndexFile]:
        """Return the files that lack something that is in memory, the oldest first."""
        return [file for file in self._active if not file.is_written]

    def take_unsynced(self) -> list[IndexFile]:
        """Return the files written since the last call; full ones are not written again."""
        files = [file for file in self._active if file.unsynced]
        for file in files:
            file.unsynced = False
        self._active = [file for file in self._active if not file.is_done]
        return files

    def search(
        self, topic: str, key: str, *, count_max: int, begin_ms: int, end_ms: int
    ) -> KeySearch:
        """Return a search for records whose key has the same hash as ``key``.

        Args:
            topic: the records' topic.
            key: one key of the records.
            count_max: most log offsets to find.
            begin_ms: oldest store time; index entries have whole seconds.
            end_ms: newest store time.
        """
        return KeySearch(
            files=self.files,
            key_hash=index_key_hash(index_key(topic, key)),
            count_max=count_max,
            begin_ms=begin_ms,
            end_ms=end_ms,
        )

    def drop_from(self, number: int) -> int:
        """Delete the files from ``number`` on, to be rebuilt; return how many there were.

        Raises:
            OSError: the disk refused.
        """
        gone = self.files[number:]
        for file in gone:
            file.close()
            if file.is_made:
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
        """Return whether the first ``number`` files have all keys of their last record."""
        return self._keys_at_end(self.files[:number]) >= len(keys)

    def close(self) -> None:
        """Close every file."""
        for file in self.files:
            file.close()
