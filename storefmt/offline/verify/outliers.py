"""Finds records whose host or time differs from both of their neighbours.

    store_host  A A B A A       a broker does not change its address for one record
    store_ms    1 2 9999999 4   its clock does not run ahead for one record

Rule: nothing else in a record shows that these fields are wrong, because the CRC covers only the
body. Only a record between two records that agree is reported; a lasting change is not.
"""

from typing import Final, NamedTuple

from storefmt.formats.message import Record
from storefmt.offline.views.store_view import LocatedRecord

CLOCK_SLACK_MS: Final = 60_000


class Outlier(NamedTuple):
    """A field of a record that differs from the same field of both neighbours."""

    at: LocatedRecord
    field: str
    expected: str


class Neighbours:
    """Compares three records in a row."""

    def __init__(self) -> None:
        self._before: Record | None = None
        self._middle: LocatedRecord | None = None

    def next(self, located: LocatedRecord) -> list[Outlier]:
        """Compare the next record of the log; return the outliers of the record before it."""
        outliers: list[Outlier] = []
        if self._before is not None and self._middle is not None:
            outliers = _compare(self._before, self._middle, located.record)
        self.skip_to(None if self._middle is None else self._middle.record, located)
        return outliers

    def skip_to(self, before: Record | None, middle: LocatedRecord) -> None:
        """Continue after two records in a row; earlier records were compared elsewhere."""
        self._before = before
        self._middle = middle.without_body()


def _compare(before: Record, middle: LocatedRecord, after: Record) -> list[Outlier]:
    record, outliers = middle.record, []
    if before.store_host == after.store_host != record.store_host:
        outliers.append(Outlier(middle, "store_host", before.store_host.hex()))
    close = abs(after.store_ms - before.store_ms) <= CLOCK_SLACK_MS
    distance_ms = min(abs(record.store_ms - before.store_ms), abs(record.store_ms - after.store_ms))
    if close and distance_ms > CLOCK_SLACK_MS:
        outliers.append(Outlier(middle, "store_ms", f"{before.store_ms} to {after.store_ms}"))
    return outliers
