"""A message store: the commit log, its consume queues and its index behind one class.

    put ─> pending ─ write job ─> log ──ASYNC_FLUSH──────────────> dispatch ─> queues, index,
                                   └── SYNC_FLUSH ─ flush job ───> dispatch     dispatched

Rule: one thread calls everything here; only ``do_work`` of a job may be called in another thread.
A put is stored when the write that ``begin_write`` began after it has ended (ASYNC_FLUSH), or when
``end_flush`` has moved ``flushed_offset`` past it (SYNC_FLUSH). Only then is it dispatched, and
only dispatched messages can be read (``commitlog.groups`` has the states). After a write or sync
error the store takes no more messages but still serves reads. When the disk is full, or the
process has run out of descriptors or memory, the puts of that write and those after it are undone
and new ones may follow.

Source: store/DefaultMessageStore.java, store/CommitLog.java#asyncPutMessage (4.9.7).
"""

from itertools import chain
from typing import Final

from mqserver.store.cleanup.cleaner import Cleaner
from mqserver.store.commitlog.append import Appender
from mqserver.store.commitlog.dispatcher import DispatchObservers
from mqserver.store.commitlog.flush import FlushJob, QueueSyncJob
from mqserver.store.commitlog.log_write import LogWrite
from mqserver.store.commitlog.next_file import NextFile
from mqserver.store.commitlog.write_groups import Group, GroupEvent
from mqserver.store.confirm_gate import ConfirmGate
from mqserver.store.disk.disk import Disk, RealDisk
from mqserver.store.disk.job import DiskJob
from mqserver.store.disk.nowait import may_wait
from mqserver.store.entry_writes import EntryWrite
from mqserver.store.index.key_search import KeySearch
from mqserver.store.queues.queue_table import QueueHandle
from mqserver.store.queues.removal import RemoveJob
from mqserver.store.raw_log import RawLog
from mqserver.store.reader import Reader
from mqserver.store.recovery.opening import OpenedStore, open_directory
from mqserver.store.results import (
    DispatchEntry,
    PutMessage,
    PutResult,
    PutRun,
    PutStatus,
    RecoveryReport,
    RunResult,
)
from mqserver.store.store_config import StoreConfig
from mqserver.store.store_errors import (
    NOT_OPENED,
    OVERLOADED,
    StoreFailed,
    StoreFull,
    disk_error,
)
from mqserver.store.timer.timer_files import TimerFiles, remove_timer_files, timer_files_exist
from mqserver.store.upkeep import Upkeep
from storefmt.errors import BadCall

_REFUSED: Final = PutResult(PutStatus.SERVICE_NOT_AVAILABLE, -1, -1, 0)
_FOR_EVER_MS: Final = (1 << 63) - 1


def _move(job: DiskJob, event: GroupEvent) -> None:
    """Change the state of the groups that a job syncs."""
    if isinstance(job, FlushJob):
        for group in job.groups:
            group.move(event)


class MessageStore:
    """One open store directory; create it with ``MessageStore.open``."""

    def __init__(self, config: StoreConfig, opened: OpenedStore) -> None:
        self.recovery: RecoveryReport = opened.report
        self.dispatched = DispatchObservers()
        """Called with the entries that became readable, after each write or flush."""
        self.failure = ""
        """Why puts are refused, permanently or until there is space; empty if they are not."""
        self.is_read_only = False
        """Whether no messages are stored any more until a restart."""
        self.is_copy = False
        """Whether puts are refused because this store holds a copy of another broker's log."""
        self._config = config
        self._disk, self._paths = opened.disk, opened.paths
        self._opened_end = opened.log.written_offset
        self._sync = config.is_sync_flush
        self._log = opened.log
        self._table = opened.table
        self._closed = False
        self.appender = Appender(config, opened.log, opened.table)
        """What was put since the last write."""
        self._dispatcher = opened.dispatcher
        self.reader = Reader(config, opened.log, opened.table, opened.dispatcher.index)
        """Reads messages, queue entries and records."""
        self.exts = opened.table.exts
        """The consume queue ext files, where filter bit maps of messages are stored."""
        self._upkeep = Upkeep(config, opened)
        self.raw = RawLog(config, opened, self.appender, self._upkeep.safe_file)
        self.cleaner = Cleaner(
            config,
            opened,
            safe_file=self._upkeep.safe_file,
            store_ms_at=self.reader.store_ms,
        )
        """Deletes old data; its jobs run in their own thread."""
        self._policy = self.cleaner.policy
        self._writing: Group | None = None
        self._unseen: list[Group] = []
        """Groups that are written and not safe yet."""
        self._written_ms = opened.last_store_ms
        self._flushing: FlushJob | None = None
        self._gate = ConfirmGate()
        # Jobs that could not open a file for lack of a descriptor; they are run again.
        self._again: list[DiskJob] = []

    def settings_changed(self) -> None:
        """Apply the current settings; file sizes change only after a restart."""
        for part in (self.reader, self.appender, self._upkeep):
            part.settings_changed(self._config)
        self._log.warm_size = self._config.warm_size

    @classmethod
    def open(
        cls, config: StoreConfig, *, now_ms: int, disk: Disk | None = None, is_cut: bool = False
    ) -> "MessageStore":
        """Lock, load and recover a store directory, or create it if it is absent.

        Args:
            is_cut: whether the log was cut on purpose, so that queues point past its end.

        Raises:
            StoreLocked: another broker serves the directory.
            StoreError: the directory cannot be used; the text says what to do.
        """
        return cls(config, open_directory(config, disk or RealDisk(), now_ms, is_cut=is_cut))

    def close(self, now_ms: int) -> None:
        """Write and sync everything, then mark the directory as shut down properly.

        Jobs in other threads must have ended before. A store that has failed is left in the
        state of a crash, and the next start recovers it.

        Raises:
            StoreFailed: the disk refused a write or sync; the next start recovers the store.
        """
        if self._closed:
            return
        try:
            if not self.is_read_only:
                self.confirm(None, now_ms)
                self.write(now_ms)
                while job := self._flushing or self.begin_flush() or self._next_again():
                    job.do_work()
                    self.end_flush(job)
                self._closed = True
                self._upkeep.close(self._log.flushed_offset)
        except OSError as error:
            raise self._fail("the store could not be shut down properly", error) from error
        finally:
            self._closed = True
            self._log.close()
            self._upkeep.release()

    # Writing.

    @property
    def takes_messages(self) -> bool:
        """Return whether messages may be put; if not, ``failure`` may say why."""
        if self.is_read_only or self._closed or self.is_copy or self._policy.disk_full:
            self.failure = self.failure or self._policy.disk_full
            return False
        return True

    def put(self, message: PutMessage, now_ms: int) -> PutResult:
        """Give a message its queue offset and log offset; the next ``write`` stores it.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
        """
        if not self.takes_messages:
            return _REFUSED
        try:
            return self.appender.append_message(message, now_ms)
        except OSError as error:
            return PutResult(self._no_file(error), -1, -1, 0)

    def put_run(self, run: PutRun, now_ms: int) -> RunResult:
        """Give all messages of one queue their offsets as ``put`` does, or none of them.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
        """
        if not self.takes_messages:
            return RunResult(PutStatus.SERVICE_NOT_AVAILABLE, -1, [], 0)
        try:
            return self.appender.put_run(run, now_ms)
        except OSError as error:
            return RunResult(self._no_file(error), -1, [], 0)

    def _no_file(self, error: OSError) -> PutStatus:
        self.failure = disk_error(error, "no next commit log file")
        will_pass = error.errno in OVERLOADED
        return _REFUSED.status if will_pass else PutStatus.CREATE_MAPPED_FILE_FAILED

    def write(self, now_ms: int) -> None:
        """Store everything put since the last write; with ASYNC_FLUSH it becomes readable.

        It does in one step what ``begin_write``, the job and ``end_write`` do without waiting.

        Raises:
            StoreFull: space, descriptors or memory ran out; puts since the last write are undone.
            StoreFailed: the write failed; the puts are undone and the store is read-only.
        """
        job = self.begin_write(now_ms)
        if job is not None:
            job.do_work()
            self.end_write(job)
            self.show_written(now_ms)

    def begin_write(self, now_ms: int) -> LogWrite | None:
        """Return a job that stores everything put since the last one; None if there is nothing.

        Call ``do_work`` of the job in any thread, then ``end_write`` and ``show_written``, before
        the next job begins.

        Raises:
            BadCall: a job has not ended yet.
            StoreFull: space, descriptors or memory ran out; the puts are undone.
            StoreFailed: the store is read-only; the puts are undone.
        """
        if self._writing is not None:
            raise BadCall("a write of the commit log has not ended yet; call `end_write` first")
        if not self._log.is_pending:
            self.dispatch_copied(now_ms)
            return None
        if self.is_read_only:
            self.appender.undo()
            raise StoreFailed(self.failure)
        try:
            job = self._log.begin_write()
        except OSError as error:
            self.appender.undo()
            raise self._not_written(error) from error
        puts = self.appender.take_unwritten()
        # Bytes of another log have no entries before they are safe (``raw.make_entries``).
        self._writing = Group(puts, needs_sync=self._sync and bool(puts.entries))
        self._writing.move(GroupEvent.WRITE)
        return job

    @property
    def is_put(self) -> bool:
        """Return whether something was put since the last ``begin_write``."""
        return self._log.is_pending

    def end_write(self, job: LogWrite) -> None:
        """Process the result of a job from ``begin_write``.

        Raises:
            StoreFull: space, descriptors or memory ran out; what the job should have stored and
                what was put since it began is undone.
            StoreFailed: the write failed; the same is undone, and the store is read-only.
        """
        group, self._writing = self._writing, None
        self._log.end_write(job)
        if group is None:
            raise BadCall("no write of the commit log is running")
        if job.error is not None or self.is_read_only:
            group.move(GroupEvent.FAIL)
            self.appender.undo(group.puts)
            if self.is_read_only or job.error is None:
                raise StoreFailed(self.failure)
            raise self._not_written(job.error) from job.error
        self.failure = ""
        group.move(GroupEvent.WRITE_DONE)
        entries = group.puts.entries
        self._written_ms = entries[-1].store_ms if entries else self._written_ms
        self._unseen.append(group)

    def _not_written(self, error: OSError) -> StoreFailed:
        if error.errno in OVERLOADED:
            self.failure = disk_error(error, "commit log not written")
            return StoreFull(self.failure)
        return self._fail("commit log not written", error)

    def show_written(self, now_ms: int) -> None:
        """Make the messages of written groups readable, unless a sync is promised for them."""
        while self._unseen and not self._unseen[0].needs_sync:
            group = self._unseen.pop(0)
            group.move(GroupEvent.SHOW)
            if group.puts.entries:
                self._dispatch(group.puts.entries, group.puts.handles, now_ms)

    def dispatch_copied(self, now_ms: int) -> None:
        """Add the records that ``raw.make_entries`` has parsed to queues and index."""
        if self.appender.entries:
            copied = self.appender.take_unwritten()
            self._dispatch(copied.entries, copied.handles, now_ms)

    @property
    def needs_flush(self) -> bool:
        """Return whether written bytes may not be on the disk yet."""
        return self._log.written_offset > self._log.flushed_offset

    def begin_flush(self) -> FlushJob | None:
        """Return a job that makes everything written durable; None if nothing has to be flushed.

        It also returns None while such a job is running. Call ``do_work`` of the job in any thread,
        then ``end_flush``.
        """
        if self._flushing is not None or self.is_read_only or not self.needs_flush:
            return None
        for group in self._unseen:
            group.move(GroupEvent.SYNC)
        self._flushing = self._upkeep.flush_job(list(self._unseen), store_ms=self._written_ms)
        return self._flushing

    def end_flush(self, job: DiskJob) -> None:
        """Process the result of a job from ``begin_flush``, ``begin_delete`` or ``housekeeping``.

        Raises:
            StoreFull: the job could not open a file. What it should have made durable must not
                be acknowledged; a later job does the work.
            StoreFailed: the job failed. The store is read-only from now on, and what the job
                should have made durable must not be acknowledged.
        """
        if isinstance(job, FlushJob):
            self._flushing = None
        if isinstance(job, EntryWrite):
            self._entries_written(job)
            return
        if job.error is not None and job.error.errno in NOT_OPENED and not self.is_read_only:
            self._do_again(job, job.error)
        if isinstance(job, QueueSyncJob):
            self._upkeep.job_ended(job)
        if isinstance(job, NextFile):
            self._log.end_next(job)
        elif job.error is not None:
            _move(job, GroupEvent.FAIL)
            raise self._fail("disk sync", job.error) from job.error
        if self.is_read_only:
            _move(job, GroupEvent.FAIL)
            raise StoreFailed(self.failure)
        if isinstance(job, RemoveJob):
            self._table.end_removal(job)
        if not isinstance(job, FlushJob):
            return
        self._log.sync_ended()
        self._log.flushed_offset = max(self._log.flushed_offset, job.until)
        self._upkeep.flushed_ms = job.store_ms
        _move(job, GroupEvent.SYNC_DONE)
        del self._unseen[: len(job.groups)]
        entries = [entry for group in job.groups for entry in group.puts.entries]
        if entries:
            handles = [handle for group in job.groups for handle in group.puts.handles]
            self._dispatch(entries, handles, job.store_ms)

    def _entries_written(self, job: EntryWrite) -> None:
        """Process the result of a job that writes queues and index.

        Raises:
            StoreFailed: the store is read-only from now on. If the disk is only full, it is not:
                what was refused is written later.
        """
        error = self._upkeep.job_ended(job)
        if error is not None and error.errno not in OVERLOADED:
            raise self._fail("queues and index not written", error) from error
        if error is not None:
            self.failure = disk_error(error, "queues or index not written")

    def _do_again(self, job: DiskJob, error: OSError) -> None:
        """Schedule a job that could not open a file to run again.

        Raises:
            StoreFull: always, except for the next log file, which ``open_next`` can still make.
        """
        if isinstance(job, NextFile):
            return
        if isinstance(job, FlushJob):
            _move(job, GroupEvent.SYNC_AGAIN)
            self._log.sync_again()
        else:
            self._again.append(job)
        self.failure = disk_error(error, "disk sync not done")
        raise StoreFull(self.failure) from error

    def _next_again(self) -> DiskJob | None:
        """Return a job that has to run again, or None."""
        if not self._again:
            return None
        job = self._again.pop(0)
        job.error = None
        return job

    def confirm(self, log_offset: int | None, now_ms: int) -> None:
        """Let messages be read only up to a log offset, from which a failover may take them back.

        None lifts the limit. What is readable already stays so.
        """
        self._gate.limit = log_offset
        self._dispatch([], [], now_ms)

    def _dispatch(
        self, entries: list[DispatchEntry], handles: list[QueueHandle], now_ms: int
    ) -> None:
        entries, handles = self._gate.admit(entries, handles)
        if entries:
            self._dispatcher.dispatch(entries, handles, now_ms=now_ms)
            self.dispatched.announce(entries)

    def _fail(self, what: str, error: OSError) -> StoreFailed:
        """Make the store read-only: only a restart can find out what the disk holds now."""
        if not self.is_read_only:
            hint = "look at the disk, then restart the broker"
            self.failure = disk_error(error, what, hint=hint)
            self.is_read_only = True
            self.appender.undo()
        return StoreFailed(self.failure)

    @property
    def is_settled(self) -> bool:
        """Return whether ``housekeeping`` has finished what it began."""
        return not self._again and self._upkeep.is_settled

    def housekeeping(self, now_ms: int) -> DiskJob | None:
        """Return a job that writes or syncs the queues, index and checkpoint that are due.

        Call it every 200 ms, or every second while the log does not grow and ``is_settled``. Run
        the job in any thread and then pass it to ``end_flush``; until then there is no other.

        Raises:
            StoreFailed: the end of a queue cannot be read; the store is read-only from now on.
        """
        if self.is_read_only or self._closed:
            return None
        try:
            return self._next_again() or self._upkeep.step(now_ms)
        except OSError as error:
            if error.errno in OVERLOADED:
                self.failure = disk_error(error, "queues not read")
                return None
            raise self._fail("queues not read", error) from error

    def begin_next_file(self) -> NextFile | None:
        """Return a job that makes the next log file when it is due.

        Call it every 200 ms while the log grows.
        """
        return None if self.is_read_only or self._closed else self._log.begin_next()

    def begin_delete(self, topic: str, end: int | None = None) -> tuple[int, RemoveJob]:
        """Remove a topic's queues; return how many, and a job to pass to ``end_flush``.

        A recovery does not bring back records of the topic below log offset ``end`` (None: the
        end of the log).

        Raises:
            BadCall: the topic cannot be part of a path.
            StoreFailed: the disk refused; the store is read-only from now on.
        """
        try:
            return self._upkeep.delete_topic(topic, self._log.end if end is None else end)
        except OSError as error:
            raise self._fail(f"topic {topic} not deleted", error) from error

    def timer_files(self) -> TimerFiles:
        """Open the files of the timer, or begin with empty ones.

        Raises:
            OSError: a file cannot be read.
        """
        return TimerFiles(self._disk, self._paths, self._config, log_end=self._opened_end)

    def remove_timer_files(self) -> bool:
        """Remove the files of the timer; return whether there were any.

        Raises:
            OSError: the disk refused.
        """
        if not timer_files_exist(self._disk, self._paths):
            return False
        remove_timer_files(self._disk, self._paths)
        return True

    # Reading.

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Return the queue offset of the next message to be dispatched; 0 if there is no queue."""
        row = self._table.row(topic, queue_id)
        return 0 if row is None else row.end

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Return the queue offset of the first retained message; 0 if there is no queue."""
        row = self._table.row(topic, queue_id)
        return 0 if row is None else row.minimum

    def search(
        self, topic: str, key: str, *, count_max: int, begin_ms: int = 0, end_ms: int = _FOR_EVER_MS
    ) -> KeySearch | None:
        """Return a search for the newest records that have a key; None without an index.

        Other keys may have the same hash, so the caller must compare them.

        Args:
            topic: the topic of the records.
            key: one key of the records.
            count_max: most records to find, at most ``max_msgs_num_batch``.
            begin_ms: oldest store time.
            end_ms: newest store time.
        """
        index = self._dispatcher.index
        if index is None:
            return None
        with may_wait():
            self._dispatcher.put_keys(self._written_ms)
        count_max = min(count_max, self._config.max_msgs_num_batch)
        return index.search(topic, key, count_max=count_max, begin_ms=begin_ms, end_ms=end_ms)

    @property
    def written_offset(self) -> int:
        """Log offset up to which puts are written to their files."""
        return self._log.written_offset

    @property
    def last_log_offset(self) -> int:
        """Log offset at which the last record begins; -1 after a start that had none to read."""
        return self._dispatcher.last_log_offset

    @property
    def flushed_offset(self) -> int:
        """Log offset up to which puts are on the disk."""
        return self._log.flushed_offset

    @property
    def waiting_count(self) -> int:
        """Number of records that wait for the disk, or to be confirmed, before they can be read."""
        writing = [] if self._writing is None else [self._writing]
        groups = chain(self._unseen, writing)
        count = len(self.appender.entries) + len(self._gate)
        return count + sum(len(group.puts.entries) for group in groups)

    @property
    def waiting_size(self) -> int:
        """Bytes of log that are put and wait for the disk before they can be read."""
        safe_offset = self._log.flushed_offset if self._sync else self._log.written_offset
        return self._log.end - safe_offset

    @property
    def put_count(self) -> int:
        """Number of records stored since the start."""
        return self.appender.put_count

    @property
    def put_size(self) -> int:
        """Bytes of the records stored since the start."""
        return self._log.put_size

    @property
    def min_log_offset(self) -> int:
        """Log offset of the first retained byte."""
        return self._log.min_offset

    def queues(self) -> list[tuple[str, int]]:
        """Return (topic, queue id) of every queue in sorted order."""
        return self._table.keys()

    def was_deleted(self, topic: str) -> bool:
        """Return whether a topic was deleted while the log still holds its older records."""
        return self._upkeep.safe_file.was_deleted(topic)

    def deleted_until(self, topic: str) -> int:
        """Return the log offset at which a topic was last deleted.

        Records of the topic below it, and records about it, are of the deleted topic even if one
        of the same name exists again. 0 if the topic was not deleted, or so long ago that the log
        holds no older record.
        """
        return self._upkeep.safe_file.deleted_until(topic)

    def has(self, topic: str, queue_id: int | None = None) -> bool:
        """Return whether a queue exists, or any queue of the topic if ``queue_id`` is None."""
        table = self._table
        return table.has_topic(topic) if queue_id is None else table.has(topic, queue_id)
