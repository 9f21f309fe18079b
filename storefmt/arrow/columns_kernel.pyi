"""Types of the compiled kernel of the columns, which is there only where it was built."""

from collections.abc import Collection, Sequence

from storefmt.arrow.record_positions import Bytes, Ints

class Columns:
    count: int
    def __init__(
        self,
        ints: Sequence[tuple[str, Sequence[int], int]],
        names: Collection[str],
        host_places: Sequence[Sequence[int]],
        rows_max: int,
        before: Columns | None = None,
    ) -> None: ...
    def add(self, data: Bytes, starts: Ints, at: int | None) -> int: ...
    def finish(self) -> dict[str, object]: ...
