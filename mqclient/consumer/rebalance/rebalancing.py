"""Rebalance: which queues of a topic a member gets, and which it gives up.

    every 20 s, when a broker says that the group changed, and sooner after a failure
      `-- for each topic: all queues, all members --assigned_queues()--> this member's queues
            --changed_queues()--> dropped: no more pulls, offset persisted, lock released
                                  new:     lock (orderly only), start offset, pull loop

``assigned_queues`` and ``changed_queues`` compute; ``Rebalancing`` asks the servers and applies the
result. Every member computes the same assignment from the same lists. While the lists of two
members differ, a queue may belong to neither or to both for a moment; only an orderly consumer
locks it at the broker first.

Rule: when a server cannot be asked, the queues stay as they are until the next turn. Only one
rebalance of a consumer runs at a time.

Source: client/impl/consumer/RebalanceImpl.java#rebalanceByTopic,
#updateProcessQueueTableInRebalance, RebalancePushImpl.java, RebalanceService.java (4.9.7).
"""

import asyncio
import contextlib
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from mqclient.client import responses, routes
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.pull.pull_message_service import PullMessageService
from mqclient.consumer.rebalance.allocate import allocate
from mqclient.consumer.rebalance.queue_locks import QueueLocks
from mqclient.consumer.state.consumer_state import ConsumerState, ConsumeService
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.errors import BrokerRefused, ClientError, NoRoute
from mqclient.namespace import is_retry_topic
from remoting.bodies import MessageQueue
from remoting.bodies.tables import GetConsumerListByGroupResponseBody
from remoting.codes import RequestCode
from remoting.headers import GetConsumerListByGroup


def assigned_queues(
    settings: PushSettings,
    group: str,
    *,
    client_id: str,
    queues: Sequence[MessageQueue],
    client_ids: Sequence[str],
) -> list[MessageQueue]:
    """Return the queues of a topic that a member consumes.

    Args:
        settings: the strategy and its parameters.
        group: the consumer group, for the error text.
        client_id: the member.
        queues: all readable queues of the topic.
        client_ids: all members of the group; broadcasting ignores them.

    Raises:
        BadRequest: the settings of the strategy do not fit the queues or members.
    """
    if settings.broadcasting:
        return sorted(queues)
    if not queues or not client_ids:
        return []
    return allocate(
        settings.allocate_strategy,
        group,
        client_id=client_id,
        queues=queues,
        client_ids=client_ids,
        rooms=settings.rooms,
        configured=settings.configured_queues,
        room_of=settings.room_of,
    )


def changed_queues(
    process_queues: Mapping[MessageQueue, ProcessQueue],
    assigned: Collection[MessageQueue],
    *,
    topic: str,
    now_ms: int,
) -> tuple[list[MessageQueue], list[MessageQueue]]:
    """Return which queues of a topic to drop and which to begin; both lists are sorted.

    A queue whose pull loop is lost is dropped and begun again. A queue that is already dropped
    but still in the table is left to the code that dropped it.

    Args:
        process_queues: the queues that the member has now, of all topics.
        wanted: the queues of the topic that it should have.
        topic: the topic.
        now_ms: the time, in ms since 1970, to recognise a lost pull loop.
    """
    ours = {queue: each for queue, each in process_queues.items() if queue.topic == topic}
    dropped = [
        queue for queue, each in ours.items() if queue not in assigned or each.pull_expired(now_ms)
    ]
    gone = set(dropped)
    new = [queue for queue in assigned if queue not in ours or queue in gone]
    return sorted(dropped), sorted(new)


LOG = logging.getLogger(__name__)

REBALANCE_S: Final = 20.0
FIRST_AGAIN_S: Final = 1.0
"""The pause after a rebalance in which a server did not answer, in seconds.

Each further failure doubles it.
"""


class Rebalancing:
    """The rebalance of one consumer.

    Args:
        state: the consumer's tables, offsets and settings.
        service: consumes the messages; it releases the queues that are given up.
        pulls: reads the queues.
        locks: locks the queues of an orderly consumer.
    """

    def __init__(
        self,
        state: ConsumerState,
        service: ConsumeService,
        *,
        pulls: PullMessageService,
        locks: QueueLocks,
    ) -> None:
        self._state = state
        self._service = service
        self._client = state.client
        self._settings = state.settings
        self._subscriptions = state.subscriptions
        self._process_queues = state.process_queues
        self._pulls = pulls
        self._locks = locks
        self._last: dict[str, frozenset[MessageQueue]] = {}
        self._alone = asyncio.Lock()

    async def rebalance_often(self) -> None:
        """Rebalance every 20 s, and at once for ``state.rebalance_now``, until cancelled."""
        again_s = FIRST_AGAIN_S
        while True:
            self._state.rebalance_now.clear()
            try:
                is_complete = await self.rebalance()
            except Exception:
                LOG.exception("rebalance of %s", self._state.group)
                is_complete = False
            if is_complete:
                pause_s, again_s = REBALANCE_S, FIRST_AGAIN_S
            else:
                pause_s, again_s = again_s, min(again_s * 2, REBALANCE_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._state.rebalance_now.wait()
                # What has changed may take a moment to reach every server.
                again_s = FIRST_AGAIN_S

    async def rebalance(self) -> bool:
        """Rebalance every topic; return whether all have a route and all servers answered."""
        is_complete = True
        async with self._alone:
            for topic in list(self._subscriptions):
                try:
                    await self._topic(topic)
                except ClientError as error:
                    is_complete = False
                    # A broker creates the retry topic at the first heartbeat of the group, and
                    # the name server learns of it a moment later.
                    is_new = isinstance(error, NoRoute) and is_retry_topic(topic)
                    level = logging.DEBUG if is_new else self._client.log_level(error)
                    LOG.log(level, "rebalance of %s: %s", self._state.group, error)
                except OSError as error:
                    LOG.warning("offsets of %s were not persisted: %s", self._state.group, error)
            for queue in [
                queue for queue in self._process_queues if queue.topic not in self._subscriptions
            ]:
                await self._drop(queue)
        return is_complete

    async def assign(self, queues: Collection[MessageQueue]) -> None:
        """Take exactly these queues, regardless of other members.

        Raises:
            ClientError: a broker did not give the group's offset in a queue, or did not take
                the offset of a queue that is given up.
        """
        async with self._alone:
            for queue in [queue for queue in self._process_queues if queue not in queues]:
                await self._drop(queue)
            for queue in queues:
                if queue not in self._process_queues:
                    await self._begin(queue)

    async def _topic(self, topic: str) -> None:
        queues = routes.consumer_queues(topic, await self._client.route(topic))
        client_ids: list[str] = []
        if not self._settings.broadcasting:
            client_ids = await self._members(topic)
            if self._client.client_id not in client_ids:
                # The broker does not know this member yet, or has forgotten it in a restart.
                await self._client.members.heartbeat()
                client_ids = await self._members(topic)
        assigned = assigned_queues(
            self._settings,
            self._state.group,
            client_id=self._client.client_id,
            queues=queues,
            client_ids=client_ids,
        )
        if not self._settings.broadcasting and not client_ids:
            LOG.warning("no broker knows a member of group %s yet", self._state.group)
            return
        LOG.debug("%s %s: %s of %s", self._client.client_id, topic, assigned, client_ids)
        now_ms = self._client.now_ms()
        dropped, new = changed_queues(self._process_queues, assigned, topic=topic, now_ms=now_ms)
        for queue in dropped:
            await self._drop(queue)
        for queue in new:
            if queue not in self._process_queues:
                await self._begin(queue)
        await self._note(topic, frozenset(assigned))

    async def _members(self, topic: str) -> list[str]:
        """Return the client ids of the group, as a broker of the topic knows them."""
        group = self._state.group
        header = GetConsumerListByGroup(consumer_group=group)
        failure: ClientError | None = None
        for broker in (await self._client.route(topic)).broker_datas:
            address = broker.any_address()
            if address is None:
                continue
            try:
                answer = await self._client.call(
                    address,
                    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
                    header,
                    what=f"members of group {group}",
                )
            except BrokerRefused as error:
                # A broker answers with this code when the group has no members.
                LOG.debug("%s", error)
                return []
            except ClientError as error:
                failure = error
                continue
            body = responses.body(answer, GetConsumerListByGroupResponseBody, address=address)
            return body.consumer_id_list
        if failure is not None:
            raise failure
        return []

    async def _drop(self, queue: MessageQueue) -> None:
        """Give up a queue: stop pulling, persist its offset, release its lock."""
        process_queue = self._process_queues[queue]
        process_queue.dropped = True
        self._pulls.end(queue)
        released = await self._service.release(process_queue)
        try:
            await self._state.offsets.persist([queue])
        except (ClientError, OSError) as error:
            # The broker may be away for long; the queue must be free when it comes back.
            LOG.warning(
                "the offset of %s in %s was not persisted: %s", self._state.group, queue, error
            )
        if not released:
            # A listener still works on a message; the lock stays until it ends.
            return
        self._state.offsets.remove(queue)
        if self._service.orderly and not self._settings.broadcasting:
            await self._locks.unlock([queue])
        self._process_queues.pop(queue, None)
        LOG.info("%s gave up %s", self._state.group, queue)

    async def _begin(self, queue: MessageQueue) -> None:
        """Begin to pull a new queue; the next rebalance tries again where this fails."""
        ordered = self._service.orderly and not self._settings.broadcasting
        if ordered and not await self._locks.lock(queue):
            LOG.info("%s: %s is locked by another member", self._state.group, queue)
            return
        process_queue = await self._pulls.begin(queue)
        if ordered:
            self._locks.mark(process_queue, granted=True)
        self._process_queues[queue] = process_queue
        self._pulls.start_reading(process_queue)
        LOG.info("%s got %s from %d on", self._state.group, queue, process_queue.next_offset)

    async def _note(self, topic: str, queues: frozenset[MessageQueue]) -> None:
        """After a change of queues, send the subscription with a new version, as Java does."""
        before = self._last.get(topic)
        self._last[topic] = queues
        if before is None or before == queues or topic not in self._subscriptions:
            return
        self._subscriptions[topic] = self._subscriptions[topic].renewed(self._client.now_ms())
        await self._client.members.heartbeat()
