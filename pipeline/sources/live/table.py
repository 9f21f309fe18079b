"""The columns of ``rocketmq``: those of the store's commit log, and where a row came from.

Rule: names and types are those of ``rocketmq_store``, so that both can be combined in a union.
There is no column ``file``, because a broker does not tell it. ``properties_raw`` and ``crc_ok``
come only if they are named.
"""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from pipeline.errors import BadOption
from storefmt.arrow.columns import SCHEMA

ORIGIN: Final = ("cluster", "broker_name", "broker_address")
LIVE_SCHEMA: Final = pa.schema(
    [
        *(field for field in SCHEMA if field.name != "file"),
        *(pa.field(name, pa.string()) for name in ORIGIN),
    ]
)
DEFAULT_COLUMNS: Final = tuple(
    name for name in LIVE_SCHEMA.names if name not in ("properties_raw", "crc_ok")
)


def live_schema(columns: Sequence[str]) -> Any:
    """Return the Arrow schema of some columns, in this order.

    Raises:
        BadOption: a column does not exist.
    """
    unknown = [name for name in columns if name not in LIVE_SCHEMA.names]
    if unknown:
        raise BadOption(
            f"rocketmq has no column {', '.join(unknown)}; it has {', '.join(LIVE_SCHEMA.names)}"
        )
    return pa.schema([LIVE_SCHEMA.field(name) for name in columns])
