"""``store hexdump``: show bytes of a store directory with the name of each field."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command
from mqadmin.cli.types import FILE, INTEGER, Integer
from mqadmin.errors import Usage
from mqadmin.output.times import iso_utc
from storefmt.offline.analyse.hexdump import Dump, NamedBytes, dump_file, dump_log
from storefmt.offline.views.storedir import StoreDir

LINE_SIZE: Final = 16
BODY_SIZE: Final = 256
"""How many bytes of a long field are shown without ``--whole``."""
BITS: Final = dict.fromkeys(("sys_flag", "flag", "body_crc", "magic"), 4294967295) | {
    "tags_code": (1 << 64) - 1
}
"""Fields that are also shown in hex, with the bits they have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRow(Row):
    """Up to 16 bytes of one field; ``pos`` in the file, ``log_offset`` in the log.

    ``value`` is on the first row of a field; ``hex`` is empty if bytes are left out.
    """

    file: str
    pos: int
    log_offset: int | None
    size: int
    hex: str
    text: str
    layout: str
    field: str
    value: int | str | None
    unit: str
    means: str


@command(
    "store hexdump",
    details="OFFSET may be any byte of a record, such as the offset of a finding of `store "
    "verify`. With --file, the dump shows an entry of a consume queue, an index, a checkpoint or "
    "any other file.",
    examples=(
        ("mqadmin store hexdump DIR 297161", "the record that holds this byte of the log"),
        ("mqadmin store hexdump DIR --file consumequeue/T/0/00000000000000000000 --pos 40 -c 3",
         "three entries of a queue"),
    ),
    rows=ByteRow,
    columns=("pos", "hex", "text", "field", "value", "unit", "means"),
    needs=Needs.STORE,
)  # fmt: skip
@argument(
    "offset", type=INTEGER, required=False, help="log offset of a record, or of any byte of it"
)
@click.option("--file", type=FILE, metavar="PATH", help="show this file of the store instead")
@click.option("--pos", type=INTEGER, default=0, help="with --file: position in the file, in bytes")
@click.option(
    "--count", "-c", type=Integer(min=1), default=1, help="with --file: number of entries"
)
@click.option("--whole", is_flag=True, help="show all bytes of long bodies")
def show_bytes(
    call: Call, *, offset: int | None, file: str | None, pos: int, count: int, whole: bool
) -> Outcome:
    """Return one row for each 16 bytes of each field.

    Raises:
        Usage: neither or both of OFFSET and --file are given.
        NotInStore: the log or the file does not reach there.
    """
    if (offset is None) == (file is None):
        raise Usage("no position given", hint="give a log offset, or --file PATH with --pos N")
    with StoreDir.open(call.store_dir) as store:
        if file is not None:
            dump = dump_file(store, file, pos, count=count)
        else:
            dump = dump_log(store, offset or 0)
    return Outcome(_rows(dump, whole), notes=(dump.note,) if dump.note else ())


def _rows(dump: Dump, whole: bool) -> Iterator[ByteRow]:
    for named in dump.named:
        shown = len(named.data) if whole else min(len(named.data), BODY_SIZE)
        for pos in range(0, shown, LINE_SIZE):
            data = named.data[pos : min(pos + LINE_SIZE, shown)]
            yield _row(dump, named, pos, data)
        left = len(named.data) - shown
        if left:
            yield _row(dump, named, shown, b"", size=left)


def _row(dump: Dump, named: NamedBytes, start: int, data: bytes, *, size: int = 0) -> ByteRow:
    pos = named.pos + start
    left_out = f"{size} more bytes; --whole shows them"
    return ByteRow(
        file=dump.file,
        pos=pos,
        log_offset=dump.base + pos if dump.base >= 0 else None,
        size=size or len(data),
        hex=data.hex(" "),
        text="".join(chr(byte) if 32 <= byte < 127 else "." for byte in data),
        layout=named.layout,
        field=named.field,
        value=named.value if start == 0 else None,
        unit=named.unit if start == 0 else "",
        means=left_out if size else _means(named) if start == 0 else "",
    )


def _means(named: NamedBytes) -> str:
    if isinstance(named.value, int):
        if named.unit == "ms" and named.value > 0:
            return f"{iso_utc(named.value)}, {named.means}"
        if named.field in BITS:
            return f"{named.value & BITS[named.field]:#x}, {named.means}"
    return named.means
