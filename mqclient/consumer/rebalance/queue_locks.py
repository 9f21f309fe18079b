"""The queue locks of an orderly consumer: a broker locks each queue for one member of a group.

    rebalance, for a new queue --lock--> granted: begin to pull
                                         refused: try again at the next rebalance
    every 20 s, for all queues --lock--> confirmed, because a broker forgets a lock after 60 s

Rule: a queue whose lock was not confirmed for 30 s is not consumed. When a broker does not
answer, its locks are left as they are and grow old; only a queue whose pull cannot reach the
broker is not consumed until the lock is confirmed, since a broker that restarts has forgotten its
locks and may give them to others. Java's client goes on for the rest of its 30 s.

Source: client/impl/consumer/RebalanceImpl.java#lock, #lockAll, #unlock (4.9.7).
"""

import logging
from collections import defaultdict
from collections.abc import Iterable

from mqclient.admin.lock import LockCalls
from mqclient.client import queue_offsets, routes
from mqclient.client.instance import MQClient
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.errors import ClientError
from remoting.bodies import MessageQueue

LOG = logging.getLogger(__name__)


class QueueLocks:
    """Asks brokers for the locks of one member of a group."""

    def __init__(self, client: MQClient, group: str) -> None:
        self._client = client
        self._group = group
        self._calls = LockCalls(client)

    async def lock(self, queue: MessageQueue) -> bool:
        """Ask for the lock of a queue; return whether this member has it now."""
        try:
            return queue in await self._ask([queue])
        except ClientError as error:
            level = self._client.log_level(error)
            LOG.log(level, "lock of %s for %s: %s", queue_offsets.named(queue), self._group, error)
            return False

    async def lock_all(self, process_queue: Iterable[ProcessQueue]) -> None:
        """Confirm the locks of all queues, and note those that another member has."""
        by_broker: defaultdict[str, list[ProcessQueue]] = defaultdict(list)
        for each in process_queue:
            if not each.dropped:
                by_broker[await self._leader(each.queue)].append(each)
        for group_of_one in by_broker.values():
            queues = [each.queue for each in group_of_one]
            try:
                granted = await self._ask(queues)
            except ClientError as error:
                level, broker_name = self._client.log_level(error), queues[0].broker_name
                LOG.log(level, "locks of %s at %s: %s", self._group, broker_name, error)
                continue
            for each in group_of_one:
                self.mark(each, granted=each.queue in granted)

    def mark(self, process_queue: ProcessQueue, *, granted: bool) -> None:
        """Note what the broker answered for a queue."""
        process_queue.locked = granted
        if granted:
            process_queue.last_lock_ms = self._client.now_ms()

    async def unlock(self, queues: Iterable[MessageQueue]) -> None:
        """Release the locks of queues; a broker that does not answer forgets them after 60 s."""
        by_broker: defaultdict[str, list[MessageQueue]] = defaultdict(list)
        for queue in queues:
            by_broker[await self._leader(queue)].append(queue)
        for some in by_broker.values():
            try:
                address = await self._client.master_of(some[0])
                await self._calls.unlock_batch(address, self._group, self._client.client_id, some)
            except ClientError as error:
                LOG.warning("unlock of %s at %s: %s", self._group, some[0].broker_name, error)

    async def _leader(self, queue: MessageQueue) -> str:
        """Return the name of the broker that has the lock of a queue."""
        if not routes.is_logical(queue):
            return queue.broker_name
        try:
            return routes.leader_of(await self._client.route(queue.topic), queue)
        except ClientError:
            # The request for the lock fails for the same reason, and says so.
            return queue.broker_name

    async def _ask(self, queues: list[MessageQueue]) -> set[MessageQueue]:
        """Return those queues of one broker that this member has locked now."""
        address = await self._client.master_of(queues[0])
        member = self._client.client_id
        return set(await self._calls.lock_batch(address, self._group, member, queues))
