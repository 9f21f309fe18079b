"""Bodies as their producers sent them, beside a batch of messages as they are stored.

    batch of 4,000 messages ── bodies inflate to more than a batch may have ──> parts of it

Rule: memory stays bounded whatever the size of inflated bodies: a part ends when its bodies reach
the limit, and one body has at most 64 MiB. A body that cannot be decompressed stays as it is
stored, unless damage has to end the job.
"""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from storefmt.errors import RecordDamaged
from storefmt.formats.sysflag import COMPRESSED, inflate

INFLATED_SIZE_MAX: Final = 64 << 20
NEEDED: Final = ("body", "sys_flag")
"""The columns that a batch must have."""


def inflate_bodies(
    batch: Any, *, bytes_max: int, fail_on_damage: bool
) -> Iterator[tuple[Any, Any]]:
    """Yield parts of a batch in its order, each with an array of its decompressed bodies.

    Args:
        batch: messages as they are stored, with the columns ``NEEDED``.
        bytes_max: the most bytes of the bodies in a part, except when it has only one body.
        fail_on_damage: whether a body that cannot be decompressed is an error.

    Raises:
        RecordDamaged: a body cannot be decompressed, and ``fail_on_damage`` is true.
        BadCall: the library of a codec is not installed.
    """
    stored, flags = batch.column("body"), batch.column("sys_flag").to_numpy()
    if not (flags & COMPRESSED).any():
        yield batch, stored
        return
    first, size = 0, 0
    bodies: list[bytes] = []
    for number, flag in enumerate(flags.tolist()):
        body = stored[number].as_py()
        try:
            body = inflate(body, flag, size_max=INFLATED_SIZE_MAX)
        except RecordDamaged:
            if fail_on_damage:
                raise
        if bodies and size + len(body) > bytes_max:
            yield batch.slice(first, len(bodies)), pa.array(bodies, stored.type)
            first, size, bodies = number, 0, []
        bodies.append(body)
        size += len(body)
    yield batch.slice(first, len(bodies)), pa.array(bodies, stored.type)
