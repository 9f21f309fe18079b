"""Reading a queue from any offset on, at the caller's own pace.

    pull --> FOUND            messages, next_offset behind them
         --> NO_MATCHED_MSG   only others' messages, go on at next_offset
         --> NO_NEW_MSG       the end of the queue, come back later
         --> OFFSET_ILLEGAL   outside the queue, next_offset is the nearest end

Rule: positions are the caller's; nothing is committed unless ``commit`` is called. The
subscription travels with every request, so no heartbeat is needed.

Source: client/impl/consumer/PullAPIWrapper.java, client/impl/MQClientAPIImpl.java
#processPullResponse, common/sysflag/PullSysFlag.java (4.9.7).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mqclient import answers, offsets, routes
from mqclient.errors import refusal
from mqclient.instance import MQClient
from mqclient.message import MessageExt, read_messages
from mqclient.subscription import TAG, Subscription
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import PullMessage, PullMessageResponse

SUSPEND: Final = 2
SUBSCRIPTION: Final = 4
"""Bits of a pull's ``sys_flag``."""
HOLD_GRACE_S: Final = 10.0
"""A broker looks at held pulls every 5 s, so an answer may come that much late."""
COUNT_MAX: Final = 32


class PullStatus(StrEnum):
    """What became of a pull (Java's PullStatus)."""

    FOUND = "FOUND"
    NO_NEW_MSG = "NO_NEW_MSG"
    NO_MATCHED_MSG = "NO_MATCHED_MSG"
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"


_STATUS: Final[dict[int, PullStatus]] = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MSG,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MSG,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}


@dataclass(frozen=True, slots=True)
class PullResult:
    """What a pull gave.

    Attributes:
        next_offset: queue offset to pull next; it has passed filtered messages too.
        min_offset: first readable queue offset.
        max_offset: queue offset of the next message to come.
        messages: in queue order, tags compared again.
    """

    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    messages: list[MessageExt]


class PullConsumer:
    """Reads queues for a consumer group.

    Args:
        client: the connections.
        group: the consumer group, whose offsets ``committed`` and ``commit`` mean.
    """

    def __init__(self, client: MQClient, group: str) -> None:
        self._client = client
        self._group = group

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the readable queues of a topic, sorted.

        Raises:
            NoRoute: no broker has the topic.
        """
        return routes.subscribe_queues(topic, await self._client.route(topic))

    async def pull(
        self,
        queue: MessageQueue,
        *,
        queue_offset: int,
        subscription: str = "*",
        expression_type: str = TAG,
        count_max: int = COUNT_MAX,
        suspend_ms: int = 0,
        timeout_s: float | None = None,
    ) -> PullResult:
        """Read messages from a queue offset on.

        Args:
            queue_offset: first one wanted, in entries.
            subscription: ``*``, ``A || B``, or an SQL92 expression.
            expression_type: TAG or SQL92.
            count_max: at most so many; a broker gives 32 or 256 KiB at most anyway.
            suspend_ms: let the broker wait so long for a message when there is none.

        Raises:
            BadRequest: the subscription cannot be right.
            NoRoute, NotFound, BrokerRefused, Unreachable, TimedOut: no answer that helps.
        """
        wanted = Subscription.parse(subscription, kind=expression_type)
        address = await self._client.reader_of(queue)
        header = PullMessage(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=queue_offset,
            max_msg_nums=count_max,
            sys_flag=SUBSCRIPTION | (SUSPEND if suspend_ms else 0),
            commit_offset=0,
            suspend_timeout_millis=suspend_ms,
            subscription=wanted.expression,
            sub_version=0,
            expression_type=wanted.kind,
            broker_name=queue.broker_name,
        )
        limit_s = self._client.timeout_s if timeout_s is None else timeout_s
        if suspend_ms:
            limit_s += suspend_ms / 1000 + HOLD_GRACE_S
        command = Command.request(RequestCode.PULL_MESSAGE, header)
        answer = await self._client.invoke(address, command, timeout_s=limit_s)
        status = _STATUS.get(answer.code)
        if status is None:
            what = f"pull from {offsets.named(queue)}"
            raise refusal(answer.code, answer.remark, address=address, what=what)
        ends = answers.header(answer, PullMessageResponse, address=address)
        found: list[MessageExt] = []
        if status is PullStatus.FOUND:
            found = read_messages(answer.body, broker_name=queue.broker_name, address=address)
        return PullResult(
            status,
            ends.next_begin_offset,
            ends.min_offset,
            ends.max_offset,
            wanted.filter(found),
        )

    async def min_offset(self, queue: MessageQueue) -> int:
        """Return the first readable queue offset."""
        return await offsets.min_offset(self._client, queue)

    async def max_offset(self, queue: MessageQueue) -> int:
        """Return the queue offset the next message will get."""
        return await offsets.max_offset(self._client, queue)

    async def search_offset(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the queue offset of the message stored nearest to a time."""
        return await offsets.search_offset(self._client, queue, timestamp_ms=timestamp_ms)

    async def committed(self, queue: MessageQueue) -> int | None:
        """Return the queue offset the group reads next, None when it never committed one."""
        return await offsets.committed(self._client, queue, group=self._group)

    async def commit(self, queue: MessageQueue, queue_offset: int) -> None:
        """Set the queue offset the group reads next."""
        await offsets.commit(self._client, queue, group=self._group, queue_offset=queue_offset)
