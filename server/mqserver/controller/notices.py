"""Notices to the brokers of a group that their master has changed (request code 1008).

Rule: a notice is one-way and may be lost; a broker that missed it learns of its master when it asks
again (1004). A broker whose heartbeat shows an older epoch than its record is notified again, since
a broker of Java asks only every 5 s.

Source: controller/ControllerManager.java#notifyBrokerRoleChanged (5.4.0).
"""

import asyncio
import logging
from typing import Final

from mqserver.controller.group_record import GroupRecord
from mqserver.controller.live_brokers import BrokerKey
from remoting.aio.client import RemotingClient
from remoting.bodies.controller import SyncStateSet
from remoting.codes import LaterCode
from remoting.command import Command
from remoting.errors import RemotingError
from remoting.headers.controller import NotifyBrokerRoleChanged

LOG = logging.getLogger(__name__)

REPEAT_MS: Final = 500
REPEATS_MAX: Final = 3


def in_sync_set_body(record: GroupRecord) -> bytes:
    """Return the in-sync set of a group as the body of a notice or an answer."""
    return SyncStateSet(
        sync_state_set=sorted(record.in_sync_set), sync_state_set_epoch=record.in_sync_set_epoch
    ).encode()


class Notices:
    """Sends notices, and remembers which broker got which.

    Args:
        client: sends them.
    """

    def __init__(self, client: RemotingClient) -> None:
        self._client = client
        self._sent: dict[BrokerKey, tuple[int, int, int]] = {}
        """By broker: the epoch of its notices, when the last one was sent (steady ms), and how many
        were sent."""
        self._tasks: set[asyncio.Task[None]] = set()

    def send_all(self, record: GroupRecord, broker_ids: list[int], *, steady_ms: int) -> None:
        """Tell brokers of a group which master the record names."""
        for broker_id in broker_ids:
            key = BrokerKey(record.cluster_name, record.broker_name, broker_id)
            self._sent[key] = (record.master_epoch, steady_ms, 1)
            self._send(record, broker_id)

    def repeat(self, record: GroupRecord, broker_id: int, *, steady_ms: int) -> None:
        """Notify a broker again, unless that was a moment ago or has happened often enough."""
        key = BrokerKey(record.cluster_name, record.broker_name, broker_id)
        sent_epoch, sent_ms, count = self._sent.get(key, (0, 0, 0))
        if sent_epoch != record.master_epoch:
            count = 0
        elif steady_ms - sent_ms < REPEAT_MS or count >= REPEATS_MAX:
            return
        self._sent[key] = (record.master_epoch, steady_ms, count + 1)
        self._send(record, broker_id)

    def _send(self, record: GroupRecord, broker_id: int) -> None:
        address = record.address_of(broker_id)
        if address is None or record.master_id is None or record.master_address is None:
            return
        header = NotifyBrokerRoleChanged(
            master_broker_id=record.master_id,
            master_address=record.master_address,
            master_epoch=record.master_epoch,
            sync_state_set_epoch=record.in_sync_set_epoch,
        )
        request = Command.request(
            LaterCode.NOTIFY_BROKER_ROLE_CHANGED,
            header,
            body=in_sync_set_body(record),
            oneway=True,
        )
        task = asyncio.create_task(self._send_to(address, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_to(self, address: str, request: Command) -> None:
        try:
            await self._client.invoke_oneway(address, request)
        except RemotingError as error:
            LOG.warning("could not notify %s of a new master: %s", address, error)

    async def stop(self) -> None:
        """Cancel the notices that are under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
