"""Names the bytes of a store by the declared layouts, for a hexdump.

    record 297161 ── size │ magic │ body_crc │ … │ properties KEYS │ properties TAGS
    any file + pos ── the entry, slot, header or record that holds this byte

Rule: every byte is in exactly one ``NamedBytes``, in order and without gaps. In a damaged record
the bytes that belong to no field have the name ``?``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storefmt.errors import BadCall, NotInStore, StoreError
from storefmt.formats import layout
from storefmt.formats.hosts import host_text
from storefmt.formats.index import HEADER, SLOT, slot_pos
from storefmt.formats.layout import HOST, Layout
from storefmt.formats.message import MAGIC_BLANK, MAGIC_V1, MAGIC_V2, layout_of
from storefmt.formats.scan import RECORD_SIZE_MAX
from storefmt.offline.views.indexes import IndexView
from storefmt.offline.views.log_scan import RECORD_HEAD, last_record
from storefmt.offline.views.store_view import StoreView
from storefmt.store_file import StoreFile

UNKNOWN: Final = "?"
UNKNOWN_SIZE: Final = 64
"""How many bytes are shown if no layout applies."""
_FIXED: Final = {
    "consumequeue": layout.CONSUME_QUEUE_ENTRY,
    "batchconsumequeue": layout.BATCH_QUEUE_ENTRY,
    "timerwheel": layout.TIMER_SLOT,
    "timerlog": layout.TIMER_UNIT,
}
_MAGICS: Final = {
    MAGIC_V1: "a record",
    MAGIC_V2: "a record with a long topic (5.x)",
    MAGIC_BLANK: "the end of the file",
}


@dataclass(frozen=True, slots=True)
class NamedBytes:
    """Bytes that are one field, or one property of the last field of a record.

    Attributes:
        pos: position in the file.
        value: a number, or text for a text field; None if the bytes need no interpretation.
        means: the meaning of the value, or of the field.
    """

    layout: str
    field: str
    pos: int
    data: bytes
    value: int | str | None = None
    unit: str = ""
    means: str = ""


@dataclass(frozen=True, slots=True)
class Dump:
    """A range of one file with the names of its bytes.

    Attributes:
        file: relative to the store; ``base``: log offset of its first byte, -1 for others.
        note: a remark about them; empty for none.
    """

    file: str
    base: int
    named: list[NamedBytes]
    note: str = ""


def dump_log(store: StoreView, log_offset: int) -> Dump:
    """Return the record, blank or bytes that hold the byte at ``log_offset``.

    Raises:
        NotInStore: no file of the log reaches there.
    """
    place = store.log.file_at(log_offset)
    if place is not None:
        base, span = place
        named = _in_log(store.log.open(span), log_offset - base, base)
        return Dump(store.span_name(span), base, *named)
    raise NotInStore(
        f"log offset {log_offset} is not in any log file of {store.root}; they hold "
        f"{store.log.min_offset} to {store.log.end}, and `store ls` lists them"
    )


def dump_file(store: StoreView, path: str, pos: int, *, count: int = 1) -> Dump:
    """Return the entry of a file of the store that holds byte ``pos``, and those after it.

    Args:
        path: relative to the store.
        count: how many entries; records, blanks and headers come alone.

    Raises:
        NotInStore: the file does not exist, or is shorter.
        BadCall: the path leaves the store.
    """
    full = (store.root / path).resolve()
    root = store.root.resolve()
    if root not in full.parents:
        raise BadCall(f"{path}: not in the store {store.root}; name a file of `store ls`")
    if not full.is_file():
        raise NotInStore(f"{path}: no such file in {store.root}; `store ls` lists them")
    file = store.open_files.open(full)
    if not 0 <= pos < file.size:
        raise NotInStore(
            f"{path}: no byte {pos}, the file has {file.size} bytes; give a smaller position"
        )
    name = full.relative_to(root).as_posix()
    for span, base in zip(store.log.spans, store.log.bases, strict=True):
        if span.path.resolve() == full:
            return Dump(name, base, *_in_log(file, pos, base))
    return Dump(name, -1, *_in_other(store, full, file, pos, count))


def _in_log(file: StoreFile, pos: int, base: int) -> tuple[list[NamedBytes], str]:
    start = pos
    if not _starts(file, pos, base):
        before = last_record(file, base=base, end=pos)
        if before is not None and before[0] + before[1].size > pos:
            start = before[0]
    data = file.read(start, 8)
    size, magic = _number(data[:4]), _number(data[4:8])
    if magic == MAGIC_BLANK:
        return _named(layout.BLANK, data, start), ""
    if magic not in (MAGIC_V1, MAGIC_V2) or not 0 < size <= RECORD_SIZE_MAX:
        note = f"no record starts at byte {start}, and no whole record contains it"
        return [_unknown(file, start)], note
    named = _named(layout_of(magic), file.read(start, size), start)
    note = ""
    if start != pos:
        inside = next((n for n in named if n.pos <= pos < n.pos + len(n.data)), None)
        field = inside.field if inside is not None else UNKNOWN
        note = f"byte {pos} is in `{field}` of the record that starts at byte {start}"
    return named, note


def _starts(file: StoreFile, pos: int, base: int) -> bool:
    head = file.read(pos, RECORD_HEAD.size)
    if _number(head[4:8]) == MAGIC_BLANK:
        return True
    if len(head) < RECORD_HEAD.size:
        return False
    fields = RECORD_HEAD.unpack(head)
    return fields[1] in (MAGIC_V1, MAGIC_V2) and fields[-1] == base + pos


def _in_other(
    store: StoreView, full: Path, file: StoreFile, pos: int, count: int
) -> tuple[list[NamedBytes], str]:
    place = full.relative_to(store.root.resolve()).parts[0]
    if place in _FIXED:
        return _entries(_FIXED[place], file, 0, file.size, pos, count), ""
    if place == "checkpoint":
        size = layout.CHECKPOINT.struct().size
        if pos < size:
            return _named(layout.CHECKPOINT, file.read(0, size), 0), ""
    if full.match("config/timercheck"):
        size = layout.TIMER_CHECKPOINT.struct().size
        return _named(layout.TIMER_CHECKPOINT, file.read(0, size), 0), ""
    if place == "consumequeue_ext":
        return _ext_units(file, pos, count), ""
    if place == "index":
        for view in store.index_files:
            if view.span.path.resolve() == full:
                return _in_index(view, file, pos, count)
    return [_unknown(file, pos)], "no layout is known for this file: only bytes are shown"


def _entries(
    declared: Layout, file: StoreFile, first: int, end: int, pos: int, count: int
) -> list[NamedBytes]:
    width = declared.struct().size
    start = pos - (pos - first) % width
    named: list[NamedBytes] = []
    for entry_pos in range(start, min(end, start + count * width), width):
        named += _named(declared, file.read(entry_pos, width), entry_pos)
    return named


def _in_index(
    view: IndexView, file: StoreFile, pos: int, count: int
) -> tuple[list[NamedBytes], str]:
    if pos < HEADER.size:
        return _named(layout.INDEX_HEADER, file.read(0, HEADER.size), 0), ""
    if view.shape is None:
        return [_unknown(file, pos)], "the number of slots in the file is unknown"
    entries = slot_pos(view.shape.slot_count)
    if pos < entries:
        slot = (pos - HEADER.size) // SLOT.size
        named = _entries(layout.INDEX_SLOT, file, HEADER.size, entries, pos, count)
        return named, f"slot {slot} of {view.shape.slot_count}"
    width = layout.INDEX_ENTRY.struct().size
    number = (pos - entries) // width
    named = _entries(layout.INDEX_ENTRY, file, entries, file.size, pos, count)
    return named, f"entry {number}; {view.header.entry_count - 1} are written"


def _ext_units(file: StoreFile, pos: int, count: int) -> list[NamedBytes]:
    named: list[NamedBytes] = []
    unit_pos = seen = 0
    while seen < count and unit_pos < file.size:
        size = _number(file.read(unit_pos, 2))
        if size <= 0:
            return named or [_unknown(file, max(pos, unit_pos))]
        if unit_pos + size > pos:
            named += _named(layout.CONSUME_QUEUE_EXT_UNIT, file.read(unit_pos, size), unit_pos)
            seen += 1
        unit_pos += size
    return named


def _named(declared: Layout, data: bytes, pos: int) -> list[NamedBytes]:
    named: list[NamedBytes] = []
    end = 0
    try:
        for span in declared.spans(data):
            raw = data[span.pos : span.pos + span.size]
            end = span.pos + span.size
            if span.field.name == "properties" and raw:
                named += _properties(declared, raw, pos + span.pos)
                continue
            value, means = _meaning(span.field, span.value)
            if raw:
                field_pos, field = pos + span.pos, span.field
                named.append(
                    NamedBytes(declared.name, field.name, field_pos, raw, value, field.unit, means)
                )
    except StoreError as error:
        named.append(_rest(declared, data[end:], pos + end, str(error)))
        return [item for item in named if item.data]
    if end < len(data):
        named.append(_rest(declared, data[end:], pos + end, "behind the last field"))
    return named


def _properties(declared: Layout, raw: bytes, pos: int) -> list[NamedBytes]:
    named = []
    start = 0
    while start < len(raw):
        end = raw.find(b"\x02", start)
        end = len(raw) if end < 0 else end + 1
        name, _, value = raw[start:end].rstrip(b"\x02").partition(b"\x01")
        field = f"properties {name.decode('utf-8', 'replace')}".rstrip()
        text = value.decode("utf-8", "replace")
        property_pos, data = pos + start, raw[start:end]
        named.append(
            NamedBytes(declared.name, field, property_pos, data, text, means="name 01 value 02")
        )
        start = end
    return named


def _meaning(field: layout.Field, value: int | bytes) -> tuple[int | str | None, str]:
    if isinstance(value, bytes):
        if field.kind is HOST:
            return host_text(value), field.doc
        return (value.decode("utf-8", "replace"), field.doc) if field.name == "topic" else (
            None, field.doc or field.name.replace("_", " "),
        )  # fmt: skip
    if field.name == "magic":
        return value, _MAGICS.get(value, field.doc)
    return value, field.doc


def _unknown(file: StoreFile, pos: int) -> NamedBytes:
    return NamedBytes("bytes", UNKNOWN, pos, file.read(pos, UNKNOWN_SIZE))


def _rest(declared: Layout, data: bytes, pos: int, means: str) -> NamedBytes:
    return NamedBytes(declared.name, UNKNOWN, pos, data, means=means)


def _number(raw: bytes) -> int:
    return int.from_bytes(raw, "big", signed=True)
