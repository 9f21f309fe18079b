"""Where a command writes a store, and the sizes that the old one does not tell any more."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.parameters import Kind, option
from storefmt.names import DELAY_LEVELS
from storefmt.offline.repair.rebuild import StoreShape


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeArguments:
    """Where to, and sizes that the store does not tell any more."""

    to: Annotated[str, option("new or empty directory", metavar="OUT", kind=Kind.DIR)]
    queue_file_size: Annotated[
        int, option("bytes of a queue file; 0 for the size of the old ones, or 6000000")
    ] = 0
    index_slots: Annotated[
        int, option("slots of an index file; 0 for those of the old ones, or 5000000")
    ] = 0
    index_entries: Annotated[
        int, option("entries of an index file; 0 for those of the old ones, or 20000000")
    ] = 0
    delay_levels: Annotated[str, option("messageDelayLevel of the broker")] = DELAY_LEVELS

    def shape(self) -> StoreShape:
        """Return the sizes as the offline tools take them."""
        return StoreShape(
            queue_file_size=self.queue_file_size,
            index_slot_count=self.index_slots,
            index_entry_count=self.index_entries,
            delay_levels=self.delay_levels,
        )
