"""Admin calls about the queue locks of orderly consumers.

    our broker    GET_LOCK_TABLE returns its lock table
    Java broker   answers code 3; then every connected consumer is asked which queues it locked

Rule: the second way shows what the clients believe, which may be 30 s old, and only for groups
that the caller names. ``LockView.exact`` tells which way was used.

Source: client/impl/factory/MQClientInstance.java#consumerRunningInfo,
broker/client/rebalance/RebalanceLockManager.java (4.9.7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from mqclient.admin.group import GroupCalls
from mqclient.client import responses
from mqclient.errors import BadAnswer, ClientError
from remoting import bodies
from remoting.bodies import MessageQueue
from remoting.codes import ExtensionCode, RequestCode, ResponseCode
from storefmt.config import fastjson
from storefmt.errors import StoreError

ORDERLY_PROPERTY: Final = "PROP_CONSUMEORDERLY"
"""The property of a member that consumes in order, so that it locks its queues."""
CLIENT_LOCK_LIFE_MS: Final = 30_000
_ASKED_AT_ONCE: Final = 4
"""A broker's admin threads wait for the client, and a 4.9 broker has only 16 of them."""


@dataclass(frozen=True, slots=True)
class QueueLock:
    """One locked queue.

    Attributes:
        group: the consumer group.
        queue: the queue.
        client_id: the member that has the lock.
        locked_ms: when the lock was taken or last renewed, in ms since 1970.
        expires_ms: when it expires unless it is renewed, in ms since 1970.
    """

    group: str
    queue: MessageQueue
    client_id: str
    locked_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True)
class LockView:
    """The locks on one broker.

    Attributes:
        locks: sorted by group and queue.
        exact: True when the broker's table was read, False when clients were asked.
        unanswered: the clients that did not answer, as ``group client_id: error``.
    """

    locks: list[QueueLock]
    exact: bool
    unanswered: list[str]


class LockCalls(GroupCalls):
    """The requests about queue locks."""

    async def lock_batch(
        self, address: str, group: str, client_id: str, queues: Iterable[MessageQueue]
    ) -> list[MessageQueue]:
        """Lock queues for a client, or renew its locks; return the queues that it has now, sorted.

        Args:
            queues: the queues, all of this broker.
        """
        body = bodies.LockBatchRequestBody(
            consumer_group=group, client_id=client_id, mq_set=sorted(queues)
        )
        answer = await self._broker(
            address, RequestCode.LOCK_BATCH_MQ, what=f"locks of {group}", body=body.encode()
        )
        return sorted(
            responses.body(answer, bodies.LockBatchResponseBody, address=address).lock_ok_mq_set
        )

    async def unlock_batch(
        self, address: str, group: str, client_id: str, queues: Iterable[MessageQueue]
    ) -> None:
        """Release the locks that a client has on these queues.

        Args:
            queues: the queues, all of this broker.
        """
        body = bodies.UnlockBatchRequestBody(
            consumer_group=group, client_id=client_id, mq_set=sorted(queues)
        )
        await self._broker(
            address, RequestCode.UNLOCK_BATCH_MQ, what=f"locks of {group}", body=body.encode()
        )

    async def locks(self, address: str, groups: Iterable[str] = ()) -> LockView:
        """Return the queue locks on a broker, from its lock table or else from the clients.

        Args:
            groups: only these groups; empty means all groups, which only our broker can list.
        """
        group_names = sorted(set(groups))
        try:
            held = await self.lock_table(address)
        except ClientError as error:
            if error.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                raise
            return await self._locks_by_clients(address, group_names)
        return LockView(
            [lock for lock in held if not group_names or lock.group in group_names], True, []
        )

    async def lock_table(self, address: str) -> list[QueueLock]:
        """Return the lock table of one of our brokers, sorted by group and queue.

        Raises:
            BrokerRefused: a Java broker does not have this request and answers code 3.
        """
        answer = await self._broker(address, ExtensionCode.GET_LOCK_TABLE, what="lock table")
        try:
            rows = fastjson.loads(answer.body)
            if not isinstance(rows, list):
                raise TypeError(f"it is {type(rows).__name__}, expected a list")
            locks = [_lock_of(row) for row in rows]
        except (StoreError, KeyError, TypeError, ValueError) as error:
            raise BadAnswer(
                f"lock table of {address} cannot be decoded: {error!r}", address=address
            ) from error
        return sorted(locks, key=lambda lock: (lock.group, lock.queue))

    async def _locks_by_clients(self, address: str, groups: list[str]) -> LockView:
        # These questions run side by side, because a client that hangs takes the broker 10 s.
        gate = asyncio.Semaphore(_ASKED_AT_ONCE)

        async def ask(group: str, client_id: str) -> list[QueueLock] | str:
            async with gate:
                try:
                    info = await self.consumer_running_info(address, group, client_id)
                except ClientError as error:
                    return f"{group} {client_id}: {error}"
            return locks_of_member(group, client_id, info)

        members = await asyncio.gather(*(self.consumer_ids(address, group) for group in groups))
        answers = await asyncio.gather(
            *(ask(group, who) for group, ids in zip(groups, members, strict=True) for who in ids)
        )
        held = [lock for answer in answers if not isinstance(answer, str) for lock in answer]
        return LockView(held, False, [answer for answer in answers if isinstance(answer, str)])


def locks_of_member(
    group: str, client_id: str, info: bodies.ConsumerRunningInfo
) -> list[QueueLock]:
    """Return the locks that a member of a group believes to have, sorted by queue.

    A member that does not consume in order also says "locked", and locks nothing.
    """
    if info.properties.get(ORDERLY_PROPERTY) != "true":
        return []
    return [
        QueueLock(
            group,
            queue,
            client_id,
            inside.last_lock_timestamp,
            inside.last_lock_timestamp + CLIENT_LOCK_LIFE_MS,
        )
        for queue, inside in sorted(info.mq_table.items())
        if inside.locked
    ]


def _lock_of(row: object) -> QueueLock:
    if not isinstance(row, Mapping):
        raise TypeError(f"a row is {type(row).__name__}, expected an object")
    queue = MessageQueue(
        topic=str(row["topic"]), broker_name=str(row["brokerName"]), queue_id=int(row["queueId"])
    )
    times_ms = int(row["lastUpdateTimestamp"]), int(row["expiresTimestamp"])
    return QueueLock(str(row["group"]), queue, str(row["clientId"]), *times_ms)
