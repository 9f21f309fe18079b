"""Bodies as their producers sent them, beside a batch of messages as they are stored.

    batch of 4,000 messages ── bodies inflate to more than a batch may have ──> parts of it

    body in the store       body returned   sys_flag returned
    plain                   as stored       as stored
    compressed              decompressed    without the bits of compression
    compressed and damaged  as stored       as stored, or the job ends

Rule: memory stays bounded whatever the size of inflated bodies: a part ends when its bodies reach
the limit, and one body has at most 64 MiB. So ``sys_flag`` says of each row how its body is
compressed, here and wherever rows are written to.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storefmt.errors import RecordDamaged
from storefmt.formats.message import body_crc
from storefmt.formats.sysflag import COMPRESSED, COMPRESSION_MASK, inflate

INFLATED_SIZE_MAX: Final = 64 << 20
NEEDED: Final = ("body", "sys_flag")
"""The columns that a batch must have."""
_PLAIN: Final = ~(COMPRESSED | COMPRESSION_MASK)


def is_changed_by_inflating(columns: Sequence[str]) -> bool:
    """Tell whether one of these columns says how a body is compressed, or is the body."""
    return not set(NEEDED).isdisjoint(columns)


def with_needed(columns: Sequence[str]) -> tuple[str, ...]:
    """Return these columns, followed by those that ``inflate_bodies`` needs as well."""
    return tuple(dict.fromkeys((*columns, *NEEDED)))


def body_as_sent(body: bytes, sys_flag: int) -> bytes:
    """Return a body as its producer sent it.

    Raises:
        RecordDamaged: it is not compressed as ``sys_flag`` says.
        BadCall: the library of its codec is not installed.
    """
    return inflate(body, sys_flag, size_max=INFLATED_SIZE_MAX)


class Inflated(NamedTuple):
    """A part of a batch with its bodies as they were sent.

    Attributes:
        rows: the part as it is stored.
        bodies: the bodies as they were sent.
        flags: ``sys_flag`` of those bodies.
    """

    rows: Any
    bodies: Any
    flags: Any

    def filter(self, hits: Any) -> "Inflated":
        """Return the rows for which ``hits`` is true."""
        return Inflated(*(each.filter(hits) for each in self))

    def as_sent(self) -> Any:
        """Return the rows with these bodies and flags; all other columns are those of the store."""
        return _replaced(self.rows, body=self.bodies, sys_flag=self.flags)

    def as_plain_records(self) -> Any:
        """Return the rows as records that were stored without compression.

        Their ``body_size``, ``store_size`` and ``body_crc`` are those of such records; the batch
        must have these columns.
        """
        stored_flags = self.rows.column("sys_flag")
        if self.flags.equals(stored_flags):
            return self.rows
        changed = self.flags.to_numpy() != pc.fill_null(stored_flags, 0).to_numpy()
        stored_sizes = self.rows.column("body_size").to_numpy()
        sizes = np.where(changed, pc.binary_length(self.bodies).to_numpy(), stored_sizes)
        crcs = self.rows.column("body_crc").to_numpy().copy()
        for row in np.flatnonzero(changed).tolist():
            crcs[row] = body_crc(self.bodies[row].as_buffer())
        record_sizes = self.rows.column("store_size").to_numpy() + (sizes - stored_sizes)
        return _replaced(
            self.rows,
            body=self.bodies,
            sys_flag=self.flags,
            body_size=pa.array(sizes, pa.int32()),
            store_size=pa.array(record_sizes, pa.int32()),
            body_crc=pa.array(crcs, pa.int32()),
        )


def _replaced(batch: Any, **columns: Any) -> Any:
    """Return a batch with other values in some columns."""
    arrays = [columns.get(name, batch.column(name)) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def inflate_bodies(batch: Any, *, bytes_max: int, fail_on_damage: bool) -> Iterator[Inflated]:
    """Yield parts of a batch in its order, with their decompressed bodies.

    Args:
        batch: messages as they are stored, with the columns ``NEEDED``.
        bytes_max: the most bytes of the bodies in a part, except when it has only one body.
        fail_on_damage: whether a body that cannot be decompressed is an error.

    Raises:
        RecordDamaged: a body cannot be decompressed, and ``fail_on_damage`` is true.
        BadCall: the library of a codec is not installed.
    """
    stored, flags = batch.column("body"), batch.column("sys_flag")
    flag_type = flags.type
    # Files of an archive may lack the column.
    numbers = pc.fill_null(flags, 0).to_numpy()
    if not (numbers & COMPRESSED).any():
        yield Inflated(batch, stored, flags)
        return
    first, size = 0, 0
    bodies: list[bytes] = []
    kept: list[int] = []

    def part() -> Inflated:
        rows = batch.slice(first, len(bodies))
        return Inflated(rows, pa.array(bodies, stored.type), pa.array(kept, flag_type))

    for number, flag in enumerate(numbers.tolist()):
        body = stored[number].as_py()
        if flag & COMPRESSED:
            try:
                body = body_as_sent(body, flag)
                flag &= _PLAIN
            except RecordDamaged:
                if fail_on_damage:
                    raise
        if bodies and size + len(body) > bytes_max:
            yield part()
            first, size, bodies, kept = number, 0, [], []
        bodies.append(body)
        kept.append(flag)
        size += len(body)
    yield part()
