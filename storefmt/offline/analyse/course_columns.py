"""The course of store times by whole batches: the fast way of ``storefmt.offline.analyse.events``.

Rule: the same course as record by record; nothing else may import this module, so that
commands that need no times load neither numpy nor pyarrow.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from storefmt.offline.analyse.time_gaps import Course, Mark, Step

COLUMNS: Final = ("commit_log_offset", "store_timestamp")


def course_of_batch(batch: Any, *, pause_ms: int) -> Course:
    """Return the course of one batch that has ``COLUMNS``."""
    # A time that no calendar has is null.
    whole = batch.filter(batch.column("store_timestamp").is_valid())
    if not whole.num_rows:
        return Course()
    offsets = whole.column("commit_log_offset").to_numpy()
    times = whole.column("store_timestamp").cast(pa.int64()).to_numpy() // 1000
    spans = np.diff(times)
    at = np.flatnonzero((spans < 0) | (spans >= pause_ms))

    def mark(row: int) -> Mark:
        return Mark(int(offsets[row]), int(times[row]))

    steps = tuple(Step(mark(row), mark(row + 1)) for row in at.tolist())
    return Course(mark(0), mark(len(times) - 1), steps)
