"""One pop request and its answer, and what is done with a popped message by its receipt handle.

    pop --POP_MESSAGE--> FOUND                messages, each with a handle of its own
                         PULL_NOT_FOUND       nothing within the time that the broker held it
                         POLLING_TIMEOUT      the same
                         POLLING_FULL         the broker holds too many requests: ask again later
    wait_for_message --NOTIFICATION--> whether there is something to pop; it hides nothing
    ack, change_invisible_time --the handle--> the broker that gave it

A broker answers with the records and, once for each queue, with the first queue offset and the
offsets of the messages; the handle of a message is made of these here. Messages of the group's
retry topic come under the topic they were sent to and with their handles already: the broker
writes them into the records.

Rule: this module neither chooses a broker nor waits. The time when a request was made is left to
the broker (born time 0), because a broker refuses a request that is older than half a second by
its own clock.

Source: client/impl/MQClientAPIImpl.java#processPopResponse, #changeInvisibleTimeAsync,
client/impl/consumer/DefaultMQPushConsumerImpl.java#ackAsync (5.4.0).
"""

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from mqclient.client import responses
from mqclient.client.instance import MQClient
from mqclient.consumer.subscription import Subscription
from mqclient.errors import BadAnswer, BadRequest, BrokerRefused
from mqclient.message import MessageExt, read_pulled
from remoting.bodies import MessageQueue
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.errors import BadHeader
from remoting.header import Header
from remoting.headers.pop import (
    AckMessage,
    ChangeInvisibleTime,
    ChangeInvisibleTimeResponse,
    Notification,
    NotificationResponse,
    PopMessage,
    PopMessageResponse,
)
from remoting.receipt import (
    FIRST_POP_TIME,
    POP_CK,
    OrderKey,
    PoppedQueue,
    ReceiptHandle,
    decode_message_offsets,
    decode_order_counts,
    decode_receipt,
    decode_start_offsets,
    topic_kind,
)

LOG = logging.getLogger(__name__)

ANY_QUEUE: Final = -1
HOLD_GRACE_S: Final = 10.0
"""How much later than asked the answer to a held request may come."""
FROM_MIN: Final = 0
FROM_MAX: Final = 1
"""Values of a pop's ``init_mode``."""
_NOTHING: Final = frozenset(
    {
        ResponseCode.PULL_NOT_FOUND,
        LaterResponseCode.POLLING_FULL,
        LaterResponseCode.POLLING_TIMEOUT,
    }
)


class PopPlace(NamedTuple):
    """Where to pop: a topic (with its namespace) at the master of a broker."""

    topic: str
    broker_name: str
    address: str


class PopRequest(NamedTuple):
    """The parameters of a pop.

    Attributes:
        place: the topic and the broker.
        subscription: the filter.
        count_max: the limit on the messages; a broker refuses more than 32.
        invisible_ms: how long the messages are hidden.
        poll_ms: how long the broker may hold a pop that finds no message.
        init_mode: where a group without an offset begins: ``FROM_MIN`` or ``FROM_MAX``.
        order: True pops in order.
    """

    place: PopPlace
    subscription: Subscription
    count_max: int
    invisible_ms: int
    poll_ms: int = 0
    init_mode: int = FROM_MAX
    order: bool = False


class PopApi:
    """Sends pops and what follows them for a consumer group.

    Args:
        client: the connections.
        group: the consumer group, with its namespace.
    """

    def __init__(self, client: MQClient, group: str) -> None:
        self._client = client
        self._group = group

    async def pop(self, request: PopRequest) -> list[MessageExt]:
        """Return the messages of one pop, each with its handle; the list may be empty.

        Raises:
            BrokerRefused: the broker does not know POP, or refuses this pop.
            NotFound, Unreachable, TimedOut: no message was popped.
            BadAnswer: the answer does not say which handles its messages have.
        """
        place = request.place
        header = PopMessage(
            consumer_group=self._group,
            topic=place.topic,
            queue_id=ANY_QUEUE,
            max_msg_nums=request.count_max,
            invisible_time=request.invisible_ms,
            poll_time=request.poll_ms,
            init_mode=request.init_mode,
            exp_type=request.subscription.kind,
            exp=request.subscription.expression,
            order=request.order,
            broker_name=place.broker_name,
        )
        answer = await self._ask(
            place, LaterCode.POP_MESSAGE, header, what="pop", hold_ms=request.poll_ms
        )
        if answer.code in _NOTHING:
            return []
        responses.check(answer, address=place.address, what=f"pop from topic {place.topic}")
        fields = responses.header(answer, PopMessageResponse, address=place.address)
        messages, damage = read_pulled(answer.body, broker_name=place.broker_name)
        if damage is not None:
            LOG.error(
                "%s: broker %s sent a damaged record of topic %s after %d messages; it comes again "
                "after its invisible time: %s",
                self._group,
                place.address,
                place.topic,
                len(messages),
                damage,
            )
        try:
            return with_receipts(messages, fields, broker_name=place.broker_name)
        except BadHeader as error:
            raise BadAnswer(
                f"{place.address} answered a pop without usable offsets: {error}"
            ) from error

    async def wait_for_message(self, place: PopPlace, *, poll_ms: int, order: bool = False) -> bool:
        """Return True as soon as there is a message to pop, and False when none came in time.

        Args:
            place: the topic and the broker.
            poll_ms: how long the broker may hold the request.
            order: True asks about messages in order.

        Raises:
            ClientError: the broker refused, or did not answer.
        """
        header = Notification(
            consumer_group=self._group,
            topic=place.topic,
            queue_id=ANY_QUEUE,
            poll_time=poll_ms,
            order=order,
            broker_name=place.broker_name,
        )
        answer = await self._ask(
            place, LaterCode.NOTIFICATION, header, what="wait", hold_ms=poll_ms
        )
        if answer.code in _NOTHING:
            return False
        responses.check(
            answer, address=place.address, what=f"wait for messages of topic {place.topic}"
        )
        return responses.header(answer, NotificationResponse, address=place.address).has_msg

    async def ack(self, topic: str, receipt: str) -> None:
        """Acknowledge a message, so that the group does not get it again.

        Args:
            topic: the topic that was popped, with its namespace.
            receipt: the handle of the message.

        Raises:
            BadRequest: the text is not a handle.
            NotFound, BrokerRefused: the broker has no such message.
            NoRoute, Unreachable, TimedOut: whether it is acknowledged is not known.
        """
        handle = parse_receipt(receipt)
        place = await self._place_of(topic, handle)
        header = AckMessage(
            consumer_group=self._group,
            topic=handle.real_topic(topic, self._group),
            queue_id=handle.queue_id,
            extra_info=receipt,
            offset=handle.queue_offset,
            broker_name=handle.broker_name,
        )
        answer = await self._ask(place, LaterCode.ACK_MESSAGE, header, what="ack")
        responses.check(answer, address=place.address, what=f"ack of {_named(topic, handle)}")

    async def change_invisible_time(self, topic: str, receipt: str, *, invisible_ms: int) -> str:
        """Hide a message for another while from now on, and return its new handle.

        Args:
            topic: the topic that was popped, with its namespace.
            receipt: the handle of the message, which is of no use afterwards.
            invisible_ms: how long it is hidden from now on.

        Raises the same errors as ``ack``.
        """
        handle = parse_receipt(receipt)
        place = await self._place_of(topic, handle)
        header = ChangeInvisibleTime(
            consumer_group=self._group,
            topic=handle.real_topic(topic, self._group),
            queue_id=handle.queue_id,
            extra_info=receipt,
            offset=handle.queue_offset,
            invisible_time=invisible_ms,
            broker_name=handle.broker_name,
        )
        answer = await self._ask(
            place, LaterCode.CHANGE_MESSAGE_INVISIBLETIME, header, what="change"
        )
        responses.check(
            answer, address=place.address, what=f"invisible time of {_named(topic, handle)}"
        )
        changed = responses.header(answer, ChangeInvisibleTimeResponse, address=place.address)
        # The new checkpoint has this message alone, so it begins at the message's own offset.
        return ReceiptHandle(
            start_offset=handle.queue_offset,
            pop_time_ms=changed.pop_time,
            invisible_ms=changed.invisible_time,
            revive_queue_id=changed.revive_queue_id,
            topic_kind=handle.topic_kind,
            broker_name=handle.broker_name,
            queue_id=handle.queue_id,
            queue_offset=handle.queue_offset,
        ).encode()

    async def _ask(
        self, place: PopPlace, code: int, header: Header, *, what: str, hold_ms: int = 0
    ) -> Command:
        limit_s = self._client.timeout_s
        if hold_ms:
            limit_s += hold_ms / 1000 + HOLD_GRACE_S
        answer = await self._client.invoke(
            place.address, responses.request(code, header), timeout_s=limit_s
        )
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            raise BrokerRefused(
                f"{what} of group {self._group}: broker {place.broker_name} at {place.address} "
                f"does not know POP (request code {code:d})",
                code=answer.code,
                remark=answer.remark or "",
                address=place.address,
                hint="a simple consumer needs brokers of RocketMQ 5 or of this project; "
                "a LitePullConsumer consumes from every broker",
            )
        return answer

    async def _place_of(self, topic: str, handle: ReceiptHandle) -> PopPlace:
        queue = MessageQueue(topic, handle.broker_name, handle.queue_id)
        return PopPlace(topic, handle.broker_name, await self._client.master_of(queue))


def with_receipts(
    messages: Sequence[MessageExt], header: PopMessageResponse, *, broker_name: str
) -> list[MessageExt]:
    """Return popped messages with the properties that a consumer adds: handle and first pop.

    Args:
        messages: the records of the answer, in its order.
        header: the header of the answer.
        broker_name: the broker that popped them.

    Raises:
        BadHeader: the header does not have the offsets of a message.
    """
    starts = decode_start_offsets(header.start_offset_info)
    offsets = decode_message_offsets(header.msg_offset_info)
    counts = decode_order_counts(header.order_count_info)
    has_starts = bool(starts)
    given: dict[PoppedQueue, int] = {}
    first_pop = str(header.pop_time)
    received = []
    for message in messages:
        properties = {FIRST_POP_TIME: first_pop, **message.properties}
        times = None
        if POP_CK not in properties:
            queue = PoppedQueue(topic_kind(message.topic), message.queue_id)
            index = given.get(queue, 0)
            given[queue] = index + 1
            queue_offset = message.queue_offset
            if has_starts:
                queue_offset = _offset_at(offsets, queue, index)
            else:
                # As in Java: without the table, the first message of a queue is its start.
                starts.setdefault(queue, queue_offset)
            if queue not in starts:
                raise _missing_offset(queue, "startOffsetInfo")
            properties[POP_CK] = ReceiptHandle(
                start_offset=starts[queue],
                pop_time_ms=header.pop_time,
                invisible_ms=header.invisible_time,
                revive_queue_id=header.revive_queue_id,
                topic_kind=queue.topic_kind,
                broker_name=broker_name,
                queue_id=queue.queue_id,
                queue_offset=queue_offset,
            ).encode()
            if counts:
                times = counts.get(OrderKey(*queue, queue_offset)) or counts.get(OrderKey(*queue))
        received.append(message.but(properties=properties, reconsume_times=times or None))
    return received


def parse_receipt(receipt: str) -> ReceiptHandle:
    """Return the handle that a text is.

    Raises:
        BadRequest: the text is not a handle.
    """
    try:
        return decode_receipt(receipt)
    except BadHeader as error:
        raise BadRequest(str(error), hint="give what `receive` put into POP_CK") from error


def _offset_at(offsets: dict[PoppedQueue, tuple[int, ...]], queue: PoppedQueue, index: int) -> int:
    queue_offsets = offsets.get(queue, ())
    if index >= len(queue_offsets):
        raise _missing_offset(queue, "msgOffsetInfo")
    return queue_offsets[index]


def _missing_offset(queue: PoppedQueue, field: str) -> BadHeader:
    return BadHeader(
        f"{field} has no offset for a message of queue {queue.queue_id} of kind {queue.topic_kind}",
        header="PopMessageResponse",
        field=field,
    )


def _named(topic: str, handle: ReceiptHandle) -> str:
    return f"offset {handle.queue_offset} of queue {handle.queue_id} of topic {topic}"
