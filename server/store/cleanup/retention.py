"""Which commit log files have had their time: the policy, without any file.

    hour of deleteWhen, disk over its ratio, or asked by hand
        └─> oldest files first, at most 10 a round, while sealed + fileReservedTime <= clock
    disk over the forcible ratio and cleanFileForciblyEnable: the time does not count
    disk over the warning level: no more messages, until it is below the forcible ratio

Rule: the age of a file is counted by a clock of our own that goes on only while a broker
runs, by at most a minute a look, and by at most an hour for each stop. A wall clock that
jumps, live or between two runs, makes nothing older than it is. A file's age begins when
it was full; files of another broker are as old as their last message says, and never
older than an earlier file. The last file is never deleted.

Source: store/DefaultMessageStore.java (CleanCommitLogService), store/MappedFileQueue.java
#deleteExpiredFileByTime (which goes by modification times and the wall clock).
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from server.store.config import StoreConfig
from server.store.disk.disk import DiskUsage

FILES_A_ROUND: Final = 10
MANUAL_ROUNDS: Final = 20
"""Rounds that one request for deletion lasts."""
STEP_MS_MAX: Final = 60_000
STOP_MS_MAX: Final = 3_600_000
_HOUR_MS: Final = 3_600_000


class RetentionClock:
    """The time by which files age.

    Args:
        known_ms: what it showed last; 0 where it never ran.
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
        """Go on with the wall clock, and return what it shows now."""
        self.clock_ms += min(max(now_ms - self._looked_ms, 0), STEP_MS_MAX)
        self._looked_ms = now_ms
        return self.clock_ms


class Retention:
    """Decides; somebody else deletes.

    Args:
        sealed_ms: by the start of a file, what the clock showed when it was full.
    """

    def __init__(
        self, config: StoreConfig, clock: RetentionClock, sealed_ms: dict[int, int]
    ) -> None:
        self.sealed_ms = sealed_ms
        self.disk_full = ""
        """Why no more messages are stored; empty while they are."""
        self._config = config
        self._clock = clock
        self._manual_rounds = 0
        self._active: int | None = None

    @property
    def clock_ms(self) -> int:
        """What the clock of retention shows."""
        return self._clock.clock_ms

    def delete_by_hand(self) -> None:
        """Delete what is expired now, whatever the hour is."""
        self._manual_rounds = MANUAL_ROUNDS

    def look(self, now_ms: int, *, bases: Sequence[int], active: int, usage: DiskUsage) -> None:
        """Take note of the time, of files that became full, and of the disk.

        Args:
            bases: starts of all files, ``active``: of the one that takes the next message.
        """
        clock_ms = self._clock.tick(now_ms)
        if self._active is not None:
            for base in bases:
                if self._active <= base < active:
                    self.sealed_ms.setdefault(base, clock_ms)
        self._active = active
        self.sealed_ms = {base: ms for base, ms in self.sealed_ms.items() if base >= bases[0]}
        config = self._config
        if usage.percent > config.disk_space_warning_level_ratio:
            self.disk_full = (
                f"the disk is {usage.percent} % full, over diskSpaceWarningLevelRatio="
                f"{config.disk_space_warning_level_ratio}; free space or add some"
            )
        elif usage.percent <= config.disk_space_clean_forcibly_ratio:
            self.disk_full = ""

    def expired(
        self,
        now_ms: int,
        *,
        bases: Sequence[int],
        usage: DiskUsage,
        store_ms_at: Callable[[int], int],
    ) -> list[int]:
        """Return the starts of the files that are to be deleted in this round.

        Args:
            bases: starts of the files that may go, the oldest first.
            store_ms_at: gives the store time (ms) of the first record of the file that
                follows one, -1 where it cannot be read.
        """
        config = self._config
        manual = self._manual_rounds > 0
        self._manual_rounds -= manual
        is_time = datetime.fromtimestamp(now_ms / 1000).hour in config.delete_hours()
        # Java's getter keeps it within these, whatever is set.
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
        known = self.sealed_ms.get(base)
        if known is None:
            found = store_ms_at(base)
            clock_ms = self._clock.clock_ms
            known = clock_ms if found < 0 else min(max(found, previous_ms), clock_ms)
            self.sealed_ms[base] = known
        return known
