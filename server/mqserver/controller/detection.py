"""Detect dead brokers as early as possible.

    its process is killed     connection closed, its port refuses connections     some ms
    hang, power, network      no heartbeat for the timeout that it announced      2 s by default

A master is replaced when its port refuses connections, or when it was silent for its timeout while
another broker of the in-sync set sent heartbeats. Before its first heartbeat at this controller,
the silence is counted from the controller's start. Its timeout is then unknown, so it is taken as:

    all others of its in-sync set are alive      the longest timeout that they announce
    one of them is not                           10 s

Rule: silence counts against a master only if another broker sent heartbeats in its later half.
Without any, the controller itself is cut off or was paused; the group works on without it, and its
master must not be replaced when the controller is back. While another member is missing as well,
delayed heartbeats are more likely than two dead brokers. Safety depends on none of these times.
"""

import asyncio
import contextlib
import logging
from typing import Final

from mqserver.controller.broker_groups import BrokerGroups
from mqserver.controller.group_record import GroupRecord
from mqserver.controller.live_brokers import TIMEOUT_MS, BrokerKey, LiveBroker
from mqserver.runtime.clock import Clock
from remoting.address import split_address
from remoting.errors import BadCall

LOG = logging.getLogger(__name__)

PROBE_AFTER_MS: Final = (0, 50, 200)
"""When the port of a suspect is tried, since a process that ends closes its ports one by one."""
PROBE_TIMEOUT_S: Final = 0.3
PROBES_MAX: Final = 64
"""How many ports may be tried at a time."""


class Detection:
    """Watches the brokers of all groups.

    Args:
        groups: whose ``live`` brokers are watched.
        clock: its steady time.
    """

    def __init__(self, groups: BrokerGroups, clock: Clock) -> None:
        self._groups = groups
        self._clock = clock
        self._started_ms = clock.steady_ms()
        self._probes: set[asyncio.Task[None]] = set()
        self.changed = asyncio.Event()
        """Set when a broker was found dead, so that the search for masters need not wait."""

    def connection_closed(self, conn_id: int) -> None:
        """Check whether the brokers that used a connection are still alive."""
        for suspect in self._groups.live.connection_closed(conn_id):
            if len(self._probes) < PROBES_MAX:
                task = asyncio.create_task(self._probe(suspect))
                self._probes.add(task)
                task.add_done_callback(self._probes.discard)

    def expire(self) -> None:
        """Forget the brokers that have been silent for too long."""
        for silent in self._groups.live.expire(self._clock.steady_ms()):
            LOG.warning(
                "broker %d of %s (%s) is dead: no heartbeat for %d ms",
                silent.key.broker_id, silent.key.broker_name, silent.address, silent.timeout_ms,
            )  # fmt: skip
            self.changed.set()

    async def may_be_dead(self, record: GroupRecord) -> bool:
        """Return whether the master of a group, which is not alive, may be replaced."""
        address = record.master_address
        return address is None or self._was_silent(record) or await self.refuses(address)

    def _was_silent(self, record: GroupRecord) -> bool:
        """Return whether the master missed its heartbeats while another member sent them."""
        assert record.master_id is not None
        alive = self._groups.alive(record)
        others = record.in_sync_set - {record.master_id}
        key = BrokerKey(record.cluster_name, record.broker_name, record.master_id)
        last = self._groups.live.last_heartbeat(key)
        if last is not None:
            heard_ms, timeout_ms = last.heard_ms, last.timeout_ms
        elif others <= alive.keys():
            heard_ms = self._started_ms
            timeout_ms = max((alive[other].timeout_ms for other in others), default=TIMEOUT_MS)
        else:
            heard_ms, timeout_ms = self._started_ms, TIMEOUT_MS
        if self._clock.steady_ms() - heard_ms <= timeout_ms:
            return False
        return any(
            alive[other].heard_ms - heard_ms > timeout_ms // 2 for other in others & alive.keys()
        )

    async def refuses(self, address: str) -> bool:
        """Return whether nothing listens at an address."""
        return await refuses_connections(address)

    async def _probe(self, suspect: LiveBroker) -> None:
        for wait_ms in PROBE_AFTER_MS:
            await asyncio.sleep(wait_ms / 1000)
            if await self.refuses(suspect.address):
                if self._groups.live.refused(suspect):
                    LOG.warning(
                        "broker %d of %s is dead: nothing listens at %s",
                        suspect.key.broker_id, suspect.key.broker_name, suspect.address,
                    )  # fmt: skip
                    self.changed.set()
                return

    async def stop(self) -> None:
        """Cancel the probes that are under way."""
        for task in self._probes:
            task.cancel()
        await asyncio.gather(*self._probes, return_exceptions=True)


async def refuses_connections(address: str) -> bool:
    """Return whether the machine of an address refuses connections to it."""
    try:
        host, port = split_address(address)
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            _, writer = await asyncio.open_connection(host, port)
    except ConnectionRefusedError:
        return True
    except (OSError, TimeoutError, BadCall):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return False
