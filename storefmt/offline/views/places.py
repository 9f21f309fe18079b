"""Where a field of a record lies in its file: the byte that a finding points at."""

from storefmt.errors import StoreError
from storefmt.formats import layout
from storefmt.formats.message import MAGIC_V2, Record
from storefmt.offline.views.opened import Opened
from storefmt.offline.views.tree import FileSpan


def field_at(store: Opened, span: FileSpan, pos: int, record: Record, name: str) -> tuple[int, int]:
    """Return (position in the file, size) of a field of the record at ``pos``."""
    declared = layout.MESSAGE_V2 if record.magic == MAGIC_V2 else layout.MESSAGE
    try:
        data = store.log.open(span).read(pos, record.size)
        for found in declared.spans(data):
            if found.field.name == name:
                return pos + found.pos, found.size
    except StoreError:
        # It was whole a moment ago; the record's start is near enough.
        return pos, record.size
    return pos, record.size
