"""The wheel, the log and the checkpoint of one store, opened, judged and written together.

    open    checkpoint -> wheel -> units after the checkpoint's position are put into the wheel
            what does not fit -> all three are removed, and ``lost`` says why
    flush   new units of the log written and synced -> changed pages of the wheel written and synced
            -> checkpoint written and synced; all of it in a thread, which also creates the files

Rule: what changes between two flushes is in memory. On the disk the wheel is never older than the
checkpoint, and the log never older than the wheel. So after a crash every unit up to the
checkpoint's position is in its slot. A unit after that position is in its slot as well, or the
slot's newest unit is the one that the unit names as its previous one. If neither holds, or a slot
names a unit that the log lacks, or the sum of the checkpoint is wrong, the files do not belong
together. Then they are built again from the queue ``rmq_sys_wheel_timer``.

Source: store/timer/TimerMessageStore.java#recover, #doEnqueue, TimerCheckpoint.java (5.4.0).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from mqserver.store.disk.disk import Disk, read_file
from mqserver.store.disk.file_write import FileWrite, write_file
from mqserver.store.disk.job import DiskJob
from mqserver.store.store_config import StoreConfig
from mqserver.store.timer.timer_log import TimerLog
from mqserver.store.timer.wheel import TimerWheel
from storefmt.errors import RecordDamaged
from storefmt.formats.timer import (
    BLANK_SIZE,
    CHECKPOINT_SIZE,
    MAGIC_DELETE,
    MAGIC_PLAIN,
    MAGIC_ROLL,
    NO_POS,
    UNIT_SIZE,
    WHEEL_SIZE,
    Slot,
    TimerCheckpoint,
    TimerUnit,
    delivered_log_offset,
    has_wrong_sum,
)
from storefmt.paths import StorePaths

WHEEL_FILE: Final = "timerwheel"
LOG_DIRECTORY: Final = "timerlog"
CHECKPOINT_FILE: Final = "timercheck"


class TimerFlush(DiskJob):
    """Makes the state of the timer at one moment durable."""

    def __init__(
        self,
        files: "TimerFiles",
        *,
        disk: Disk,
        paths: StorePaths,
        checkpoint: TimerCheckpoint,
        delivered: int | None,
        log_offset: int,
        gone: Sequence[str],
    ) -> None:
        self.log_offset = log_offset
        """Log offset up to which the commit log has to be on the disk before ``do_work``."""
        self.checkpoint = checkpoint
        self.pages = files.wheel.take_changes()
        self._disk, self._root = disk, paths.root
        self.log = files.log
        self._logs = files.log.begin_write()
        wheel, check = paths.root / WHEEL_FILE, paths.config_file(CHECKPOINT_FILE)
        self._wheel = FileWrite(str(wheel), WHEEL_SIZE, self.pages)
        data = checkpoint.encode(delivered_log_offset=delivered)
        self._check = FileWrite(str(check), CHECKPOINT_SIZE, [(0, data)])
        self._gone = gone
        self.gone_count = len(gone)

    def work(self) -> None:
        """Write in the order in which a crash may stop it, then delete the oldest files."""
        made: list[str] = []
        for write in (*self._logs, self._wheel, self._check):
            write_file(self._disk, write, creating=made.append, syncs=True)
            for directory in made:
                self._disk.fsync_dir(directory)
                # The directory itself may be new.
                self._disk.fsync_dir(self._root)
            made.clear()
        for path in self._gone:
            with suppress(FileNotFoundError):
                self._disk.unlink(path)


class TimerFiles:
    """The files of one store's timer.

    Args:
        disk: the disk that holds the files.
        paths: the store's paths.
        config: the settings of the store.
        log_end: log offset at which the commit log ended when the store was opened. Units of
            messages beyond it are void, since other messages will be stored there.

    Raises:
        OSError: a file cannot be read.
    """

    def __init__(self, disk: Disk, paths: StorePaths, config: StoreConfig, *, log_end: int) -> None:
        self._disk = disk
        self._log_end = log_end
        self._paths = paths
        self._file_size = config.mapped_file_size_timer_log
        self._precision_ms = config.timer_precision_ms
        self._gone: list[str] = []
        self._start_empty()
        self.checkpoint = TimerCheckpoint()
        """The checkpoint as it was when the files were opened; all 0 if there is none."""
        self.delivered_log_offset: int | None = None
        """Log offset before which that checkpoint counts every delivery; None if not known."""
        self.replayed: set[int] = set()
        """Log offsets of the messages that entered the wheel after that checkpoint."""
        self.lost = ""
        """Why the files were removed and have to be built again; empty if they were usable."""
        if timer_files_exist(disk, paths):
            self.lost = self._open()
            if self.lost:
                self.remove()

    def _start_empty(self) -> None:
        self.wheel = TimerWheel()
        self.log = TimerLog(self._disk, self._paths.root / LOG_DIRECTORY, self._file_size)

    def _open(self) -> str:
        """Open all files; return why they cannot be used, or ""."""
        path = self._paths.config_file(CHECKPOINT_FILE)
        if self._disk.stat(path) is None:
            return f"{path} is missing"
        data = read_file(self._disk, path) or b""
        try:
            self.checkpoint = TimerCheckpoint.decode(data)
        except RecordDamaged as error:
            return str(error)
        if not self.checkpoint.last_read_ms:
            return f"{path} was never written"
        if has_wrong_sum(data):
            return f"{path} is damaged, or another broker has changed it"
        self.delivered_log_offset = delivered_log_offset(data)
        path = self._paths.root / WHEEL_FILE
        status = self._disk.stat(path)
        if status is None or status.size != WHEEL_SIZE:
            size = "missing" if status is None else f"{status.size} bytes long"
            return f"{path} is {size}, expected {WHEEL_SIZE} bytes"
        file = self._disk.open(path)
        try:
            self.wheel.load(file)
        finally:
            file.close()
        index = self.wheel.damaged_slot()
        if index is not None:
            return f"slot {index} of {path} is damaged"
        return self.log.load() or self._replay()

    def _replay(self) -> str:
        """Put the units after the checkpoint into the wheel; return what does not fit, or ""."""
        log, start = self.log, self.checkpoint.log_flush_pos
        if not log.start <= start <= log.limit:
            return f"{CHECKPOINT_FILE} names position {start}, which the timer log does not reach"
        end = log.find_end(start)
        for pos, unit in self._units(start, end):
            if unit.log_offset + unit.record_size > self._log_end:
                # A power cut took the message, but not its unit.
                end = pos
                break
        if start % log.file_size and log.read(start - UNIT_SIZE) is None:
            return (
                f"{CHECKPOINT_FILE} names position {start}, before which the timer log has no unit"
            )
        log.cut(end)
        for pos, unit in self._units(start, end):
            tick = unit.due_ms // self._precision_ms
            slot = self.wheel.get(tick)
            newest = NO_POS if slot is None else slot.last_pos
            if newest < pos:
                if unit.previous_pos != newest:
                    return f"slot {tick} does not fit the unit at position {pos} of the timer log"
                self._chain(tick, slot, pos, is_deletion=bool(unit.magic & MAGIC_DELETE))
            self.replayed.add(unit.log_offset)
        first_tick = self.checkpoint.last_read_ms // self._precision_ms
        for slot in self.wheel.slots_from(first_tick):
            if slot.last_pos >= end:
                return f"slot {slot.due_tick} names position {slot.last_pos}, the log ends at {end}"
        return ""

    def _units(self, start: int, end: int) -> Iterator[tuple[int, TimerUnit]]:
        """Yield position and unit from ``start`` to ``end``, and step over blanks."""
        pos, size = start, self.log.file_size
        while pos < end:
            if size - pos % size < UNIT_SIZE + BLANK_SIZE:
                pos += size - pos % size
                continue
            unit = self.log.read(pos)
            if unit is None:
                return
            yield pos, unit
            pos += UNIT_SIZE

    def enter(
        self,
        *,
        due_ms: int,
        write_ms: int,
        log_offset: int,
        size: int,
        topic_hash: int,
        is_roll: bool,
        is_deletion: bool,
    ) -> None:
        """Put a message into the slot of ``due_ms``; ``log.write`` writes its unit.

        Args:
            due_ms: when the message is delivered, or enqueued again if ``is_roll``.
            write_ms: the present tick, in ms.
            log_offset, size: where the message is in the commit log.
            topic_hash: hash of the topic to which the message will be delivered.
            is_roll: whether the message is due later than the wheel reaches.
            is_deletion: whether the message recalls another one.
        """
        magic = MAGIC_PLAIN | MAGIC_ROLL * is_roll | MAGIC_DELETE * is_deletion
        tick = due_ms // self._precision_ms
        slot = self.wheel.get(tick)
        unit = TimerUnit(
            UNIT_SIZE,
            NO_POS if slot is None else slot.last_pos,
            magic,
            write_ms,
            due_ms - write_ms,
            log_offset,
            size,
            topic_hash,
        )
        self._chain(tick, slot, self.log.append(unit), is_deletion=is_deletion)

    def _chain(self, tick: int, slot: Slot | None, pos: int, *, is_deletion: bool) -> None:
        old = slot or Slot(tick, NO_POS, NO_POS, 0)
        first = pos if old.first_pos == NO_POS else old.first_pos
        count = old.message_count + (-1 if is_deletion else 1)
        self.wheel.put_slot(Slot(tick, first, pos, count, old.magic))

    def drop_before(self, is_gone: Callable[[int], bool]) -> None:
        """Let the next flush delete old files of the log; see ``TimerLog.drop_before``.

        Raises:
            OSError: a file could not be read.
        """
        self._gone += self.log.drop_before(is_gone)

    def flush(
        self, checkpoint: TimerCheckpoint, *, delivered: int | None, log_offset: int
    ) -> TimerFlush:
        """Return a job that makes the present state durable; pass it to ``end_flush`` afterwards.

        Args:
            checkpoint: the progress, without the position of the log.
            delivered: log offset before which it counts every delivery.
            log_offset: log offset up to which the commit log has to be on the disk before the job
                runs.
        """
        return TimerFlush(
            self,
            disk=self._disk,
            paths=self._paths,
            gone=self._gone[:],
            checkpoint=checkpoint._replace(log_flush_pos=self.log.end),
            delivered=delivered,
            log_offset=log_offset,
        )

    def end_flush(self, job: TimerFlush) -> None:
        """Note whether a job succeeded; what it did not write is written by the next one."""
        is_done = job.error is None
        job.log.end_write(job.checkpoint.log_flush_pos, is_done=is_done)
        if job.log is not self.log:
            # The files were built again meanwhile.
            return
        if is_done:
            del self._gone[: job.gone_count]
        else:
            self.wheel.restore_changes(job.pages)

    def remove(self) -> None:
        """Remove all files and continue with an empty wheel.

        Raises:
            OSError: the disk refused.
        """
        self.close()
        # The checkpoint is removed first, because without it the other files are not used.
        remove_timer_files(self._disk, self._paths)
        self._gone.clear()
        self.checkpoint, self.delivered_log_offset = TimerCheckpoint(), None
        self.replayed = set()
        self._start_empty()

    def close(self) -> None:
        """Close every file; what was not flushed is rebuilt from the queue."""
        self.log.close()
        self.wheel.close()


def timer_files_exist(disk: Disk, paths: StorePaths) -> bool:
    """Return whether a store has any file of the timer."""
    return any(
        disk.stat(path) is not None
        for path in (
            paths.config_file(CHECKPOINT_FILE),
            paths.root / WHEEL_FILE,
            paths.root / LOG_DIRECTORY,
        )
    )


def remove_timer_files(disk: Disk, paths: StorePaths) -> None:
    """Remove the timer's files of a store; they can be built again from the queue.

    Raises:
        OSError: the disk refused.
    """
    directory = paths.root / LOG_DIRECTORY
    existing = [paths.config_file(CHECKPOINT_FILE), paths.root / WHEEL_FILE]
    existing += [directory / name for name in disk.list(directory)]
    for path in existing:
        if disk.stat(path) is not None:
            disk.unlink(path)
            disk.fsync_dir(path.parent)
    if disk.is_dir(directory):
        disk.rmdir(directory)
        disk.fsync_dir(paths.root)
