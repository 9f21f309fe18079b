"""Types of the compiled kernel, which is there only where it was built."""

from collections.abc import Sequence

from storefmt.dispatch.index_table import Keyed, Row

def key_rows_compiled(records: Sequence[Keyed]) -> list[Row]: ...
def add_rows_compiled(
    rows: list[Row],
    slots: memoryview[int],
    dirty: bytearray,
    fresh: bytearray,
    number: int,
    begin_ms: int,
    begin_log_offset: int,
    /,
) -> tuple[int, int, int]: ...
