"""Failed messages are sent back to their broker, or as new messages to any other broker.

    give_back --> CONSUMER_SEND_MSG_BACK to the message's broker --> %RETRY%group or %DLQ%group
                        | refused, no answer, or unknown broker
                        `--> a new message for %RETRY%group of any broker, delayed

Rule: the new message keeps every property (so the same unique key), and its body as it is
stored, so that a body that cannot be decompressed is kept as well. It counts as delivered once
more, and carries the limit of the group: beyond it, the broker moves the message to %DLQ%group.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#sendMessageBack,
client/impl/MQClientAPIImpl.java#consumerSendMessageBack (4.9.7).
"""

import logging
from typing import Final

from mqclient.client import routes
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError, NoRoute
from mqclient.message import MessageExt
from mqclient.namespace import retry_topic_of, wrap
from mqclient.producer.producer import InnerProducer
from mqclient.producer.send_request import PackedMessage
from remoting.codes import RequestCode
from remoting.headers import ConsumerSendMsgBack
from storefmt.formats.hosts import host_text
from storefmt.formats.properties import (
    DELAY,
    MAX_RECONSUME_TIMES,
    ORIGIN_MESSAGE_ID,
    RECONSUME_TIME,
    RETRY_TOPIC,
    TRANSACTION_PREPARED,
    UNIQUE_KEY,
    format_properties,
    hashmap_order,
)
from storefmt.formats.sysflag import COMPRESSED, COMPRESSION_MASK

LOG = logging.getLogger(__name__)

INNER_PRODUCER: Final = "CLIENT_INNER_PRODUCER"
"""The producer group in which every client sends its own messages."""
FIRST_DELAY_LEVEL: Final = 3


class SendBack:
    """Sends messages of one group back.

    Args:
        client: the connections.
        group: the consumer group, with its namespace.
        reconsume_count_max: how often a message is delivered again before it goes to %DLQ%group.
        unit_mode: the group belongs to a unit.
    """

    def __init__(
        self, client: MQClient, group: str, *, reconsume_count_max: int, unit_mode: bool
    ) -> None:
        self._client = client
        self._group = group
        self._count_max = reconsume_count_max
        self._unit_mode = unit_mode
        self._producer = InnerProducer(client, INNER_PRODUCER)

    async def give_back(
        self, message: MessageExt, *, delay_level: int, broker_name: str | None
    ) -> None:
        """Send a message back, so that the group gets it again later.

        Args:
            message: under the topic it was sent to.
            delay_level: 0 lets the broker choose; below 0 means the dead letter queue.
            broker_name: a broker that has the message; None means the one it came from.

        Raises:
            ClientError: no broker took the message.
        """
        if self._client.namespace:
            message = message.but(topic=wrap(self._client.namespace, message.topic))
        try:
            await self._to_broker(message, delay_level, broker_name or message.broker_name)
        except ClientError as error:
            if message.damage:
                # A new message would get a CRC that fits the damaged body.
                raise
            LOG.warning(
                "message %s is sent to the retry topic of %s as a new message, because: %s",
                message.msg_id,
                self._group,
                error,
            )
            out = as_new(
                message,
                self._group,
                reconsume_count_max=self._count_max,
                spare_key=self._client.unique_ids.next(self._client.now_ms()),
            )
            await self._producer.deliver(out, [])

    async def _to_broker(self, message: MessageExt, delay_level: int, broker_name: str) -> None:
        header = ConsumerSendMsgBack(
            offset=message.log_offset,
            group=self._group,
            delay_level=delay_level,
            origin_msg_id=message.properties.get(ORIGIN_MESSAGE_ID, message.offset_msg_id),
            origin_topic=message.topic,
            unit_mode=self._unit_mode,
            max_reconsume_times=self._count_max,
            broker_name=broker_name or None,
        )
        await self._client.call(
            await self._address_of(message, broker_name),
            RequestCode.CONSUMER_SEND_MSG_BACK,
            header,
            what=f"send back of message {message.msg_id} of group {self._group}",
        )

    async def _address_of(self, message: MessageExt, broker_name: str) -> str:
        """Return the address of a broker; a message contains the address of its own broker."""
        of_its_own = broker_name == message.broker_name
        try:
            masters = routes.masters(await self._client.route(message.topic))
        except ClientError:
            if not of_its_own:
                raise
            masters = {}
        address = masters.get(broker_name)
        if address is None and not of_its_own:
            raise NoRoute(message.topic, address=f"broker {broker_name}")
        return address or host_text(message.record.store_host)


def as_new(
    message: MessageExt, group: str, *, reconsume_count_max: int, spare_key: str
) -> PackedMessage:
    """Return a message, packed as a new one, for the retry topic of its group.

    Args:
        message: under the topic it was sent to, with its namespace.
        group: the consumer group, with its namespace.
        reconsume_count_max: how often a message of the group is delivered again.
        spare_key: the unique key for a message that has none.
    """
    properties = dict(message.properties)
    # Java sets this property, but loses it when it replaces all properties.
    properties.setdefault(ORIGIN_MESSAGE_ID, message.offset_msg_id)
    properties.setdefault(UNIQUE_KEY, spare_key)
    properties[RETRY_TOPIC] = message.topic
    properties[DELAY] = str(FIRST_DELAY_LEVEL + message.reconsume_times)
    # Both are also in the header: Java's producer removes these properties too late.
    properties[RECONSUME_TIME] = str(message.reconsume_times + 1)
    properties[MAX_RECONSUME_TIMES] = str(reconsume_count_max)
    properties.pop(TRANSACTION_PREPARED, None)
    record = message.record
    compression = COMPRESSED | COMPRESSION_MASK if record.sys_flag & COMPRESSED else 0
    return PackedMessage(
        RequestCode.SEND_MESSAGE_V2,
        retry_topic_of(group),
        record.body,
        record.flag,
        record.sys_flag & compression,
        format_properties({name: properties[name] for name in hashmap_order(list(properties))}),
        properties[UNIQUE_KEY],
        message.reconsume_times + 1,
        reconsume_count_max,
    )
