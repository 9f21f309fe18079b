"""One pull request and its answer; every kind of consumer uses it.

    PullRequest --PULL_MESSAGE--> FOUND           messages; next_offset is after them
                                  NO_MATCHED_MSG  the broker filtered all; go on at next_offset
                                  NO_NEW_MSG      the end of the queue; ask again later
                                  OFFSET_ILLEGAL  outside the queue; next_offset is the nearest end

Rule: brokers compare hashes of tags, so the tags are compared again here. The broker that an
answer suggests is asked next time; only a master gets an offset to commit, because a slave would
lose it.

Damaged bytes in an answer end it: the messages before them count. When damaged bytes come first,
they are asked for once more, alone, and then skipped with an error in the log; otherwise a
consumer would never get beyond them.

Source: client/impl/consumer/PullAPIWrapper.java, client/impl/MQClientAPIImpl.java
#processPullResponse, common/sysflag/PullSysFlag.java (4.9.7).
"""

import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from mqclient.client import queue_offsets, responses, routes
from mqclient.client.instance import MQClient
from mqclient.consumer.subscription import Subscription
from mqclient.errors import NoRoute, refusal
from mqclient.message import MessageExt, read_pulled
from remoting.bodies import MessageQueue
from remoting.bodies.route import MASTER_ID
from remoting.codes import RequestCode, ResponseCode
from remoting.headers import PullMessage, PullMessageResponse
from storefmt.errors import RecordDamaged

LOG = logging.getLogger(__name__)

COMMIT: Final = 1
SUSPEND: Final = 2
SUBSCRIPTION: Final = 4
CLASS_FILTER: Final = 8
LITE_PULL: Final = 16
"""Bits of a pull's ``sys_flag``."""
OFFSET_DELTA: Final = "offsetDelta"
"""The field of an answer from a logical queue: a record has the offset in a queue of a broker."""
HOLD_GRACE_S: Final = 10.0
"""A broker checks held pulls every 5 s, so an answer may be that late."""


class PullStatus(StrEnum):
    """How a pull ended (Java's PullStatus)."""

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
    """The result of a pull.

    Attributes:
        status: how it ended.
        next_offset: the queue offset to pull next, in entries; it also passes filtered messages.
        min_offset: the first readable queue offset, in entries.
        max_offset: the queue offset that the next message will get, in entries.
        messages: in queue order; those with other tags are left out.
    """

    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    messages: list[MessageExt]


class RawPull(NamedTuple):
    """The result of a pull with undecoded records; the numbers are those of ``PullResult``.

    Attributes:
        data: whole records, one right after the other; some may have other tags.
        address: the broker that answered, ``host:port``.
        offset_delta: what to add to the queue offset of a record for that of a logical queue.
    """

    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    data: bytes
    address: str
    offset_delta: int = 0


class PullRequest(NamedTuple):
    """The parameters of a pull.

    Attributes:
        queue: the queue, with its namespace.
        queue_offset: the first offset to read, in entries.
        subscription: the filter.
        count_max: the limit on the messages that are returned.
        send_expression: True sends the subscription along; otherwise the broker uses the one of
            the heartbeat.
        sub_version: version of the subscription, in ms; the broker refuses one that is newer
            than the one it has.
        commit_offset: offset to commit along with the pull; None commits none.
        suspend_ms: how long the broker may hold a pull that finds no message.
        lite: True marks the pull of a lite pull consumer.
        class_filter: True asks a filter server, which has the group's filter for the topic.
    """

    queue: MessageQueue
    queue_offset: int
    subscription: Subscription
    count_max: int
    send_expression: bool = True
    sub_version: int = 0
    commit_offset: int | None = None
    suspend_ms: int = 0
    lite: bool = False
    class_filter: bool = False


class PullApi:
    """Sends pulls for a consumer group, and remembers which broker to ask for each queue.

    Args:
        client: the connections.
        group: the consumer group, with its namespace.
        broker_id: the member of each broker to ask; None follows what brokers suggest.
    """

    def __init__(self, client: MQClient, group: str, *, broker_id: int | None = None) -> None:
        self._client = client
        self._group = group
        self._broker_id = broker_id
        self._suggested: dict[MessageQueue, int] = {}

    async def pull(self, request: PullRequest, *, timeout_s: float | None = None) -> PullResult:
        """Read messages from a queue offset on.

        Args:
            request: what to read.
            timeout_s: how long the answer may take, in seconds, beside the time that a broker may
                hold it; None means the client's limit.

        Raises:
            BadRequest: the offset is over 64 bits.
            NoRoute, NotFound, BrokerRefused, Unreachable, TimedOut: no message was read.
        """
        raw = await self.pull_raw(request, timeout_s=timeout_s)
        messages, damage = _read(raw, request.queue)
        if damage is not None and not messages and request.count_max > 1:
            # The answer to a pull of one message says which offset is after that message.
            raw = await self.pull_raw(request._replace(count_max=1), timeout_s=timeout_s)
            messages, damage = _read(raw, request.queue)
        status, next_offset = raw.status, raw.next_offset
        if damage is not None and messages:
            # A damaged answer must not move the offset back, or beyond the offset in the answer.
            behind = messages[-1].queue_offset + 1
            next_offset = min(max(behind, request.queue_offset + 1), next_offset)
        elif damage is not None:
            status = PullStatus.NO_MATCHED_MSG
            LOG.error(
                "%s skips what broker %s has at offset %d to %d of %s: %s",
                self._group,
                raw.address,
                request.queue_offset,
                next_offset - 1,
                queue_offsets.named(request.queue),
                damage,
            )
        kept = request.subscription.filter(messages)
        return PullResult(status, next_offset, raw.min_offset, raw.max_offset, kept)

    async def pull_raw(self, request: PullRequest, *, timeout_s: float | None = None) -> RawPull:
        """Read the bytes of messages from a queue offset on.

        Raises the same errors as ``pull``.
        """
        queue = request.queue
        address, is_master = await self._reader(queue)
        if request.class_filter:
            address = await self._filter_server(queue, address)
        limit_s = self._client.timeout_s if timeout_s is None else timeout_s
        if request.suspend_ms:
            limit_s += request.suspend_ms / 1000 + HOLD_GRACE_S
        command = responses.request(
            RequestCode.PULL_MESSAGE, _header(request, self._group, is_master=is_master)
        )
        answer = await self._client.invoke(address, command, timeout_s=limit_s)
        status = _STATUS.get(answer.code)
        if status is None:
            what = f"pull from {queue_offsets.named(queue)}"
            raise refusal(answer.code, answer.remark, address=address, what=what)
        self._client.note_answer(address, served=True)
        ends = responses.header(answer, PullMessageResponse, address=address)
        self._suggested[queue] = ends.suggest_which_broker_id
        return RawPull(
            status,
            ends.next_begin_offset,
            ends.min_offset,
            ends.max_offset,
            answer.body if status is PullStatus.FOUND else b"",
            address,
            int(answer.ext.get(OFFSET_DELTA, "0")),
        )

    def forget(self, queue: MessageQueue) -> None:
        """Forget which broker was suggested, and ask the master next."""
        self._suggested.pop(queue, None)

    async def _reader(self, queue: MessageQueue) -> tuple[str, bool]:
        """Return the address to ask, and whether it is the master's."""
        route = await self._client.route(queue.topic)
        broker_id = self._broker_id
        if broker_id is None:
            broker_id = self._suggested.get(queue, MASTER_ID)
        reader = routes.reader(route, queue, broker_id=broker_id)
        if reader is None:
            raise NoRoute(queue.topic, address=f"broker {queue.broker_name or 'without a name'}")
        return reader

    async def _filter_server(self, queue: MessageQueue, broker: str) -> str:
        """Return the address of a filter server of a broker; several servers share the queues."""
        route = await self._client.route(queue.topic)
        servers = route.filter_server_table.get(broker)
        if not servers:
            raise NoRoute(queue.topic, address=f"the filter servers of broker {broker}")
        return servers[queue.queue_id % len(servers)]


def _read(raw: RawPull, queue: MessageQueue) -> tuple[list[MessageExt], RecordDamaged | None]:
    """Return the messages of an answer, at their places in the queue that was asked for."""
    messages, damage = read_pulled(raw.data, broker_name=queue.broker_name)
    if routes.is_logical(queue):
        messages = [
            message.moved(queue.queue_id, message.queue_offset + raw.offset_delta)
            for message in messages
        ]
    return messages, damage


def _header(request: PullRequest, group: str, *, is_master: bool) -> PullMessage:
    commits = request.commit_offset is not None and is_master
    subscription = request.subscription
    return PullMessage(
        consumer_group=group,
        topic=request.queue.topic,
        queue_id=request.queue.queue_id,
        queue_offset=request.queue_offset,
        max_msg_nums=request.count_max,
        sys_flag=(COMMIT if commits else 0)
        | (SUSPEND if request.suspend_ms else 0)
        | (SUBSCRIPTION if request.send_expression else 0)
        | (CLASS_FILTER if request.class_filter else 0)
        | (LITE_PULL if request.lite else 0),
        commit_offset=request.commit_offset or 0 if commits else 0,
        suspend_timeout_millis=request.suspend_ms,
        subscription=subscription.expression if request.send_expression else None,
        sub_version=request.sub_version,
        expression_type=subscription.kind,
        broker_name=request.queue.broker_name,
    )
