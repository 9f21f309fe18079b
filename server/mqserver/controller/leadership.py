"""Which of several controllers leads, so that brokers know which one to ask.

    FOLLOWER ── key is free, taken with our lease ──> LEADER ── not renewed in time ──> FOLLOWER
             ── its holder is gone: swapped ────────>

A holder is gone when its port refuses connections, or when the key names this controller's own
address but was written with another lease: then an earlier process wrote it, since only one process
has the port. Waiting for the end of its lease would take up to 2 s, and as long again after each
change of etcd's leader.

Rule: the leader only answers brokers and looks for dead masters. Two controllers that both believe
they lead do no harm, since every change of a record compares its revision. The leader counts its
lease from the moment at which it *sent* the last renewal that was granted, because etcd may count
from any moment after that.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from mqserver.controller.detection import refuses_connections
from mqserver.controller.etcd import EtcdClient, EtcdValue
from mqserver.controller.group_store import StoreUnavailable
from mqserver.runtime.clock import Clock

LOG = logging.getLogger(__name__)

LEASE_S: Final = 2
"""How long the key still names a leader after its process has died; etcd may raise it."""
RENEWAL_MS: Final = 500


class Leadership(Protocol):
    """Who leads the controllers."""

    @property
    def leader_address(self) -> str | None:
        """Return the address of the leading controller, or None while none is known."""
        ...

    @property
    def is_leader(self) -> bool:
        """Return whether this controller leads now."""
        ...

    async def renew(self) -> None:
        """Take part in the choice of the leader once; called every ``RENEWAL_MS``."""
        ...

    async def resign(self) -> None:
        """Stop leading, so that another controller need not wait for the end of the lease."""
        ...


class SoleController:
    """The leadership of a controller that has no others."""

    def __init__(self, address: str) -> None:
        self._address = address

    @property
    def leader_address(self) -> str:
        """Return the address of this controller."""
        return self._address

    @property
    def is_leader(self) -> bool:
        """Return True."""
        return True

    async def renew(self) -> None:
        """Do nothing."""

    async def resign(self) -> None:
        """Do nothing."""


class LeaseInEtcd:
    """The leadership of controllers that share an etcd cluster.

    Args:
        client: a client of the cluster.
        prefix: the beginning of all keys.
        address: the address of this controller.
        clock: its steady time decides how long a lease lasts.
    """

    def __init__(self, client: EtcdClient, *, prefix: str, address: str, clock: Clock) -> None:
        self._client = client
        self._key = f"{prefix}/controller"
        self._address = address
        self._clock = clock
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="controller-lease")
        self._lease: int | None = None
        self._granted_until_ms = 0
        """Steady time until which the lease of this controller lasts at least."""
        self._leads_until_ms = 0
        self._leader_address: str | None = None
        self._holder: EtcdValue | None = None
        """The key at the last read, if another process holds it."""
        self._problem = ""

    @property
    def leader_address(self) -> str | None:
        """Return the address of the leading controller as it was read last."""
        return self._address if self.is_leader else self._leader_address

    @property
    def is_leader(self) -> bool:
        """Return whether the lease of this controller still lasts."""
        return self._clock.steady_ms() < self._leads_until_ms

    async def renew(self) -> None:
        """Renew the lease, or take the key if it is free."""
        loop = asyncio.get_running_loop()
        was_leader = self.is_leader
        try:
            await loop.run_in_executor(self._worker, self._renew)
            if self._holder is not None and await self._is_gone(self._holder):
                await loop.run_in_executor(self._worker, self._replace, self._holder)
            self._problem = ""
        except StoreUnavailable as error:
            if str(error) != self._problem:
                self._problem = str(error)
                LOG.warning("%s", error)
            self._leader_address = None
        if self.is_leader != was_leader:
            LOG.info("this controller %s", "leads" if self.is_leader else "no longer leads")

    async def resign(self) -> None:
        """End the lease."""
        lease, self._lease, self._leads_until_ms = self._lease, None, 0
        if lease is not None:
            try:
                await asyncio.get_running_loop().run_in_executor(
                    self._worker, self._client.end_lease, lease
                )
            except StoreUnavailable as error:
                LOG.warning("the lease of this controller ends by itself: %s", error)
        self._worker.shutdown(wait=False)

    async def _is_gone(self, holder: EtcdValue) -> bool:
        return holder.value == self._address or await refuses_connections(holder.value)

    def _renew(self) -> None:
        sent_ms = self._clock.steady_ms()
        ttl_s = 0 if self._lease is None else self._client.renew_lease(self._lease)
        if ttl_s == 0:
            self._lease, ttl_s = self._client.grant_lease(LEASE_S)
        self._granted_until_ms = sent_ms + ttl_s * 1_000
        leader = self._client.get(self._key)
        self._holder = None
        if leader is None:
            self._swap(mod_revision=0)
        elif leader.lease == self._lease:
            # The address is not enough: an earlier process at this address may have written it.
            self._leads_until_ms, self._leader_address = self._granted_until_ms, leader.value
        else:
            self._leads_until_ms, self._leader_address = 0, leader.value
            self._holder = leader

    def _replace(self, holder: EtcdValue) -> None:
        """Take the key from a process that is gone."""
        self._swap(mod_revision=holder.mod_revision)

    def _swap(self, *, mod_revision: int) -> None:
        taken = self._client.swap(
            self._key, self._address, mod_revision=mod_revision, lease=self._lease
        )
        self._leads_until_ms = self._granted_until_ms if taken else 0
        self._leader_address = self._address if taken else None
