"""How a broker of RocketMQ 5 stores and reads, as targets of a change.

ColdDataLimit      bytes that a group may read from disk     names: the group
ReadAhead          whether the commit log is read ahead      names: nothing
TimerEngine        what keeps delayed messages               names: nothing
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from mqadmin.changes.targets.base import MANY, ChangeTarget, ListedTarget
from mqadmin.errors import ServerRefused

FILES, ROCKSDB = "FILES", "ROCKSDB"
BOTH, NEITHER = "FILES and ROCKSDB", "NEITHER"
LETTERS: Final = {FILES: "F", ROCKSDB: "R"}


@dataclass(frozen=True, slots=True)
class ColdDataLimit(ListedTarget[int, Mapping[str, int]]):
    """The limit of one group on one broker, in bytes; None where the common one counts."""

    kind: ClassVar[str] = "cold data limit"
    width: ClassVar[int] = MANY

    async def listing(self) -> Mapping[str, int]:
        """Return the limits of single groups."""
        return (await self.admin.cold_data_info(self.node.address)).config_table

    async def write(self, value: int | None) -> None:
        """Set or remove it."""
        if value is None:
            await self.admin.remove_cold_data_limit(self.node.address, self.names[0])
        else:
            await self.admin.set_cold_data_limit(self.node.address, self.names[0], value)


@dataclass(frozen=True, slots=True)
class ReadAhead(ChangeTarget[bool]):
    """Whether the system reads ahead in the commit log of one broker."""

    kind: ClassVar[str] = "read-ahead"

    async def read(self) -> bool | None:
        """Return the setting that the broker keeps of it."""
        settings = await self.admin.broker_config(self.node.address)
        return settings.get("dataReadAheadEnable", "true") == "true"

    async def write(self, value: bool | None) -> None:
        """Set it for every file of the log."""
        if value is None:
            raise ServerRefused("a broker reads ahead or does not")
        await self.admin.set_read_ahead(self.node.address, is_on=value)


@dataclass(frozen=True, slots=True)
class TimerEngine(ChangeTarget[str]):
    """What keeps the delayed messages of one broker: FILES or ROCKSDB."""

    kind: ClassVar[str] = "timer engine"

    async def read(self) -> str | None:
        """Return the engine that the settings of the broker say."""
        return engine_of(await self.admin.broker_config(self.node.address))

    async def write(self, value: str | None) -> None:
        """Switch to it."""
        letter = LETTERS.get(value or "")
        if letter is None:
            raise ServerRefused(f"a broker cannot be switched to {value} while it runs")
        await self.admin.switch_timer_engine(self.node.address, letter)


def engine_of(settings: Mapping[str, str]) -> str:
    """Return which engine takes delayed messages, by the settings of a broker."""
    is_in_rocksdb = (
        settings.get("timerRocksDBEnable", "false") == "true"
        and settings.get("timerRocksDBStopScan", "false") == "false"
    )
    is_in_files = settings.get("timerStopEnqueue", "false") == "false"
    if is_in_files:
        return BOTH if is_in_rocksdb else FILES
    return ROCKSDB if is_in_rocksdb else NEITHER
