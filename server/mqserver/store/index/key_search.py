"""A search for one key in the index files, which can be interrupted between any two entries.

    newest file ── its slot ── newest entry ──> older ──> …    ENTRIES_A_STEP of them a step
    older file  ── …

Rule: keys of the same slot, of any topic, share one chain, so a chain may have millions of
entries that the search skips. Entries that are in a chain never change, therefore a search
goes on where it stopped, while new keys are added. A file that was deleted meanwhile is passed
over: its records are gone as well.

Source: store/index/IndexService.java#queryOffset, store/index/IndexFile.java#selectPhyOffset.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from mqserver.store.disk.nowait import ColdRead
from mqserver.store.index.index_file import IndexFile
from storefmt.errors import RecordDamaged
from storefmt.formats.index import KeyMatches, older_number

ENTRIES_A_STEP: Final = 1_000
"""About 3 ms of CPU time."""


@dataclass(eq=False, kw_only=True)
class KeySearch:
    """The state of one search."""

    files: Sequence[IndexFile]
    """The index files, the oldest first; the owner removes those that it deletes."""
    key_hash: int
    """Hash of ``topic#key``."""
    count_max: int
    """Most log offsets to find."""
    begin_ms: int
    """Oldest store time."""
    end_ms: int
    """Newest store time."""
    log_offsets: list[int] = field(default_factory=list)
    """Found so far, newest first (bytes)."""

    def __post_init__(self) -> None:
        self._waiting = list(self.files)
        self._file: IndexFile | None = None
        self._matches = KeyMatches(self.key_hash, 0, self.begin_ms, self.end_ms, self.log_offsets)
        self._number = 0

    def advance(self) -> bool:
        """Look at the next entries; return True when the search has ended.

        Raises:
            ColdRead: the next entry is not in the page cache. To be called again.
            OSError: the disk could not be read.
        """
        for count in range(ENTRIES_A_STEP):
            try:
                if len(self.log_offsets) >= self.count_max or not self._next_entry():
                    return True
            except ColdRead as cold:
                if not count:
                    raise
                # The entries before it count; the next step reads this one again.
                cold.drop()
                return False
        return False

    def _next_entry(self) -> bool:
        """Look at one entry or begin with one file; return False if there is nothing left."""
        file = self._file
        if file is None:
            return self._begin_file()
        if file not in self.files or not 0 < self._number < file.entry_count:
            self._file = None
            return True
        entry = file.entry(self._number)
        try:
            older = older_number(self._number, entry, entry_count=file.entry_count)
        except RecordDamaged:
            # The entries of this slot form a circle, in which Java would loop for ever.
            older = 0
        self._number = older if self._matches.accept_entry(entry) else 0
        return True

    def _begin_file(self) -> bool:
        """Find the chain of the key in the next file; return False if there is no such file."""
        if not self._waiting:
            return False
        file = self._waiting[-1]
        self._number = 0
        if file in self.files and file.is_time_matched(self.begin_ms, self.end_ms):
            self._number = file.newest_number(self.key_hash)
            self._matches.begin_ms = file.begin_ms
        self._file = file
        # Files before one that began earlier than the wanted time have only older records.
        self._waiting = [] if file.begin_ms < self.begin_ms else self._waiting[:-1]
        return True
