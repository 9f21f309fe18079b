"""Requests about a receipt handle: acknowledge, hide longer, make a dead letter.

    handle of a client   a broker's handle and one more word, the log offset of the message
    to the broker        the same text; the broker ignores the ninth word

Rule: a handle that a client made up is refused, and so is one that has expired, because the message
may be with another client by then.

Source: proxy/processor/ConsumerProcessor.java, ProducerProcessor.java,
service/message/ClusterMessageService.java, common/consumer/ReceiptHandle.java (5.4.0).
"""

from collections.abc import Awaitable
from typing import Final, NamedTuple, Protocol

from mqclient.client import responses
from mqserver.proxy.cluster import Cluster
from mqserver.proxy.grpc_status import ProxyRefused, refused_inside
from mqserver.proxy.protocol.codes import Code
from remoting.codes import LaterCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.errors import BadHeader
from remoting.headers import ConsumerSendMsgBack
from remoting.headers.pop import AckMessage, ChangeInvisibleTime, ChangeInvisibleTimeResponse
from remoting.receipt import ReceiptHandle, decode_receipt

TIMEOUT_S: Final = 3.0


class Invoke(Protocol):
    """Sends a request to a broker and returns its answer."""

    def __call__(
        self, address: str, command: Command, *, timeout_s: float = TIMEOUT_S
    ) -> Awaitable[Command]: ...


class Receipt(NamedTuple):
    """A handle as a client or a broker wrote it, and its decoded parts."""

    text: str
    handle: ReceiptHandle


def decode_handle(text: str) -> Receipt:
    """Return the handle that a client sends back.

    Raises:
        ProxyRefused: it is not a handle.
    """
    try:
        return Receipt(text, decode_receipt(text))
    except BadHeader as error:
        raise ProxyRefused(Code.INVALID_RECEIPT_HANDLE, str(error)) from error


class Deliveries:
    """Sends clients' requests about their deliveries to the brokers.

    Args:
        invoke: sends a request for the client.
        cluster: the brokers.
    """

    def __init__(self, invoke: Invoke, cluster: Cluster) -> None:
        self._invoke = invoke
        self._cluster = cluster

    async def ack(self, receipt: Receipt, *, topic: str, group: str) -> bool:
        """Acknowledge a message; False when the broker does not know the delivery any more.

        Raises:
            ProxyRefused: the handle cannot be used.
            ClientError: no answer came.
        """
        address = await self._usable(receipt.handle)
        command = self.ack_command(receipt, topic=topic, group=group)
        answer = await self._invoke(address, command)
        return answer.code == ResponseCode.SUCCESS

    def ack_command(self, receipt: Receipt, *, topic: str, group: str) -> Command:
        """Return the request that acknowledges a message."""
        handle = receipt.handle
        header = AckMessage(
            consumer_group=group,
            topic=handle.real_topic(topic, group),
            queue_id=handle.queue_id,
            extra_info=receipt.text,
            offset=handle.queue_offset,
            broker_name=handle.broker_name,
        )
        return Command.request(LaterCode.ACK_MESSAGE, header)

    def known_address(self, receipt: Receipt) -> str | None:
        """Return the cached address of the broker that gave a handle, if the handle is valid.

        None means that ``ack`` has to look it up, or to refuse the handle.
        """
        handle = receipt.handle
        if handle.expires_at_ms <= self._cluster.client.now_ms():
            return None
        return self._cluster.known_master(handle.broker_name)

    async def hide(
        self, receipt: Receipt, *, topic: str, group: str, invisible_ms: int
    ) -> Receipt | None:
        """Hide a message from now on and return its new handle.

        Returns:
            None when the broker does not know the delivery any more.

        Raises:
            ProxyRefused: the handle cannot be used.
            ClientError: the broker refused, or no answer came.
        """
        handle = receipt.handle
        address = await self._usable(handle)
        header = ChangeInvisibleTime(
            consumer_group=group,
            topic=handle.real_topic(topic, group),
            queue_id=handle.queue_id,
            extra_info=receipt.text,
            offset=handle.queue_offset,
            invisible_time=invisible_ms,
            broker_name=handle.broker_name,
        )
        code = LaterCode.CHANGE_MESSAGE_INVISIBLETIME
        answer = await self._invoke(address, Command.request(code, header))
        if answer.code != ResponseCode.SUCCESS:
            return None
        hidden = responses.header(answer, ChangeInvisibleTimeResponse, address=address)
        fresh = ReceiptHandle(
            # The new checkpoint has this message alone, so it begins at the message's own offset.
            start_offset=handle.queue_offset,
            pop_time_ms=hidden.pop_time,
            invisible_ms=hidden.invisible_time,
            revive_queue_id=hidden.revive_queue_id,
            topic_kind=handle.topic_kind,
            broker_name=handle.broker_name,
            queue_id=handle.queue_id,
            queue_offset=handle.queue_offset,
            log_offset=handle.log_offset,
        )
        return Receipt(fresh.encode(), fresh)

    async def give_up(
        self, receipt: Receipt, *, message_id: str, topic: str, group: str
    ) -> Command:
        """Make a message a dead letter, acknowledge it, and return the broker's answer.

        Raises:
            ProxyRefused: the handle cannot be used.
            ClientError: no answer came.
        """
        handle = receipt.handle
        if handle.log_offset is None or handle.log_offset < 0:
            raise refused_inside(Code.INVALID_RECEIPT_HANDLE, "commit log offset is empty")
        address = await self._address(handle)
        header = ConsumerSendMsgBack(
            offset=handle.log_offset,
            group=group,
            delay_level=-1,
            origin_msg_id=message_id,
            origin_topic=handle.real_topic(topic, group),
            max_reconsume_times=0,
        )
        code = RequestCode.CONSUMER_SEND_MSG_BACK
        answer = await self._invoke(address, Command.request(code, header))
        if answer.code == ResponseCode.SUCCESS:
            await self.ack(receipt, topic=topic, group=group)
        return answer

    async def _usable(self, handle: ReceiptHandle) -> str:
        """Return the address of the broker that gave a handle whose time is not over."""
        if handle.expires_at_ms <= self._cluster.client.now_ms():
            raise refused_inside(Code.INVALID_RECEIPT_HANDLE, "receipt handle is expired")
        return await self._address(handle)

    async def _address(self, handle: ReceiptHandle) -> str:
        address = await self._cluster.master(handle.broker_name)
        if address is None:
            text = f"cannot find broker {handle.broker_name}"
            raise refused_inside(Code.INVALID_RECEIPT_HANDLE, text)
        return address
