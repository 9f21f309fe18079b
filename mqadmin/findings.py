"""A finding of a verification as a row: what `store verify` and `pipeline verify` show."""

from dataclasses import dataclass

from mqadmin.rows import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow(Row):
    """One thing that is not as it should be; ``offset`` is the byte in ``file``."""

    kind: str
    severity: str
    file: str
    offset: int
    field: str
    found: str
    expected: str
    hint: str
    size: int
    count: int
