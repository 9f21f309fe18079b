"""Producers: SendMessage, EndTransaction, RecallMessage.

    draft ─ type of the topic ─ a queue: by message group, or the next one ─┬─ SEND_MESSAGE_V2
                                                                            └─ SEND_BATCH_MESSAGE
    post   a draft whose topic is known, on an open connection: no task waits for the answer
    send   everything else

Messages of one group go to one queue, which the same consistent hash finds as in the proxy of
5.4.0: proxies of both kinds may serve the producers of one topic.

Rule: a message is stored once, or the client gets the error; the proxy never sends it again,
because only the client knows whether a duplicate does harm.

Source: proxy/grpc/v2/producer/SendMessageActivity.java, transaction/EndTransactionActivity.java,
producer/RecallMessageActivity.java, proxy/processor/ProducerProcessor.java (5.4.0).
"""

import itertools
import random
from collections.abc import Sequence
from typing import Final

from mqclient.client import responses, routes
from mqclient.errors import ClientError
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.send_request import PackedMessage, SendCommands
from mqclient.producer.send_result import SendResult, SendStatus
from mqserver.proxy.clients.sessions import Sessions
from mqserver.proxy.clients.transactions import Transactions
from mqserver.proxy.cluster import Cluster, TopicType
from mqserver.proxy.context import ProxyContext
from mqserver.proxy.drafts import SendDraft
from mqserver.proxy.grpc_status import ProxyRefused, ok, refused_inside, status_of
from mqserver.proxy.grpc_validator import SHARDING_KEY, check_type, message_type, topic_of
from mqserver.proxy.http2.calls import GrpcCall
from mqserver.proxy.message_conversion import OutgoingMessage, pack
from mqserver.proxy.protocol.codes import Code, TransactionResolution, TransactionSource
from mqserver.proxy.protocol.definitions import Message, Status
from mqserver.proxy.protocol.protobuf import varint
from mqserver.proxy.protocol.requests import (
    EndTransactionRequest,
    RecallMessageRequest,
    Response,
    SendMessageRequest,
    SendMessageResponse,
    SendResultEntry,
)
from mqserver.proxy.protocol.requests import (
    RecallMessageResponse as Recalled,
)
from mqserver.proxy.proxy_config import ProxyConfig
from remoting.bodies import MessageQueue, TopicRouteData
from remoting.codes import LanguageCode, LaterCode, RequestCode
from remoting.command import Command
from remoting.errors import BadCall, BadHeader
from remoting.headers import EndTransaction
from remoting.headers.pop import RecallMessage, RecallMessageResponse
from remoting.recall import decode_recall
from storefmt.errors import StoreError
from storefmt.formats import sysflag
from storefmt.formats.batch import BatchEntry, join_batch
from storefmt.formats.javahash import string_hash
from storefmt.formats.msgid import parse_offset_id
from storefmt.formats.properties import TRANSFER_FLAG, UNIQUE_KEY, in_java_order
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX

PACKED_AT_ONCE: Final = 16
"""How many messages of a batch are checked and packed in one piece of work."""
KEYS_AT_ONCE: Final = 64
"""A message with more keys than this is a separate piece of work."""
REMARK: Final = "end transaction from proxy"
_MASK: Final = (1 << 64) - 1
_LONG: Final = 1 << 63
_OK: Final = Response(status=ok()).encode()
# The tags of the fields of SendMessageResponse and SendResultEntry.
_ENTRY_TAG: Final = b"\x12"
_ID_TAG: Final = b"\x12"
_OFFSET_TAG: Final = b"\x20"
_CODES: Final = {
    SendStatus.SEND_OK: Code.OK,
    SendStatus.FLUSH_DISK_TIMEOUT: Code.MASTER_PERSISTENCE_TIMEOUT,
    SendStatus.FLUSH_SLAVE_TIMEOUT: Code.SLAVE_PERSISTENCE_TIMEOUT,
    SendStatus.SLAVE_NOT_AVAILABLE: Code.HA_NOT_AVAILABLE,
}
_RESOLUTIONS: Final = {
    TransactionResolution.COMMIT: sysflag.TRANSACTION_COMMIT,
    TransactionResolution.ROLLBACK: sysflag.TRANSACTION_ROLLBACK,
}


class ProducerMethods:
    """The methods for producers.

    Args:
        config: limits and checks.
        cluster: the brokers.
        sessions: the clients.
        transactions: the transactions that are not ended.
    """

    def __init__(
        self,
        config: ProxyConfig,
        cluster: Cluster,
        sessions: Sessions,
        transactions: Transactions,
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._sessions = sessions
        self._transactions = transactions
        self._checks_type = config.enable_topic_message_type_check
        self._turns = itertools.count(random.randrange(1 << 16))
        self._known: dict[str, _Publishing] = {}

    async def send(
        self, request: SendMessageRequest | SendDraft, context: ProxyContext
    ) -> SendMessageResponse:
        """Store one message, or several of one topic as a batch."""
        draft = request
        if isinstance(draft, SendMessageRequest):
            draft = await self._draft(draft, context)
        topic = draft.topic
        if self._checks_type and draft.kind is not None:
            check_type(await self._cluster.topic_type(topic, context.credentials), draft.kind)
        session = self._sessions.of(context)
        publishing = await self._publishing(topic)
        queue = self._queue(publishing, draft)
        result = await session.store(
            draft.packed,
            queue,
            publishing.addresses[queue.broker_name],
            publishing.commands(session.language),
            born_ms=draft.born_ms,
        )
        is_half = draft.packed.sys_flag & sysflag.TRANSACTION_PREPARED
        if is_half and result.status is SendStatus.SEND_OK:
            result = result._replace(transaction_id=self._remember(topic, result))
        return _response(result)

    def post(self, call: GrpcCall) -> bool:
        """Send a draft if only the broker's answer has to be waited for.

        Returns:
            False if ``send`` has to send it.
        """
        draft, context = call.request, call.context
        if type(draft) is not SendDraft:
            return False
        now_ms = self._cluster.client.now_ms()
        publishing = self._known.get(draft.topic)
        if publishing is None or not publishing.queues:
            return False
        if publishing.route is not self._cluster.client.known_route(draft.topic, now_ms=now_ms):
            return False
        if self._checks_type and draft.kind is not None:
            topic_type = self._cluster.known_type(draft.topic)
            if topic_type is not draft.kind and topic_type is not TopicType.MIXED:
                return False
        session = self._sessions.of(context)
        queue = self._queue(publishing, draft)
        try:
            return session.post(
                draft.packed,
                queue,
                publishing.addresses[queue.broker_name],
                publishing.commands(session.language),
                born_ms=draft.born_ms,
                outcome=_Answer(call),
            )
        except (ProxyRefused, ClientError) as error:
            call.answer(SendMessageResponse(status=status_of(error)).encode())
            return True

    async def end_transaction(
        self, request: EndTransactionRequest, context: ProxyContext
    ) -> Response:
        """Commit or roll back a transaction; brokers do not answer this request."""
        topic = topic_of(request.topic)
        if not request.transaction_id.strip():
            raise ProxyRefused(Code.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
        named = self._transactions.take_transaction(topic, request.transaction_id)
        if named is None:
            # The broker asks the producer about it again.
            text = "cannot found transaction data"
            raise refused_inside(Code.INTERNAL_SERVER_ERROR, text)
        half = named.half
        address = await self._master(half.broker_name)
        header = EndTransaction(
            producer_group=topic,
            tran_state_table_offset=half.queue_offset,
            commit_log_offset=half.log_offset,
            commit_or_rollback=_RESOLUTIONS.get(request.resolution, 0),
            from_transaction_check=request.source is TransactionSource.SOURCE_SERVER_CHECK,
            msg_id=request.message_id,
            transaction_id=named.unique_key,
            broker_name=half.broker_name,
        )
        command = Command.request(RequestCode.END_TRANSACTION, header, oneway=True)
        command.remark = REMARK
        await self._sessions.of(context).invoke_oneway(address, command)
        return Response(status=ok())

    async def recall(self, request: RecallMessageRequest, context: ProxyContext) -> Recalled:
        """Take back a delayed message."""
        topic = topic_of(request.topic)
        if self._config.enable_topic_message_type_check:
            check_type(await self._cluster.topic_type(topic, context.credentials), TopicType.DELAY)
        address = await self._master(_broker_in(request.recall_handle))
        header = RecallMessage(topic=topic, recall_handle=request.recall_handle)
        command = Command.request(LaterCode.RECALL_MESSAGE, header)
        answer = await self._sessions.of(context).invoke(address, command)
        responses.check(answer, address=address, what=f"recall of a message of topic {topic}")
        recalled = responses.header(answer, RecallMessageResponse, address=address)
        return Recalled(status=ok(), message_id=recalled.msg_id)

    async def _draft(self, request: SendMessageRequest, context: ProxyContext) -> SendDraft:
        """Check and pack the messages of a request."""
        if not request.messages:
            raise ProxyRefused(Code.MESSAGE_CORRUPTED, "no message to send")
        topic = topic_of(request.messages[0].topic)
        system = request.messages[0].system_properties
        if len(request.messages) == 1 and (system is None or len(system.keys) <= KEYS_AT_ONCE):
            return self._drafted(topic, [self._pack(request.messages[0], topic, request, context)])
        packed: list[OutgoingMessage] = []
        entries: list[BatchEntry] = []
        for start in range(0, len(request.messages), PACKED_AT_ONCE):
            await self._cluster.pieces.turn(context.ip)
            for message in request.messages[start : start + PACKED_AT_ONCE]:
                out = self._pack(message, topic, request, context)
                packed.append(out)
                entries.append(BatchEntry(0, out.body, in_java_order(out.properties).encode()))
        await self._cluster.pieces.turn(context.ip)
        return self._drafted(topic, packed, join_batch(entries) if len(entries) > 1 else None)

    def _drafted(
        self, topic: str, packed: Sequence[OutgoingMessage], batch: bytes | None = None
    ) -> SendDraft:
        first = packed[0]
        takes_all = TRANSFER_FLAG in first.properties or topic.startswith(
            (RETRY_PREFIX, DLQ_PREFIX)
        )
        return SendDraft(
            topic,
            None if takes_all else message_type(first.properties),
            first.properties.get(SHARDING_KEY) if len(packed) == 1 else None,
            _for_broker(topic, packed, batch),
            first.born_ms,
        )

    def _pack(
        self, message: Message, topic: str, request: SendMessageRequest, context: ProxyContext
    ) -> OutgoingMessage:
        if message.topic != request.messages[0].topic:
            raise ProxyRefused(Code.MESSAGE_CORRUPTED, "topic in message is not same")
        return pack(
            message,
            topic=topic,
            address=context.address,
            now_ms=self._cluster.client.now_ms(),
            config=self._config,
        )

    async def _publishing(self, topic: str) -> "_Publishing":
        route = await self._cluster.route(topic)
        cached = self._known.get(topic)
        if cached is None or cached.route is not route:
            cached = self._known[topic] = _Publishing(topic, route)
        return cached

    def _queue(self, publishing: "_Publishing", draft: SendDraft) -> MessageQueue:
        """Return the queue for a message."""
        queues = publishing.queues
        if not queues:
            raise refused_inside(Code.FORBIDDEN, "no writable queue")
        if draft.message_group:
            return queues[consistent_hash(string_hash(draft.message_group), len(queues))]
        return queues[next(self._turns) % len(queues)]

    async def _master(self, broker_name: str) -> str:
        address = await self._cluster.master(broker_name)
        if address is None:
            raise refused_inside(Code.BAD_REQUEST, f"cannot find broker {broker_name}")
        return address

    def _remember(self, topic: str, result: SendResult) -> str:
        """Return the id of the transaction that a half message begins."""
        try:
            _, log_offset = parse_offset_id(result.offset_msg_id)
        except StoreError as error:
            raise ProxyRefused(Code.INTERNAL_SERVER_ERROR, str(error)) from error
        # A broker of 4.9 sends no transaction id; in 5.x it is the id of the message.
        return self._transactions.add(
            topic,
            result.transaction_id or result.msg_id,
            broker_name=result.queue.broker_name,
            queue_offset=result.queue_offset,
            log_offset=log_offset,
        )


class _Answer:
    """Answers the call of a send that was posted.

    Args:
        call: the call.
    """

    __slots__ = ("_call",)

    def __init__(self, call: GrpcCall) -> None:
        self._call = call

    def done(self) -> bool:
        """Return False: the call itself knows whether its client still waits."""
        return False

    def set_result(self, result: SendResult) -> None:
        """Answer with the result of the send."""
        is_usual = not (result.transaction_id or result.recall_handle)
        if is_usual and result.status is SendStatus.SEND_OK:
            self._call.answer(stored_response(result.msg_id, result.queue_offset))
        else:
            self._call.answer(_response(result).encode())

    def set_exception(self, error: ClientError) -> None:
        """Answer with the reason why the message was not stored."""
        self._call.answer(SendMessageResponse(status=status_of(error)).encode())


def consistent_hash(seed: int, bucket_count: int) -> int:
    """Return the bucket of a number, as Guava's ``Hashing.consistentHash`` does.

    Args:
        seed: an int32, which Guava takes as a long.
        bucket_count: > 0.

    Source: com.google.common.hash.Hashing#consistentHash; J. Lamping, E. Veach, "A Fast, Minimal
    Memory, Consistent Hash Algorithm".
    """
    state, candidate = seed & _MASK, 0
    while True:
        state = (2862933555777941757 * state + 1) & _MASK
        drawn = ((state >> 33) + 1) / (1 << 31)
        following = int((candidate + 1) / drawn)
        if not 0 <= following < bucket_count:
            return candidate
        candidate = following


class _Publishing:
    """The writable queues of a topic, for as long as its route stays the same.

    Args:
        topic: the topic.
        route: its route.

    Attributes:
        queues: the queues, in the order that consistent hashes count them in.
        addresses: the address of each master by broker name.
    """

    def __init__(self, topic: str, route: TopicRouteData) -> None:
        self._topic = topic
        self.route = route
        self.addresses = routes.masters(route)
        queues = routes.publish_queues(topic, route)
        self.queues = sorted(each for each in queues if each.broker_name in self.addresses)
        self._commands: dict[LanguageCode, SendCommands] = {}

    def commands(self, language: LanguageCode) -> SendCommands:
        """Return the builder of sends for clients of one language; the topic is their group."""
        commands = self._commands.get(language)
        if commands is None:
            commands = SendCommands(ProducerSettings(), self._topic, language=language)
            self._commands[language] = commands
        return commands


def _for_broker(
    topic: str, messages: Sequence[OutgoingMessage], batch: bytes | None
) -> PackedMessage:
    """Return a message, or a batch with the body ``batch``, as a broker gets it.

    Raises:
        BadCall: the time of the message does not fit its field.
    """
    first = messages[0]
    if not -_LONG <= first.born_ms < _LONG:
        low, high = -_LONG, _LONG - 1
        raise BadCall(f"SendMessageV2.born_timestamp is {first.born_ms}, outside {low} to {high}")
    return PackedMessage(
        RequestCode.SEND_MESSAGE_V2 if batch is None else RequestCode.SEND_BATCH_MESSAGE,
        topic,
        first.body if batch is None else batch,
        0,
        first.sys_flag,
        in_java_order(first.properties),
        ",".join([each.properties[UNIQUE_KEY] for each in messages]),
    )


def stored_response(message_id: str, queue_offset: int) -> bytes:
    """Return the response to a send of a message that has an id: ``_response`` as bytes."""
    name = message_id.encode()
    entry = b"".join((_OK, _ID_TAG, varint(len(name)), name))
    if queue_offset:
        entry += _OFFSET_TAG + varint(queue_offset)
    return b"".join((_OK, _ENTRY_TAG, varint(len(entry)), entry))


def _response(result: SendResult) -> SendMessageResponse:
    entry = _entry(result)
    assert entry.status is not None
    code = entry.status.code
    return SendMessageResponse(status=Status(code=code, message=code.name), entries=[entry])


def _entry(result: SendResult) -> SendResultEntry:
    code = _CODES[result.status]
    if code is not Code.OK:
        text = f"send message failed, sendStatus={result.status}"
        return SendResultEntry(status=Status(code=code, message=text))
    return SendResultEntry(
        status=ok(),
        message_id=result.msg_id,
        transaction_id=result.transaction_id,
        offset=result.queue_offset,
        recall_handle=result.recall_handle,
    )


def _broker_in(recall_handle: str) -> str:
    try:
        return decode_recall(recall_handle).broker_name
    except BadHeader:
        raise refused_inside(Code.INTERNAL_SERVER_ERROR, "recall handle is invalid") from None
