"""What the replicas of a group with a controller say of their logs.

    controller  CONTROLLER_GET_SYNC_STATE_DATA  the in-sync set, and who is alive; ours also says
                                                what each broker reported last
    broker      GET_BROKER_EPOCH_CACHE          where its log ends, and under which masters it was
                                                written

Rule: what a broker says itself counts before what it reported to the controller, and a number that
nothing says stays None.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqclient.errors import ClientError
from remoting.bodies import EpochEntry, ReplicaIdentity, ReplicasInfo

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """The log of one replica.

    Attributes:
        is_master: whether the controller names it as the master.
        claims_master: whether it calls itself the master; None where it does not answer.
        epochs: the parts of its log, the oldest first, the last one with the end of the log; None
            where only the controller knows of it.
        end: the log offset behind its last byte.
        newest_epoch: the epoch of its last part.
        confirm_offset: up to where it knew the log to be on the whole in-sync set.
        silent_ms: the age of what it reported to the controller; None where it answered itself.
        error: why it does not answer.
    """

    broker_id: int
    address: str
    is_in_sync: bool
    is_master: bool = False
    is_alive: bool = True
    claims_master: bool | None = None
    epochs: tuple[EpochEntry, ...] | None = None
    end: int | None = None
    newest_epoch: int | None = None
    confirm_offset: int | None = None
    silent_ms: int | None = None
    error: str | None = None

    @property
    def standing(self) -> str:
        """Return MASTER, IN_SYNC, or BEHIND for a replica that lacks acknowledged messages."""
        if self.is_master:
            return "MASTER"
        return "IN_SYNC" if self.is_in_sync else "BEHIND"

    @property
    def name(self) -> str:
        """Return id and address for people."""
        return f"broker {self.broker_id} ({self.address})"


def with_end(epochs: Sequence[EpochEntry], end: int) -> tuple[EpochEntry, ...]:
    """Return the parts of a log, of which the last one ends where the log ends."""
    if not epochs:
        return ()
    last = epochs[-1]
    return (
        *epochs[:-1],
        EpochEntry(epoch=last.epoch, start_offset=last.start_offset, end_offset=end),
    )


async def replica_logs(admin: "Admin", info: ReplicasInfo) -> list[ReplicaLog]:
    """Ask every replica of a group and return their logs by id."""
    replicas = [(replica, True) for replica in info.in_sync_replicas]
    replicas += [(replica, False) for replica in info.not_in_sync_replicas]
    logs = await asyncio.gather(
        *(
            _log_of(
                admin, replica, is_in_sync, is_master=replica.broker_id == info.master_broker_id
            )
            for replica, is_in_sync in replicas
        )
    )
    return sorted(logs, key=lambda log: log.broker_id)


async def _log_of(
    admin: "Admin", replica: ReplicaIdentity, is_in_sync: bool, *, is_master: bool
) -> ReplicaLog:
    address, confirm_offset = replica.broker_address or "", known(replica.confirm_offset)
    broker_id, is_alive = replica.broker_id or 0, bool(replica.alive)
    try:
        cache = await admin.broker_epochs(address)
    except ClientError as error:
        return ReplicaLog(
            broker_id,
            address,
            is_in_sync,
            is_master,
            is_alive,
            end=known(replica.max_offset),
            newest_epoch=known(replica.epoch),
            confirm_offset=confirm_offset,
            silent_ms=replica.silent_ms,
            error=str(error),
        )
    return ReplicaLog(
        broker_id,
        address,
        is_in_sync,
        is_master,
        is_alive,
        claims_master=cache.broker_id == 0,
        epochs=with_end(cache.epoch_list, cache.max_offset),
        end=cache.max_offset,
        newest_epoch=cache.epoch_list[-1].epoch if cache.epoch_list else None,
        confirm_offset=confirm_offset,
    )


def known(number: int | None) -> int | None:
    """Return a number of a heartbeat; -1 stands for one that the broker did not say."""
    return None if number is None or number < 0 else number
