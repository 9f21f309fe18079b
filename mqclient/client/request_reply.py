"""Request and reply: a message whose consumer sends a reply to its producer.

    request: CORRELATION_ID, REPLY_TO_CLIENT, TTL --> broker --> consumer
    reply:   the same, MSG_TYPE=reply --> broker --PUSH_REPLY_MESSAGE_TO_CLIENT--> the producer

Rule: the correlation id joins a reply to its request; a reply that comes too late is logged.

Source: client/impl/producer/DefaultMQProducerImpl.java#request, client/utils/MessageUtil.java,
client/impl/ClientRemotingProcessor.java#receiveReplyMessage (4.9.7).
"""

import asyncio
import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from mqclient.errors import BadRequest, TimedOut
from mqclient.message import Message, MessageExt
from remoting.command import Command
from remoting.headers import ReplyMessage
from storefmt.errors import StoreError
from storefmt.formats.hosts import parse_host
from storefmt.formats.message import MAGIC_V1, Record
from storefmt.formats.properties import CLUSTER, CORRELATION_ID, MESSAGE_TYPE, REPLY_TO_CLIENT, TTL

LOG = logging.getLogger(__name__)

REPLY: Final = "reply"
REPLY_TOPIC_SUFFIX: Final = "REPLY_TOPIC"
_NOWHERE: Final = bytes(8)


class PendingRequest:
    """One request that waits for its reply.

    Attributes:
        id: the correlation id.
        reply: a future that gets the reply.
        properties: what the message of the request must carry.
    """

    def __init__(self, client_id: str, *, timeout_s: float) -> None:
        self.id = str(uuid.uuid4())
        loop = asyncio.get_running_loop()
        self._deadline_s = loop.time() + timeout_s
        self.reply: asyncio.Future[MessageExt] = loop.create_future()
        self.properties = {
            CORRELATION_ID: self.id,
            REPLY_TO_CLIENT: client_id,
            TTL: str(round(timeout_s * 1000)),
        }

    async def answer(self) -> MessageExt:
        """Return the reply.

        Raises:
            TimedOut: no reply came in time.
        """
        left_s = self._deadline_s - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(left_s):
                return await self.reply
        except TimeoutError:
            raise TimedOut(
                f"no reply to request {self.id} in time",
                hint="the message is stored, its consumer may still handle it",
            ) from None


class PendingReplies:
    """The requests of all producers of one client that wait for their replies."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._waiting: dict[str, PendingRequest] = {}

    @contextmanager
    def ask(self, *, timeout_s: float) -> Iterator[PendingRequest]:
        """Give a new request, which waits for its reply until the block ends."""
        question = PendingRequest(self._client_id, timeout_s=timeout_s)
        self._waiting[question.id] = question
        try:
            yield question
        finally:
            self._waiting.pop(question.id, None)

    def close(self) -> None:
        """Cancel every request."""
        for question in self._waiting.values():
            question.reply.cancel()
        self._waiting.clear()

    def reply_to(self, question: MessageExt, body: bytes) -> tuple[Message, Mapping[str, str]]:
        """Return the reply to a message, and the properties that it must carry.

        Raises:
            BadRequest: the message does not ask for a reply, or its broker passes none on.
        """
        cluster = question.properties.get(CLUSTER)
        kept = {
            name: question.properties[name]
            for name in (CORRELATION_ID, REPLY_TO_CLIENT, TTL)
            if name in question.properties
        }
        if CORRELATION_ID not in kept or REPLY_TO_CLIENT not in kept:
            raise BadRequest(
                f"message {question.msg_id} does not ask for a reply",
                hint="only messages of request() do",
            )
        if not cluster:
            raise BadRequest(
                f"message {question.msg_id} asks for a reply, but its broker does not say where to",
                hint="brokers before 4.6 do not pass replies on",
            )
        return Message(f"{cluster}_{REPLY_TOPIC_SUFFIX}", body), {MESSAGE_TYPE: REPLY, **kept}

    async def replied(self, address: str, request: Command) -> Command | None:
        """Give a reply that a broker passes on to the request that waits for it."""
        header = request.header(ReplyMessage)
        message = _message_of(header, request.body)
        question = self._waiting.get(message.properties.get(CORRELATION_ID, ""))
        if question is None or question.reply.done():
            LOG.warning("%s passed on a reply to a request that does not wait any more", address)
        else:
            question.reply.set_result(message)
        return request.response()


def _message_of(header: ReplyMessage, body: bytes) -> MessageExt:
    record = Record(
        size=0,
        magic=MAGIC_V1,
        body_crc=0,
        queue_id=header.queue_id,
        flag=header.flag,
        queue_offset=0,
        log_offset=0,
        sys_flag=header.sys_flag,
        born_ms=header.born_timestamp,
        born_host=_host(header.born_host),
        store_ms=header.store_timestamp,
        store_host=_host(header.store_host),
        reconsume_times=header.reconsume_times or 0,
        prepared_transaction_offset=0,
        body=body,
        topic=header.topic,
        properties_raw=(header.properties or "").encode(),
    )
    return MessageExt(record, "")


def _host(text: str) -> bytes:
    try:
        return parse_host(text.removeprefix("/"))
    except StoreError:
        LOG.debug("a reply names host %r", text)
        return _NOWHERE
