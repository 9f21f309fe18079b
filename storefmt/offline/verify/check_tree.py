"""Verification, part 1: names, sizes and gaps of files; abort file, checkpoint and config.

Rule: the files of a log or of a queue have one size and no gaps. A 4.9 broker refuses to start if
a log or queue file has another size, or if it does not know a file in these directories. It
ignores unknown files elsewhere, so those are only reported as ``info``.

Source: store/MappedFileQueue.java#load, store/DefaultMessageStore.java#loadConsumeQueue,
store/StoreCheckpoint.java (4.9.7).
"""

from typing import Final

from storefmt.formats.checkpoint import CHECKPOINT_SIZE, Checkpoint
from storefmt.offline.verify.entries import REBUILD
from storefmt.offline.verify.findings import Findings, Severity
from storefmt.offline.views.config import DECODERS, TOPICS, lost_files
from storefmt.offline.views.rocksdb.database import RocksdbUnreadable
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import FileSpan
from storefmt.paths import log_file_name

TIME_MIN_MS: Final = 1_262_304_000_000
"""2010-01-01: no RocketMQ wrote anything before that."""
TIME_MAX_MS: Final = 4_102_444_800_000
"""2100-01-01."""


def check_tree(store: StoreView, findings: Findings) -> None:
    """Check everything that needs no reading of the log or of the queues."""
    _check_strangers(store, findings)
    _check_log_files(store, findings)
    for _, spans in sorted(store.tree.queue_files.items()):
        check_row(
            store,
            spans,
            size=store.geometry.queue_file_size,
            findings=findings,
            hint=REBUILD,
        )
    for topic, queue_id in store.tree.batch_queues:
        findings.error(
            "batch_queue_not_checked",
            f"batchconsumequeue/{topic}/{queue_id}",
            severity=Severity.INFO,
            hint="batch consume queues (5.x) are not supported; the records were checked",
        )
    _check_checkpoint(store, findings)
    _check_unread(store, findings)
    _check_config(store, findings)
    if store.aborted:
        findings.error(
            "abort",
            "abort",
            severity=Severity.INFO,
            hint="a broker runs on this store or was killed; it will recover when it starts",
        )


def _check_unread(store: StoreView, findings: Findings) -> None:
    for name, error in (("consumequeue", store.unread_queues), ("config", store.unread_settings)):
        if isinstance(error, RocksdbUnreadable):
            findings.error(
                "rocksdb_not_checked",
                name,
                found=str(error),
                severity=Severity.INFO,
                hint="the records of the log were checked",
            )
        elif error is not None:
            findings.error(
                "rocksdb_damaged",
                name,
                found=str(error),
                expected="a RocksDB database",
                hint="a broker does not start with it; restore it from a slave or a backup",
            )


def check_row(
    store: StoreView, spans: list[FileSpan], *, size: int, findings: Findings, hint: str
) -> None:
    """Check that files have ``size``, start at multiples of it, and leave no gap.

    Args:
        spans: the files of one row, by start.
        hint: what to do about a gap.
    """
    before: FileSpan | None = None
    for span in spans:
        name = store.span_name(span)
        if span.size != size or not span.size:
            findings.error(
                "empty_file" if span.size == 0 else "file_size",
                name,
                pos=min(span.size, size),
                found=span.size,
                expected=size,
                hint="a broker refuses to start with it; copy it, and pad the copy with zeros "
                "or cut it to the size of the others",
            )
        if size and span.start % size:
            findings.error(
                "bad_name",
                name,
                found=span.start,
                expected=f"a multiple of {size}",
                hint="rename the file to the position of its first byte",
            )
        if before is not None and size and span.start > before.start + size:
            _missing(store, before, span, size, findings, hint)
        before = span


def _missing(
    store: StoreView, before: FileSpan, after: FileSpan, size: int, findings: Findings, hint: str
) -> None:
    start = before.start + size
    missing = before.path.with_name(log_file_name(start))
    findings.error(
        "missing_file",
        store.tree.name(missing),
        found="no file",
        expected=f"a file of {size} bytes before {after.path.name}",
        hint=hint,
        size=after.start - start,
        count=-(-(after.start - start) // size),
    )


def _check_log_files(store: StoreView, findings: Findings) -> None:
    check_row(
        store,
        store.tree.log,
        size=store.geometry.log_file_size,
        findings=findings,
        hint="take the file from a slave or a backup; its messages are lost otherwise",
    )
    if not store.tree.log and (store.tree.queues or store.tree.index):
        findings.error(
            "log_missing",
            "commitlog",
            found="no files",
            expected="the files that queues and index point at",
            hint="take the log from a slave or a backup; queues alone hold no message",
        )


def _check_strangers(store: StoreView, findings: Findings) -> None:
    for stranger in store.tree.strangers:
        name = store.tree.name(stranger.path)
        # <topic>/<queue>/<file>: the broker reads every file there.
        stops = stranger.place == "commitlog" or (
            stranger.place == "consumequeue" and name.count("/") == 3
        )
        findings.error(
            "stranger",
            name,
            found=f"{stranger.size} bytes",
            expected="no such file",
            size=stranger.size,
            severity=Severity.ERROR if stops else Severity.INFO,
            hint="a broker refuses to start with it; move it away"
            if stops
            else "brokers neither create nor read it",
        )


def _check_checkpoint(store: StoreView, findings: Findings) -> None:
    hint = "a broker creates a new one and reads the whole log when it starts"
    path = store.paths.checkpoint
    if not path.is_file():
        if store.tree.log:
            findings.error(
                "missing_file",
                "checkpoint",
                found="no file",
                expected=f"{CHECKPOINT_SIZE} bytes",
                hint=hint,
                # A running broker writes its first checkpoint after a while.
                severity=Severity.INFO if store.aborted or store.is_never_run else Severity.WARNING,
            )
        return
    data = store.open_files.open(path).read(0, CHECKPOINT_SIZE)
    if len(data) != CHECKPOINT_SIZE:
        findings.error(
            "file_size",
            "checkpoint",
            pos=len(data),
            found=len(data),
            expected=CHECKPOINT_SIZE,
            hint=hint,
            severity=Severity.WARNING,
        )
        return
    _check_times(store, Checkpoint.decode(data), findings)


def _check_times(store: StoreView, checkpoint: Checkpoint, findings: Findings) -> None:
    # While a broker runs, the checkpoint may be newer than the log that was listed.
    # Bytes that cannot be read after the last whole record may also be newer than it.
    open_end = store.aborted or store.log.data_end > store.log.end
    last = None if open_end else store.log.last
    newest_ms = last[2].store_ms if last else TIME_MAX_MS
    for number, (name, value) in enumerate(checkpoint._asdict().items()):
        if value == 0 or TIME_MIN_MS <= value <= newest_ms:
            continue
        findings.error(
            "bad_time",
            "checkpoint",
            pos=8 * number,
            field=name,
            found=value,
            expected=f"0, or {TIME_MIN_MS} to {newest_ms}",
            size=8,
            severity=Severity.WARNING,
            hint="a broker that was killed starts its recovery too late; delete the checkpoint",
        )


def _check_config(store: StoreView, findings: Findings) -> None:
    for name, decode in DECODERS.items():
        read = store.config(name, decode)
        for file, problem in read.problems:
            if file == read.file:
                _unread_row(findings, file, problem)
                continue
            findings.error(
                "config_damaged" if not read.file else "config_fallback",
                file,
                found=problem,
                expected="json",
                size=(store.root / file).stat().st_size,
                severity=Severity.WARNING if read.file else Severity.ERROR,
                hint=f"a broker uses {read.file}; copy it over the damaged one"
                if read.file
                else "a broker does not start until the file is restored, or moved away, which "
                "loses its content",
            )
        backup = f"config/{name}.bak"
        if read.file == f"config/{name}" and (store.root / backup).is_file():
            _check_backup(store, backup, name, findings)
    for lost in lost_files(store):
        hint = f"{lost.effect}; restore the file from a slave or a backup"
        if lost.instead:
            hint = f"a broker uses {lost.instead}: {lost.effect}; copy it over the missing file"
        findings.error(
            "config_fallback" if lost.instead else "config_missing",
            f"config/{lost.name}",
            found="no file",
            expected=f"a file, since there is {lost.evidence}"
            if lost.instead
            else f"a file, since {lost.evidence}",
            severity=Severity.WARNING,
            hint=hint,
        )
    if store.unread_settings is not None:
        return
    if store.tree.queues and not store.config(TOPICS, DECODERS[TOPICS]).file:
        findings.error(
            "config_missing",
            f"config/{TOPICS}",
            found="nothing that can be read",
            expected="the topics of the queues",
            severity=Severity.WARNING,
            hint="clients get no route to topics that are not listed; restore the file",
        )


def _unread_row(findings: Findings, file: str, problem: str) -> None:
    findings.error(
        "config_damaged",
        file,
        found=problem,
        expected="json",
        hint="a broker does not start with it; create the topic or group there again, or restore "
        "the directory from a backup",
    )


def _check_backup(store: StoreView, backup: str, name: str, findings: Findings) -> None:
    read = store.config(f"{name}.bak", DECODERS[name])
    for file, problem in read.problems:
        findings.error(
            "backup_damaged",
            file,
            found=problem,
            expected="json",
            size=(store.root / backup).stat().st_size,
            severity=Severity.WARNING,
            hint="the file itself is whole; the broker writes a new backup with its next change",
        )
