"""Where controllers keep the records of groups: one value a group, replaced by compare and swap.

    read ──> (record, revision) ──> rules ──> swap(record, revision) ──> True: durable
                 ^                                    └── False: changed meanwhile
                 └────────────────────────────────────────┘

Rule: when ``swap`` returns True, the record is on disk, in a file (``groups_file``) or on a
majority of the etcd servers (``groups_etcd``). Controllers agree by ``swap`` alone, because a
lease, a clock or a controller's belief that it leads can be wrong.
"""

from typing import NamedTuple, Protocol

from mqserver.controller.group_record import GroupRecord


class StoreUnavailable(Exception):
    """The records cannot be read or written now; a change may or may not have been made."""


class Versioned(NamedTuple):
    """A record as it was read."""

    record: GroupRecord | None
    """None if there is no such group."""
    revision: int
    """The revision to pass to ``swap`` to replace this record and no newer one."""


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
            StoreUnavailable: the outcome is unknown.
        """
        ...

    async def close(self) -> None:
        """Close files and connections."""
        ...
