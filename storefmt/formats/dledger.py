"""The Raft log of a DLedger broker, in which every message record is wrapped in an entry.

    <root>/dledger-<id>/data/<20 digits>     | entry | entry | blank |   0 0 0 …
                        index/<20 digits>    32 bytes an entry: where it lies
                        checkpoint           endIndex=22, committedIndex=22
                        currterm             currTerm=0, voteLeader=n0

    an entry:   | 48 bytes of head | message record |
                                   ^ the record's log_offset = the entry's pos + 48

Rule: consume queues and index files of such a store point at the record inside, not at the
entry, so readers of those files need to know nothing about entries. Each entry contains one
record; each message of a batch gets an entry. Neither CRC of an entry is ever computed (both are
0); the CRC of the record protects its body. A blank begins with its magic (-1), while a blank of
the commit log begins with its size. A broker that was switched to DLedger keeps its older files
in ``commitlog/``, and the Raft log continues after them.

Source: dledger/entry/DLedgerEntryCoder.java, store/file/MmapFileList.java#preAppend,
store/file/DLedgerMmapFileStore.java#recover, #appendAsLeader (DLedger 0.3.1.2);
store/dledger/DLedgerCommitLog.java (RocketMQ 4.9.7).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.message import RECORD_SIZE_MIN, Record, decode_record

_HEAD: Final = layout.DLEDGER_ENTRY.part("body_size").struct()
_BLANK: Final = layout.DLEDGER_BLANK.struct()
HEAD_SIZE: Final = _HEAD.size
BLANK_SIZE_MIN: Final = _BLANK.size
MAGIC_NORMAL: Final = 1
MAGIC_NOOP: Final = 2
MAGIC_CONFIG_CHANGE: Final = 3
"""Known to later releases (0.4); 0.3.1.2 writes and reads only 1."""
MAGIC_BLANK: Final = -1
_MAGICS: Final = range(MAGIC_NORMAL, MAGIC_CONFIG_CHANGE + 1)
ENTRY_SIZE_MAX: Final = 64 << 20
DIRECTORY_PREFIX: Final = "dledger-"
assert HEAD_SIZE == 48
assert BLANK_SIZE_MIN == 8


class DledgerEntry(NamedTuple):
    """One entry; ``pos`` in bytes of the whole log, ``body`` is a message record."""

    magic: int
    size: int
    entry_index: int
    term: int
    pos: int
    channel: int
    chain_crc: int
    body_crc: int
    body: bytes

    @property
    def record_offset(self) -> int:
        """The log offset (bytes) of the record inside."""
        return self.pos + HEAD_SIZE

    def record(self, *, check_crc: bool = True) -> Record | None:
        """Return the record inside; None for an entry of the Raft group itself, which has no body.

        Raises:
            RecordDamaged: it is not an entry, or says that it lies elsewhere; ``pos`` is that in
                the entry.
        """
        if self.magic != MAGIC_NORMAL:
            return None
        record = decode_record(self.body, check_crc=check_crc)
        if record.size != len(self.body):
            raise _damaged(HEAD_SIZE, DamageKind.BAD_LENGTH, "size", record.size, len(self.body))
        if record.log_offset != self.record_offset:
            raise _damaged(
                HEAD_SIZE,
                DamageKind.OFFSET_MISMATCH,
                "log_offset",
                record.log_offset,
                self.record_offset,
            )
        return record


class DledgerBlank(NamedTuple):
    """The filler at the end of a file; ``size`` reaches to its end."""

    size: int


def find_directories(root: Path) -> list[Path]:
    """Return the ``data`` directories of Raft logs in a store directory; usually none or one.

    Raises:
        OSError: ``root`` cannot be read.
    """
    return [
        path / "data"
        for path in sorted(root.iterdir())
        if path.name.startswith(DIRECTORY_PREFIX) and (path / "data").is_dir()
    ]


def wraps(head: bytes, record: Record) -> bool:
    """Return whether ``head``, the bytes before a record, is that of the entry around it."""
    if len(head) != HEAD_SIZE:
        return False
    magic, size, _, _, pos, _, _, _, body_size = _HEAD.unpack(head)
    fields = (magic, size, pos, body_size)
    return fields == (
        MAGIC_NORMAL, HEAD_SIZE + record.size, record.log_offset - HEAD_SIZE, record.size
    )  # fmt: skip


def decode_entry(data: bytes | memoryview, *, shift: int = 0) -> DledgerEntry | DledgerBlank | None:
    """Return what ``data`` begins with; None at the end of the log (zeros, or no bytes left).

    Args:
        shift: where ``data`` lies in its file; errors name this place.

    Raises:
        RecordDamaged: it is cut off, its magic is unknown or its lengths do not agree.
    """
    left = len(data)
    if not any(data[:BLANK_SIZE_MIN]):
        return None
    if left < BLANK_SIZE_MIN:
        raise _damaged(shift, DamageKind.TRUNCATED, "size", left, BLANK_SIZE_MIN)
    magic, size = _BLANK.unpack_from(data)
    if magic == MAGIC_BLANK:
        if size < BLANK_SIZE_MIN:
            raise _damaged(shift, DamageKind.BAD_SIZE, "size", size, BLANK_SIZE_MIN)
        return DledgerBlank(size)
    if magic not in _MAGICS:
        raise _damaged(shift, DamageKind.BAD_MAGIC, "magic", magic, MAGIC_NORMAL)
    least = HEAD_SIZE + RECORD_SIZE_MIN if magic == MAGIC_NORMAL else HEAD_SIZE
    if size < least:
        raise _damaged(shift, DamageKind.BAD_SIZE, "size", size, least)
    if size > left:
        raise _damaged(shift, DamageKind.TRUNCATED, "size", left, size)
    *fields, body_size = _HEAD.unpack_from(data)
    if HEAD_SIZE + body_size != size:
        raise _damaged(shift, DamageKind.BAD_LENGTH, "body_size", body_size, size - HEAD_SIZE)
    return DledgerEntry._make((*fields, bytes(data[HEAD_SIZE:size])))


def walk_entries(
    read: Callable[[int, int], bytes], *, base: int, size: int
) -> Iterator[tuple[int, DledgerEntry | DledgerBlank]]:
    """Yield what one file of the log holds, each with its position in the file.

    Memory is bounded by one entry. The last item is a blank in a file that is full.

    Args:
        read: takes a position and a size in the file, as ``storefmt.formats.scan.Read``.
        base: log position (bytes) of the file's first byte: its name.
        size: size of the file in bytes.

    Raises:
        RecordDamaged: an entry is damaged, or says that it lies elsewhere; ``pos`` is its
            position in the file. As in Java, nothing after it is read.
    """
    pos = 0
    while pos < size:
        head = read(pos, min(HEAD_SIZE, size - pos))
        item: DledgerEntry | DledgerBlank | None
        magic, claimed = _BLANK.unpack_from(head) if len(head) >= BLANK_SIZE_MIN else (0, 0)
        if magic not in _MAGICS or claimed <= len(head):
            item = decode_entry(head, shift=pos)
        elif claimed > min(size - pos, ENTRY_SIZE_MAX):
            raise _damaged(
                pos, DamageKind.TRUNCATED, "size", claimed, min(size - pos, ENTRY_SIZE_MAX)
            )
        else:
            item = decode_entry(read(pos, claimed), shift=pos)
        if item is None:
            return
        if isinstance(item, DledgerBlank):
            if item.size != size - pos:
                raise _damaged(pos, DamageKind.BAD_SIZE, "size", item.size, size - pos)
            yield pos, item
            return
        if item.pos != base + pos:
            raise _damaged(pos, DamageKind.OFFSET_MISMATCH, "pos", item.pos, base + pos)
        yield pos, item
        pos += item.size


def _damaged(pos: int, kind: DamageKind, field: str, found: int, expected: int) -> RecordDamaged:
    return RecordDamaged(
        f"DLedger log at byte {pos}: {kind.value.replace('_', ' ')}, {field} is {found}, "
        f"expected {expected}; another member of the group has the same entry",
        kind=kind,
        pos=pos,
        field=field,
        found=found,
        expected=expected,
    )
