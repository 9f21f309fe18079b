"""Retention policy: which commit log files have expired; it touches no file.

    hour of deleteWhen, disk over its ratio, or requested by an operator
        └─> oldest files first, at most 10 a round, while sealed + fileReservedTime <= clock
    disk over the forcible ratio and cleanFileForciblyEnable: the age does not matter
    disk over the warning level: messages are refused until it is below the forcible ratio

Rule: the age of a file is measured by the retention clock. It advances only while a broker
runs, by at most a minute between two checks, and by at most an hour for each restart. A jump of
the wall clock, during a run or between two, therefore makes no file older than it is. A file's
age begins when it is full ("sealed"). A file of another broker is as old as its last message
says, and never older than an earlier file. The last file is never deleted.

Source: store/DefaultMessageStore.java (CleanCommitLogService), store/MappedFileQueue.java
#deleteExpiredFileByTime (which compares modification times with the wall clock).
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from mqserver.store.disk.disk import DiskUsage
from mqserver.store.store_config import StoreConfig

LOG = logging.getLogger(__name__)

FILES_A_ROUND: Final = 10
MANUAL_ROUNDS: Final = 20
"""Number of rounds that one request for deletion lasts."""
STEP_MS_MAX: Final = 60_000
STOP_MS_MAX: Final = 3_600_000
_HOUR_MS: Final = 3_600_000


class RetentionClock:
    """The clock that measures the age of files.

    Args:
        known_ms: its last recorded value; 0 if it never ran.
        newest_ms: store time of the newest message, 0 for none.
        now_ms: the wall clock.
    """

    def __init__(self, *, known_ms: int, newest_ms: int, now_ms: int) -> None:
        start = known_ms or newest_ms or now_ms
        if known_ms:
            self.clock_ms = known_ms + min(max(now_ms - known_ms, 0), STOP_MS_MAX)
        else:
            self.clock_ms = min(now_ms, start + STOP_MS_MAX)
        self._looked_ms = now_ms

    def tick(self, now_ms: int) -> int:
        """Advance with the wall clock, and return the current value."""
        self.clock_ms += min(max(now_ms - self._looked_ms, 0), STEP_MS_MAX)
        self._looked_ms = now_ms
        return self.clock_ms


class Retention:
    """Decides which files to delete; the cleaner deletes them.

    Args:
        config: the store's settings.
        clock: the retention clock.
        sealed_ms: retention clock value at which each file was full, by the file's start.
    """

    def __init__(
        self, config: StoreConfig, clock: RetentionClock, sealed_ms: dict[int, int]
    ) -> None:
        self.sealed_ms = sealed_ms
        self.disk_full = ""
        """Why messages are refused; empty while they are accepted."""
        self._config = config
        self._clock = clock
        self._manual_rounds = 0
        self._active: int | None = None

    @property
    def clock_ms(self) -> int:
        """Current value of the retention clock."""
        return self._clock.clock_ms

    def delete_by_hand(self) -> None:
        """Delete expired files now, whatever the hour is."""
        self._manual_rounds = MANUAL_ROUNDS

    def look(self, now_ms: int, *, bases: Sequence[int], active: int, usage: DiskUsage) -> None:
        """Update the clock, the files that have become full, and the state of the disk.

        Args:
            now_ms: the wall clock.
            bases: starts of all files, sorted.
            active: start of the file that takes the next message.
            usage: space of the store's disk.
        """
        clock_ms = self._clock.tick(now_ms)
        if self._active is not None:
            for base in bases:
                if self._active <= base < active:
                    self.sealed_ms.setdefault(base, clock_ms)
        self._active = active
        # A power cut may have taken a file that was full; then it is filled a second time.
        self.sealed_ms = {
            base: ms for base, ms in self.sealed_ms.items() if bases[0] <= base < active
        }
        config = self._config
        if usage.percent > config.disk_space_warning_level_ratio:
            was_full = bool(self.disk_full)
            self.disk_full = (
                f"the disk is {usage.percent} % full, over diskSpaceWarningLevelRatio="
                f"{config.disk_space_warning_level_ratio}; free space or add some"
            )
            if not was_full:
                LOG.error("messages are refused: %s", self.disk_full)
        elif usage.percent <= config.disk_space_clean_forcibly_ratio:
            if self.disk_full:
                LOG.warning("messages are accepted again, the disk is %s %% full", usage.percent)
            self.disk_full = ""

    def expired(
        self,
        now_ms: int,
        *,
        bases: Sequence[int],
        usage: DiskUsage,
        store_ms_at: Callable[[int], int],
    ) -> list[int]:
        """Return the starts of the files to delete in this round.

        Args:
            now_ms: the wall clock.
            bases: starts of the files that may be deleted, the oldest first.
            usage: space of the store's disk.
            store_ms_at: called with the start of a file; returns the store time (ms) of the
                first record of the file after it, -1 if it cannot be read.
        """
        config = self._config
        manual = self._manual_rounds > 0
        self._manual_rounds -= manual
        is_time = datetime.fromtimestamp(now_ms / 1000).hour in config.delete_hours()
        # Java's getter limits the ratio to this range.
        used_max = min(max(config.disk_max_used_space_ratio, 10), 95)
        if not (manual or is_time or usage.percent > used_max):
            return []
        forced = (
            config.clean_file_forcibly_enable
            and usage.percent > config.disk_space_clean_forcibly_ratio
        )
        gone: list[int] = []
        previous_ms = 0
        for base in bases[:FILES_A_ROUND]:
            sealed_ms = previous_ms = self._sealed_ms(base, previous_ms, store_ms_at)
            age_ms = self._clock.clock_ms - sealed_ms
            if age_ms < config.file_reserved_time_h * _HOUR_MS and not forced:
                break
            gone.append(base)
        return gone

    def _sealed_ms(self, base: int, previous_ms: int, store_ms_at: Callable[[int], int]) -> int:
        sealed_ms = self.sealed_ms.get(base)
        if sealed_ms is None:
            store_ms = store_ms_at(base)
            clock_ms = self._clock.clock_ms
            sealed_ms = clock_ms if store_ms < 0 else min(max(store_ms, previous_ms), clock_ms)
            self.sealed_ms[base] = sealed_ms
        return sealed_ms
