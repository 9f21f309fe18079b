"""The log of a compaction topic: records of the commit log, one after the other, then zeros.

    compaction/compactionLog/TOPIC/QUEUE/00000000000000000000
    | record | record | ... | 0 0 0 ...

Source: store/kv/CompactionLog.java, tools/command/message/DumpCompactionLogCommand.java (5.4.0).
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from storefmt.formats.message import Record, decode_record

SIZE_FIELD: Final = 4
BLANK_MAGIC: Final = 0xCBD43194.to_bytes(4, "big")
"""The magic of what fills the rest of a file whose next record did not fit."""


def read_compaction_log(path: Path) -> Iterator[Record]:
    """Yield the records of one file in its order.

    Raises:
        RecordDamaged: a record is damaged; ``pos`` is where it starts.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            pos = 0
            while pos + 2 * SIZE_FIELD <= len(data):
                size = int.from_bytes(data[pos : pos + SIZE_FIELD], "big", signed=True)
                magic = data[pos + SIZE_FIELD : pos + 2 * SIZE_FIELD]
                if size <= 0 or size > len(data) - pos or magic == BLANK_MAGIC:
                    return
                yield decode_record(data[pos : pos + size])
                pos += size
