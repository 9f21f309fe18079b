"""The log of a compaction topic: records of the commit log, one after the other, then zeros.

    compaction/compactionLog/TOPIC/QUEUE/00000000000000000000
    | record | record | ... | 0 0 0 ...

Source: store/kv/CompactionLog.java, tools/command/message/DumpCompactionLogCommand.java (5.4.0).
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from storefmt.formats import layout
from storefmt.formats.message import MAGIC_BLANK, Record, decode_record

_SIZE_MAGIC: Final = layout.BLANK.struct()


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
            while pos + _SIZE_MAGIC.size <= len(data):
                size, magic = _SIZE_MAGIC.unpack_from(data, pos)
                if size <= 0 or size > len(data) - pos or magic == MAGIC_BLANK:
                    return
                yield decode_record(data[pos : pos + size])
                pos += size
