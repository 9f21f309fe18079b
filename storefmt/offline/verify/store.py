"""Verifies a whole store: every file, every record, every queue and index entry.

    names, sizes, config ──> log, record by record ──> queues both ways ──> index ──> offsets
    check_tree               check_log                 check_queues         check_index
                             check_seal

Rule: verification only reads, and its memory is bounded. Damage is a finding and never an error,
so that every report is complete. ``ok`` means no error and no warning (see ``findings``).
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from storefmt.errors import StoreError
from storefmt.offline.parallel import workers_for
from storefmt.offline.verify.check_index import check_index
from storefmt.offline.verify.check_log import LogCheck, WindowSource
from storefmt.offline.verify.check_queues import ConsumeQueueCheck
from storefmt.offline.verify.check_rocksdb import check_forms
from storefmt.offline.verify.check_seal import check_seal
from storefmt.offline.verify.check_tree import check_tree
from storefmt.offline.verify.findings import Findings, Report, Severity
from storefmt.offline.verify.seal import CHECKSUMS
from storefmt.offline.views.config import OFFSETS, ConfigTables, read_config
from storefmt.offline.views.store_view import StoreView

if TYPE_CHECKING:
    from storefmt.offline.verify.parallel_verify import WindowChecking

BULK_SIZE_MIN: Final = 16 << 20
"""Logs of less, in bytes, are verified before numpy is loaded."""


def verify(
    store: StoreView,
    *,
    deep: bool = False,
    bulk: bool | None = None,
    checksums: Path | None = None,
    jobs: int | None = 1,
    checking: "WindowChecking | None" = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Verify a store and return the report.

    Args:
        store: the opened store.
        bulk: check whole windows with numpy; None to do so if numpy is installed and the log
            is large. The findings are the same.
        jobs: processes for a large log; None for one on each core. Without numpy one process
            reads the log; the report is the same.
        checking: checks windows of the log elsewhere, see ``parallel_verify``; None for ``jobs``.
        progress: is called now and then with the bytes of log that are done, and in total.
        checksums: directory of ``store seal``; None for the one inside the store.
        deep: also decompress bodies, compare every index entry with its record, and every key
            of every record with the index.

    Raises:
        StoreError: a file cannot be read, or the store disappears while it is read.
    """
    started_s = time.monotonic()
    findings = Findings()
    config = read_config(store)
    check_tree(store, findings)
    check_forms(store, findings)
    queues = ConsumeQueueCheck(store, findings)
    size = store.log.end - store.log.min_offset
    if bulk is None or checking is not None:
        bulk = checking is not None or (size > BULK_SIZE_MIN and find_spec("numpy") is not None)
    worker_count = workers_for(store.log.data_size, jobs)
    with _windows(store, queues, bulk, deep, worker_count, checking) as windows:
        log = LogCheck(
            store,
            findings,
            queues,
            deep=deep,
            bulk=windows,
            on_done=lambda done: progress(done, size),
        )
        log.check()
    queues.finish(log.holes, config)
    _check_lost_log(store, log.records, findings)
    check_seal(store, findings, checksums or store.root / CHECKSUMS, worker_count=worker_count)
    index_size = check_index(store, findings, log.holes, deep=deep, bulk=bulk)
    _check_offsets(store, config, findings)
    return Report(
        ok=findings.ok,
        files=_file_count(store),
        records=log.records,
        bytes=log.size + index_size,
        seconds=round(time.monotonic() - started_s, 3),
        findings=findings.all(),
    )


def _windows(
    store: StoreView,
    queues: ConsumeQueueCheck,
    bulk: bool,
    deep: bool,
    worker_count: int,
    checking: "WindowChecking | None",
) -> AbstractContextManager[WindowSource | None]:
    if not bulk:
        return nullcontext()
    windows = queues.bulk(deep)
    if worker_count == 1 and checking is None:
        return nullcontext(windows)
    # As ``bulk``, it needs numpy.
    from storefmt.offline.verify.parallel_verify import WorkerWindows, by_processes

    return WorkerWindows(store, windows, checking=checking or by_processes(worker_count))


def _check_lost_log(store: StoreView, record_count: int, findings: Findings) -> None:
    """Report queues with entries beside a log without a record, as when its disk is missing."""
    if record_count:
        return
    counts = [store.queue(topic, queue_id).max_offset for topic, queue_id in store.queues()]
    if any(counts):
        findings.error(
            "log_lost",
            "commitlog",
            found=f"no record beside {sum(count > 0 for count in counts)} queues with messages",
            expected="the records of the queues",
            hint="mount the disk of the commit log, or put its files back; a broker does not start "
            "without them unless startWithLostCommitLog=true, and then empties the queues",
        )


def _check_offsets(store: StoreView, config: ConfigTables, findings: Findings) -> None:
    """Report groups whose offset lies past the end of a queue; admins may do so on purpose."""
    for (topic, group), offsets in sorted(config.offsets.items()):
        for queue_id, offset in sorted(offsets.items()):
            try:
                end = store.queue(topic, queue_id).max_offset
            except StoreError:
                # No such queue: the group subscribed before the first message came.
                end = 0
            if offset > end:
                findings.error(
                    "offset_beyond_end",
                    f"config/{OFFSETS}",
                    field="offset",
                    found=f"{group} at {offset} of {topic} {queue_id}",
                    expected=f"at most {end}",
                    severity=Severity.INFO,
                    hint="the group gets nothing until the queue grows or the offset is reset",
                )


def _file_count(store: StoreView) -> int:
    tree = store.tree
    rows = [*tree.file_queues.values(), *tree.ext.values()]
    singles = len(tree.log) + len(tree.index) + len(tree.config) + len(tree.other)
    return singles + len(tree.strangers) + sum(len(row) for row in rows)
