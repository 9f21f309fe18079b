"""How a table of a store is read: what the options of a load come to."""

from enum import Enum
from typing import Final, NamedTuple

from pipeline.conditions import Condition
from storefmt.arrow.columns import BYTES_MAX, DEFAULT_COLUMNS, ROWS_MAX

COMMITLOG: Final = "commitlog"
SPLIT_SIZE: Final = 256 << 20


class Layout(Enum):
    """Which of the ways in which brokers keep a store is read; the value is the option's."""

    AUTO = "auto"
    """All that there is."""
    FILE = "file"
    """``commitlog/`` and ``consumequeue/``."""
    BATCHCQ = "batchcq"
    """``batchconsumequeue/`` of 5.x."""
    DLEDGER = "dledger"
    """The Raft log of a DLedger broker."""


class Reading(NamedTuple):
    """How a table is read; sizes in bytes."""

    table: str = COMMITLOG
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    split_size: int = SPLIT_SIZE
    rows_max: int = ROWS_MAX
    bytes_max: int = BYTES_MAX
    check_crc: bool = False
    fail_on_damage: bool = False
    where: tuple[Condition, ...] = ()
    """Rows for which one of these is not true stay in the worker; their columns need not be
    among ``columns``."""
    body_matches: str = ""
    """Only messages whose body, decompressed, has a match of this expression (RE2), where the
    table has bodies."""
    decompress: bool = False
    """Bodies are those of the producers, not those of the log."""
    layout: Layout = Layout.AUTO
