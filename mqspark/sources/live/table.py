"""The columns of ``rocketmq`` (``mqspark.schemas.LIVE``): those of a load, and those by default.

Rule: ``properties_raw`` and ``crc_ok`` come only if they are named.
"""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from mqspark.errors import BadOption
from mqspark.schemas import LIVE

DEFAULT_COLUMNS: Final = tuple(
    name for name in LIVE.names if name not in ("properties_raw", "crc_ok")
)


def live_schema(columns: Sequence[str]) -> Any:
    """Return the Arrow schema of some columns, in this order.

    Raises:
        BadOption: a column does not exist.
    """
    unknown = [name for name in columns if name not in LIVE.names]
    if unknown:
        raise BadOption(
            f"rocketmq has no column {', '.join(unknown)}; it has {', '.join(LIVE.names)}"
        )
    return pa.schema([LIVE.field(name) for name in columns])
