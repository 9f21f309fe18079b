"""Where controllers keep the records of groups: one value a group, replaced by compare and swap.

    read ──> (record, revision) ──> rules ──> swap(record, revision) ──> True: durable
                 ^                                    └── False: changed meanwhile
                 └────────────────────────────────────────┘

Rule: whatever ``swap`` answers with True is on disk, in a file (``groups_file``) or at a majority
of etcd (``groups_etcd``). Agreement between several controllers rests on ``swap`` alone: not on a
lease, a clock, or who believes to lead.
"""

from typing import NamedTuple, Protocol

from mqserver.controller.group_record import GroupRecord


class StoreUnavailable(Exception):
    """The records cannot be read or written now; what was asked may have been done or not."""


class Versioned(NamedTuple):
    """A record as it was read."""

    record: GroupRecord | None
    """None if there is no such group."""
    revision: int
    """What ``swap`` has to be given to replace just this record."""


class GroupStore(Protocol):
    """A store of group records."""

    async def open(self) -> None:
        """Make the store ready.

        Raises:
            StoreUnavailable: it cannot be opened.
        """
        ...

    async def read(self, broker_name: str) -> Versioned:
        """Return the newest record of a group.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        ...

    async def read_all(self) -> list[GroupRecord]:
        """Return the newest record of every group, by broker name.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        ...

    async def swap(self, broker_name: str, record: GroupRecord | None, *, revision: int) -> bool:
        """Replace a record if it still has ``revision``; None removes it.

        Returns:
            True when the new record is durable, False if the record was changed meanwhile.

        Raises:
            StoreUnavailable: no outcome is known.
        """
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...
