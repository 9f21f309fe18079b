"""How a table of a store is read, as the options of a load say."""

from enum import Enum
from typing import Final, NamedTuple

from mqspark.schemas import COMMITLOG
from mqspark.sources.store.conditions import Condition
from storefmt.arrow.columns import BYTES_MAX, DEFAULT_COLUMNS, ROWS_MAX

SPLIT_SIZE: Final = 1 << 30
"""A whole log file: a task costs Spark some 20 ms of CPU, as much as 0.2 GiB of counting."""


class StoreLayout(Enum):
    """The layout of a store that is read; the value is that of the option."""

    AUTO = "auto"
    """Everything that is there."""
    FILE = "file"
    """``commitlog/`` and ``consumequeue/``."""
    BATCHCQ = "batchcq"
    """``batchconsumequeue/`` of 5.x."""
    DLEDGER = "dledger"
    """The Raft log of a DLedger broker."""


class ReadOptions(NamedTuple):
    """How a table is read; sizes in bytes."""

    table: str = COMMITLOG
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    split_size: int = SPLIT_SIZE
    rows_max: int = ROWS_MAX
    bytes_max: int = BYTES_MAX
    check_crc: bool = False
    fail_on_damage: bool = False
    where: tuple[Condition, ...] = ()
    """The worker drops rows for which one of these is not true; their columns need not be among
    ``columns``."""
    body_matches: str = ""
    """In a table with bodies, only messages whose decompressed body has a match of this regular
    expression (RE2) are read."""
    decompress: bool = False
    """Whether bodies are decompressed, as their producers sent them."""
    layout: StoreLayout = StoreLayout.AUTO
