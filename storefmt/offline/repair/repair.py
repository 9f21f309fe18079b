"""Writes a copy of a damaged store that a broker can open, with everything that can be saved.

    commitlog ──copied sparse──> damage replaced, tail cut, fields corrected ──> commitlog
                                                                             └──> queues, index
    config ──the file, or its .bak──> config         checkpoint: written new

Rule: the store is only read. Every record keeps its log offset, so that offsets, ids and slaves
stay valid. Each loss and each change is a row of the report. Strangers, the abort file and the
lock are not copied. If topics.json cannot be read, the queues give a rough topic table, because a
topic without a line there has no route. Queues after the last one with messages stay unknown, and
the broker makes its own topics again when it starts.

Source: store/DefaultMessageStore.java#load, store/CommitLog.java#recoverNormally.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from storefmt.config.tables import DataVersion, TopicConfig, TopicTable
from storefmt.formats.checkpoint import Checkpoint
from storefmt.names import TopicKind, kind_of, parse_delay_levels
from storefmt.offline.output_dir import (
    OutputDirectory,
    SparseFile,
    copy_file,
    progress_none,
    sparse_file,
)
from storefmt.offline.repair.placeholder import LostMessage, fill
from storefmt.offline.repair.placement import Placement
from storefmt.offline.repair.rebuild import RebuildResult, StoreShape, rebuild
from storefmt.offline.repair.repair_plan import Hole, RepairPlan
from storefmt.offline.verify.check_tree import TIME_MAX_MS, TIME_MIN_MS
from storefmt.offline.views.config import DECODERS, TOPICS, lost_files
from storefmt.offline.views.effective_log import EffectiveLog, ProgressCall
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import QueueKey
from storefmt.paths import log_file_name

QUEUE_COUNT_MAX: Final = 1 << 16
"""A larger queue id counts as damage, because Java allocates memory by this number."""
_USERS: Final = (TopicKind.ORDINARY, TopicKind.RETRY, TopicKind.DLQ)


def topics_of(queues: Iterable[QueueKey], *, now_ms: int) -> TopicTable:
    """Return a topic table with the users' topics that have these queues.

    Args:
        now_ms: version of the table.
    """
    counts: dict[str, int] = {}
    for topic, queue_id in sorted(queues):
        if kind_of(topic) in _USERS and queue_id < QUEUE_COUNT_MAX:
            counts[topic] = max(counts.get(topic, 0), queue_id + 1)
    topics = {
        topic: TopicConfig(topic, read_queue_nums=count, write_queue_nums=count)
        for topic, count in counts.items()
    }
    return TopicTable(topics, DataVersion(now_ms, 1))


COPIED_PARTS: Final = (
    "timerwheel", "timerlog", "timerwheel.snapshot", "batchconsumequeue", "compaction",
    "epochFileCheckpoint", "epochFileCheckpoint.bak",
)  # fmt: skip
"""State files of 5.x, which are copied unchanged."""
DEPTH_MAX: Final = 6


@dataclass(frozen=True, slots=True)
class Action:
    """One loss, change or omission of a repair.

    Attributes:
        action: ``lost`` (a message, or a state file that nothing can restore), ``replaced``
            (bytes that held no record), ``cut`` (the tail), ``corrected`` (a field),
            ``restored`` (a file, from its .bak or rebuilt), ``copied``, ``left_out`` (a file),
            ``note``.
        file: relative to the store; ``log_offset``: in the log, -1 for none.
        size: bytes concerned; ``count``: messages, the first one is named.
        topic, queue_id, queue_offset: of the message; empty and -1 if unknown.
        reason: why, a word or a sentence.
    """

    action: str
    file: str
    log_offset: int = -1
    size: int = 0
    topic: str = ""
    queue_id: int = -1
    queue_offset: int = -1
    count: int = 0
    reason: str = ""


@dataclass(slots=True)
class RepairResult:
    """The result of a repair.

    Attributes:
        lost_count: messages that are known to be lost; ``lost_size``: bytes of the log
            that were replaced or cut.
    """

    actions: list[Action] = field(default_factory=list)
    lost_count: int = 0
    lost_size: int = 0
    rebuilt: RebuildResult = field(default_factory=RebuildResult)


def repair(
    store: StoreView,
    out: OutputDirectory,
    *,
    shape: StoreShape | None = None,
    progress: ProgressCall = progress_none,
) -> RepairResult:
    """Write a repaired copy of ``store``.

    Args:
        store: the damaged store.
        out: the directory to write to.
        shape: sizes of the files to write; None for those of the store.
        progress: is called with the bytes that are done, and in total.

    Raises:
        BadCall: a size in ``shape`` is not possible, or a name leads out of the copy.
        StoreError: a file of the store cannot be read, or nothing of the log can be repaired.
        OSError: the output cannot be written.
    """
    return _Repair(store, out, shape or StoreShape()).write_copy(progress)


class _Repair:
    def __init__(self, store: StoreView, out: OutputDirectory, shape: StoreShape) -> None:
        self._store = store
        self._out = out
        self._shape = shape
        self._report = RepairResult()
        self._act = self._report.actions.append
        self._log = EffectiveLog(store)
        self._file_size = store.geometry.log_file_size

    def write_copy(self, progress: ProgressCall) -> RepairResult:
        # Walk, copy, walk the copy: three passes of the same length.
        total = sum(span.size for _, span in self._log.files) * 3
        self._out.directory("commitlog")
        self._out.directory("config")
        if self._file_size:
            self._repair_log(lambda done, _: progress(done, total))
        else:
            self._tell_no_log()
        self._copy_config()
        third = total // 3
        with StoreView.open(self._out.root) as mended:
            self._report.rebuilt = rebuild(
                mended,
                self._out,
                evidence=self._store,
                shape=self._shape,
                progress=lambda done, _: progress(min(2 * third + done, total), total),
            )
        self._write_topics()
        self._write_checkpoint()
        self._copy_parts()
        self._tell_left_out()
        for queue in self._report.rebuilt.queues:
            if queue.expired_count:
                first = LostMessage(queue.topic, queue.queue_id, queue.expired_first)
                self._lose(first, "before the start of the log", -1, queue.expired_count)
        for note in self._report.rebuilt.notes:
            self._act(Action("note", "consumequeue", reason=note))
        return self._report

    def _repair_log(self, progress: ProgressCall) -> None:
        placement = Placement(
            self._store, parse_delay_levels(self._shape.delay_levels), log_min=self._log.min_offset
        )
        plan = RepairPlan(self._store, placement, self._log, self._file_size)
        plan.make(progress)
        self._copy_log(plan)
        for hole in plan.holes:
            self._fill(hole)
        for fix in plan.fixes.values():
            with self._copied_file(fix.log_offset) as (file, base):
                file.pwrite(fix.data, fix.log_offset + fix.pos - base)
            reason = f"{fix.field} was {fix.old!r}, is {fix.new!r}"
            self._change("corrected", fix.log_offset, len(fix.data), reason)
        if plan.cut is not None:
            size = plan.cut.end - plan.cut.start
            self._report.lost_size += size
            self._change("cut", plan.cut.start, size, plan.cut.reason)
        for message in plan.unplaced:
            self._lose(message, "no bytes of the log are left for it: its entry is a filler", -1)
        for message, count in plan.beyond:
            self._lose(message, "after the end of the log", -1, count)

    def _tell_no_log(self) -> None:
        for topic, queue_id in self._store.queues():
            view = self._store.queue(topic, queue_id)
            count = view.max_offset - view.min_offset
            if count:
                first = LostMessage(topic, queue_id, view.min_offset)
                self._lose(first, "there is no commit log", -1, count)

    def _copy_log(self, plan: RepairPlan) -> None:
        """Copy the files up to the end of the log; a missing file becomes a hole."""
        size = self._file_size
        for base, span in self._log.files:
            name = self._store.span_name(span)
            if (base % size and base != self._log.min_offset) or base < 0:
                self._act(
                    Action("left_out", name, reason=f"starts at {base}, not a multiple of its size")
                )
                continue
            if base >= plan.end and base != self._log.min_offset:
                continue
            if span.start != base:
                self._act(Action("corrected", name, log_offset=base, reason="the name of the file"))
            if span.size != size:
                reason = f"size was {span.size}, is {size}"
                self._act(Action("corrected", name, base, abs(size - span.size), reason=reason))
            target = self._out.file("commitlog", log_file_name(base))
            kept = min(size, max(plan.end - base, 0))
            copied = self._store.log.open(span)
            copy_file(copied, target, size=kept)
            SparseFile(target, size=size).close()
        for span in self._log.doubles:
            name, reason = (
                self._store.span_name(span),
                "another file holds the same part of the log",
            )
            self._act(Action("left_out", name, size=span.size, reason=reason))

    @contextmanager
    def _copied_file(self, log_offset: int) -> Iterator[tuple[SparseFile, int]]:
        """Open the file of the copied log that has a log offset; yield it and where it starts."""
        base = log_offset - log_offset % self._file_size
        path = self._out.file("commitlog", log_file_name(base))
        with sparse_file(path, size=self._file_size) as file:
            yield file, base

    def _fill(self, hole: Hole) -> None:
        stamp = hole.stamp
        if stamp is None:
            return
        size = hole.end - hole.start
        pieces = fill(hole.start, size, hole.messages, stamp, to_file_end=hole.to_file_end)
        with self._copied_file(hole.start) as (file, base):
            _clear(file, hole.start - base, size)
            for at, data in pieces:
                file.pwrite(data, at - base)
        self._report.lost_size += size
        self._change("replaced", hole.start, size, hole.reason)
        for message in hole.messages:
            self._lose(message, hole.reason, hole.start)

    def _lose(self, message: LostMessage, reason: str, log_offset: int, count: int = 1) -> None:
        self._report.lost_count += count
        self._act(
            Action(
                "lost",
                self._file_at(log_offset) if log_offset >= 0 else "",
                log_offset=log_offset,
                topic=message.topic,
                queue_id=message.queue_id,
                queue_offset=message.queue_offset,
                count=count,
                reason=reason,
            )
        )

    def _change(self, action: str, log_offset: int, size: int, reason: str) -> None:
        self._act(Action(action, self._file_at(log_offset), log_offset, size, reason=reason))

    def _copy_config(self) -> None:
        lost = {lost_file.name: lost_file for lost_file in lost_files(self._store)}
        for name, decode in DECODERS.items():
            read = self._store.config(name, decode)
            for file, problem in read.problems:
                self._act(Action("left_out", file, reason=problem))
            if not read.file:
                if name in lost or (read.problems and name != TOPICS):
                    reason = (
                        f"{lost[name].evidence}; {lost[name].effect}"
                        if name in lost
                        else "neither the file nor its .bak can be read"
                    )
                    self._act(Action("lost", f"config/{name}", reason=reason))
                continue
            source = self._store.open_files.open(self._store.root / read.file)
            copy_file(source, self._out.file("config", name))
            if name in lost:
                reason = f"from {read.file}: {lost[name].effect}"
                self._act(Action("restored", f"config/{name}", reason=reason))
            elif read.problems:
                self._act(Action("restored", f"config/{name}", reason=f"from {read.file}"))
            elif self._store.config(f"{name}.bak", decode).file == f"config/{name}.bak":
                backup = self._store.paths.config_file(f"{name}.bak")
                copy_file(
                    self._store.open_files.open(backup), self._out.file("config", f"{name}.bak")
                )
        for span in self._store.tree.config:
            name = span.path.name
            if name.removesuffix(".bak") not in DECODERS:
                copy_file(self._store.open_files.open(span.path), self._out.file("config", name))
                self._act(Action("copied", f"config/{name}", size=span.size))

    def _write_topics(self) -> None:
        """Write a new topics.json if neither it nor its .bak can be read."""
        built = self._report.rebuilt
        if self._store.config(TOPICS, DECODERS[TOPICS]).file:
            return
        keys = [(queue.topic, queue.queue_id) for queue in built.queues]
        table = topics_of(keys, now_ms=max(built.last_store_ms, 0))
        if table.topics:
            with sparse_file(self._out.file("config", TOPICS)) as file:
                file.pwrite(table.encode().encode(), 0)
            reason = (
                "rebuilt from the queues: permissions, order and queues without messages are "
                "unknown"
            )
            count = len(table.topics)
            self._act(Action("restored", f"config/{TOPICS}", count=count, reason=reason))

    def _write_checkpoint(self) -> None:
        built = self._report.rebuilt
        last_ms = built.last_store_ms if TIME_MIN_MS <= built.last_store_ms <= TIME_MAX_MS else 0
        index_ms = min(built.index_full_ms, last_ms)
        with sparse_file(self._out.file("checkpoint")) as file:
            file.pwrite(Checkpoint(last_ms, last_ms, max(index_ms, 0)).encode(), 0)

    def _copy_parts(self) -> None:
        for name in COPIED_PARTS:
            for path in _files_below(self._store.root / name):
                names = path.relative_to(self._store.root).parts
                copy_file(self._store.open_files.open(path), self._out.file(*names))
                self._act(Action("copied", "/".join(names), reason="unchanged"))

    def _tell_left_out(self) -> None:
        for stranger in self._store.tree.strangers:
            name, size = self._store.tree.name(stranger.path), stranger.size
            self._act(Action("left_out", name, size=size, reason="not a file of a broker"))
        if self._store.aborted:
            self._act(Action("left_out", "abort", reason="the copy was closed cleanly"))

    def _file_at(self, log_offset: int) -> str:
        base = log_offset - log_offset % self._file_size if self._file_size else 0
        return f"commitlog/{log_file_name(max(base, 0))}"


def _clear(file: SparseFile, pos: int, size: int) -> None:
    """Overwrite a range of a file with zeros; a hole stays one."""
    for chunk_pos in range(pos, pos + size, 1 << 20):
        count = min(1 << 20, pos + size - chunk_pos)
        if file.read(chunk_pos, count).strip(b"\0"):
            file.pwrite(bytes(count), chunk_pos)


def _files_below(path: Path, depth: int = 0) -> Iterator[Path]:
    if path.is_symlink() or depth > DEPTH_MAX:
        return
    if path.is_file():
        yield path
    elif path.is_dir():
        for inside in sorted(path.iterdir()):
            yield from _files_below(inside, depth + 1)
