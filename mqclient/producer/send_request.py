"""From a message, or a batch, to a send request: ids, properties, compression, header fields.

    Message --MessagePacker--> PackedMessage --SendCommands--> SEND_MESSAGE_V2

Rule: the request has the bytes that the Java producer would send for the same message, except
for ids and times. Nothing here sends or waits.

Source: client/impl/producer/DefaultMQProducerImpl.java#sendKernelImpl, client/Validators.java,
common/message/MessageBatch.java (4.9.7).
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from mqclient.argument_checks import check_range, check_text
from mqclient.errors import BadRequest
from mqclient.message import Message
from mqclient.namespace import is_retry_topic, wrap
from mqclient.producer.producer_settings import ProducerSettings
from remoting.bodies import MessageQueue
from remoting.codes import FLAG_ONEWAY, LanguageCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.fast_path import FrameWriter, send_frames, send_v2_ext
from remoting.frame import encode_frame
from storefmt.errors import StoreError
from storefmt.formats.batch import BatchEntry, join_batch
from storefmt.formats.msgid import UniqueIds
from storefmt.formats.properties import (
    INSTANCE_ID,
    PROPERTIES_SIZE_MAX,
    WAIT,
    format_properties,
    hashmap_order,
)
from storefmt.formats.sysflag import COMPRESSED, TRANSACTION_PREPARED, Compression
from storefmt.paths import check_topic_name

_KEY: Final = "\x03"
"""This stands for the unique key in a text that is reused for many messages."""
_TAGS_SIZE_USUAL: Final = 256
_BODIES: Final = bytes, bytearray, memoryview
_FRAMES_MAX: Final = 4_096
"""How many queues have their encoded names cached; one more queue empties the cache."""
THREAD_SIZE: Final = 256 * 1024
"""A larger body is compressed in a thread: 4 MiB would hold the event loop for 0.2 s."""
BATCH_ENTRY_SIZE: Final = 22
"""How many bytes a message of a batch has beside its body and properties, rounded up."""


class PackedMessage(NamedTuple):
    """A message, or a batch, that only needs a queue to be sent.

    Attributes:
        code: the request code.
        topic: with the namespace.
        body: as it is sent, compressed where ``sys_flag`` says so.
        flag: the application's number.
        sys_flag: bits for compression and transactions.
        properties: the text of all properties.
        unique_key: the id of the message; comma separated for a batch.
        reconsume_times: retry topics only: how often the message was delivered again.
        reconsume_count_max: retry topics only: how often it may be before it goes to %DLQ%group.
        is_to_compress: True for a body that is so large that it is compressed in a thread; see
            ``compressed``.
    """

    code: RequestCode
    topic: str
    body: bytes
    flag: int
    sys_flag: int
    properties: str
    unique_key: str
    reconsume_times: int = 0
    reconsume_count_max: int | None = None
    is_to_compress: bool = False


class MessagePacker:
    """Packs the messages of one producer.

    Args:
        ids: makes unique keys.
        settings: limits and compression.
        namespace: the namespace of the topics; it is also a property of each message.
    """

    def __init__(self, ids: UniqueIds, settings: ProducerSettings, *, namespace: str = "") -> None:
        self._ids = ids
        self._settings = settings
        self._namespace = namespace

    def single(
        self,
        message: Message,
        *,
        now_ms: int,
        system: Mapping[str, str] | None = None,
        code: RequestCode = RequestCode.SEND_MESSAGE_V2,
        prepared: bool = False,
    ) -> PackedMessage:
        """Return one message, packed.

        Args:
            message: as the application gave it.
            now_ms: the time, in ms since 1970; the unique key contains it.
            system: properties that are RocketMQ's own.
            code: the request code.
            prepared: True for the half message of a transaction.

        Raises:
            BadRequest: topic, body, flag or properties are not allowed.
        """
        self._check(message)
        topic = message.topic
        if self._namespace:
            topic = _checked_topic(wrap(self._namespace, topic))
            system = {**(system or {}), INSTANCE_ID: self._namespace}
        unique_key = self._ids.next(now_ms)
        properties = _properties_text(message, unique_key, system)
        body, sys_flag = message.body, 0
        if prepared:
            sys_flag |= TRANSACTION_PREPARED
        out = PackedMessage(code, topic, body, message.flag, sys_flag, properties, unique_key)
        if len(body) < self._settings.compress_msg_body_over_howmuch:
            return out
        if len(body) > THREAD_SIZE:
            return out._replace(is_to_compress=True)
        return compressed(out, self._settings)

    def batch(self, messages: Sequence[Message], *, now_ms: int) -> PackedMessage:
        """Return several messages, packed as a batch; they get consecutive queue offsets.

        Raises:
            BadRequest: there are no messages, they have different topics, one has a delay or a
                retry topic, or the batch is too large.
        """
        _check_batch(messages)
        entries, unique_keys = [], []
        for message in messages:
            self._check(message)
            unique_keys.append(self._ids.next(now_ms))
            properties = _properties_text(message, unique_keys[-1], None).encode()
            entries.append(BatchEntry(message.flag, message.body, properties))
        body = join_batch(entries)
        if len(body) > self._settings.max_message_size:
            raise BadRequest(
                f"batch of {len(messages)} messages has {len(body)} bytes, "
                f"at most {self._settings.max_message_size}",
                hint="send it in parts with send_batches",
            )
        own = {WAIT: "true" if messages[0].wait_stored else "false"}
        if self._namespace:
            own[INSTANCE_ID] = self._namespace
        return PackedMessage(
            RequestCode.SEND_BATCH_MESSAGE,
            _checked_topic(wrap(self._namespace, messages[0].topic)),
            body,
            0,
            0,
            format_properties({name: own[name] for name in hashmap_order(list(own))}),
            ",".join(unique_keys),
        )

    def split(self, messages: Sequence[Message]) -> Iterator[list[Message]]:
        """Yield the messages in order, in parts that fit into one batch each.

        A message that is too large for any batch gets its own part, and its send raises the error.
        """
        part: list[Message] = []
        part_size = 0
        for message in messages:
            size = self._batch_size(message)
            if part and part_size + size > self._settings.max_message_size:
                yield part
                part, part_size = [], 0
            part.append(message)
            part_size += size
        if part:
            yield part

    def _batch_size(self, message: Message) -> int:
        # All unique keys have the same length, so any key gives the right size.
        properties = format_properties(message.wire_properties("0" * 32)).encode()
        return BATCH_ENTRY_SIZE + len(message.body) + len(properties)

    def _check(self, message: Message) -> None:
        check_text("topic", message.topic)
        _checked_topic(message.topic)
        if not isinstance(message.body, _BODIES):
            raise BadRequest(
                f"body of a message to {message.topic} is {type(message.body).__name__}, not bytes",
                hint="use text.encode() for a text",
            )
        if not message.body:
            raise BadRequest(
                f"message to {message.topic} has no body", hint="send at least one byte"
            )
        check_range("flag", message.flag, low=-(2**31), high=2**31 - 1)
        if len(message.body) > self._settings.max_message_size:
            raise BadRequest(
                f"body of {len(message.body)} bytes, at most {self._settings.max_message_size}",
                code=ResponseCode.MESSAGE_ILLEGAL,
                hint="split it, or store it elsewhere and send a reference",
            )


class SendCommands:
    """Builds the send requests of one producer.

    Args:
        settings: the producer's settings.
        group: the producer group.
        language: the language of the client, as brokers see it.
    """

    def __init__(
        self,
        settings: ProducerSettings,
        group: str,
        *,
        language: LanguageCode = LanguageCode.PYTHON,
    ) -> None:
        self._settings = settings
        self._group = group
        self._language = language
        self._frames: dict[MessageQueue, FrameWriter] = {}

    def command(
        self, out: PackedMessage, queue: MessageQueue, *, now_ms: int, oneway: bool = False
    ) -> Command:
        """Return the request that stores a packed message in a queue.

        Args:
            out: the packed message.
            queue: the queue.
            now_ms: the time of the send, in ms since 1970.
            oneway: True when the broker must not answer.
        """
        return Command(
            out.code,
            flag=FLAG_ONEWAY if oneway else 0,
            language=self._language,
            ext=self._ext(out, queue, now_ms),
            body=out.body,
        )

    def frame(self, out: PackedMessage, queue: MessageQueue, opaque: int, *, now_ms: int) -> bytes:
        """Return the same request as the bytes of a frame.

        Args:
            out: the packed message.
            queue: the queue.
            opaque: the number of the request on its connection.
            now_ms: the time of the send, in ms since 1970.

        Raises:
            BadCall: the request cannot be encoded (an error of ``remoting``).
        """
        if out.code is not RequestCode.SEND_MESSAGE_V2 or out.reconsume_count_max is not None:
            command = self.command(out, queue, now_ms=now_ms)
            command.opaque = opaque
            return encode_frame(command)
        frames = self._frames.get(queue)
        if frames is None:
            if len(self._frames) >= _FRAMES_MAX:
                self._frames.clear()
            ext = self._ext(out, queue, now_ms)
            frames = self._frames[queue] = send_frames(ext, self._language)
        return frames.frame(
            opaque,
            sys_flag=out.sys_flag,
            born_ms=now_ms,
            flag=out.flag,
            properties=out.properties,
            body=out.body,
        )

    def _ext(self, out: PackedMessage, queue: MessageQueue, now_ms: int) -> dict[str, str]:
        ext = send_v2_ext(
            producer_group=self._group,
            topic=out.topic,
            default_topic=self._settings.create_topic_key,
            default_topic_queue_nums=self._settings.default_topic_queue_nums,
            queue_id=queue.queue_id,
            sys_flag=out.sys_flag,
            born_ms=now_ms,
            flag=out.flag,
            properties=out.properties,
            unit_mode=self._settings.unit_mode,
            batch=out.code == RequestCode.SEND_BATCH_MESSAGE,
            broker_name=queue.broker_name,
        )
        if out.reconsume_count_max is not None:
            ext["j"] = str(out.reconsume_times)
            ext["l"] = str(out.reconsume_count_max)
        return ext


def _lz4(body: bytes, level: int) -> bytes:
    import lz4.frame

    packed: bytes = lz4.frame.compress(body, compression_level=level)
    return packed


def _zstd(body: bytes, level: int) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=level).compress(body)


def compressed(out: PackedMessage, settings: ProducerSettings) -> PackedMessage:
    """Return a packed message with its body compressed; this may run in any thread."""
    kind = settings.compress_type
    return out._replace(
        body=_COMPRESSORS[kind](out.body, settings.compress_level),
        sys_flag=out.sys_flag | COMPRESSED | kind,
        is_to_compress=False,
    )


_COMPRESSORS: Final[dict[Compression, Callable[[bytes, int], bytes]]] = {
    Compression.ZLIB: zlib.compress,
    Compression.LZ4: _lz4,
    Compression.ZSTD: _zstd,
}


@lru_cache(maxsize=1024)
def _checked_topic(topic: str) -> str:
    try:
        return check_topic_name(topic)
    except StoreError as error:
        raise BadRequest(str(error)) from error


def _check_batch(messages: Sequence[Message]) -> None:
    if not isinstance(messages, Sequence):
        raise BadRequest(
            f"batch is a {type(messages).__name__}, not a list of messages",
            hint="give list(messages), or use send_batches",
        )
    if not messages:
        raise BadRequest("batch without messages")
    first = messages[0]
    for number, message in enumerate(messages):
        where = f"message {number} of the batch"
        if message.topic != first.topic:
            raise BadRequest(f"{where} is for topic {message.topic}, the first for {first.topic}")
        if is_retry_topic(message.topic):
            raise BadRequest(f"{where} is for a retry topic, which does not accept batches")
        if message.is_delayed:
            raise BadRequest(f"{where} has a delay, send it alone")
        if message.wait_stored != first.wait_stored:
            raise BadRequest(f"{where} and the first differ in wait_stored")


@lru_cache(maxsize=1024)
def _around_key(tags: str | None, wait_stored: bool) -> tuple[str, str]:
    """Return the properties text around the unique key of a message that has only tags."""
    message = Message("T", b"", tags=tags, wait_stored=wait_stored)
    before, _, behind = format_properties(message.wire_properties(_KEY)).partition(_KEY)
    return before, behind


def _properties_text(message: Message, unique_key: str, system: Mapping[str, str] | None) -> str:
    if not (message.keys or message.properties or message.is_delayed or system):
        # The usual message has a short tag, so its text is short and needs no check.
        tags = message.tags
        if tags is None or (type(tags) is str and len(tags) < _TAGS_SIZE_USUAL):
            before, behind = _around_key(tags, message.wait_stored)
            return before + unique_key + behind
    text = format_properties(message.wire_properties(unique_key, system=system))
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        wrong = text[error.start : error.end]
        raise BadRequest(f"{wrong!r} in the properties of a message is not UTF-8 text") from None
    if size > PROPERTIES_SIZE_MAX:
        raise BadRequest(
            f"properties of {size} bytes, at most {PROPERTIES_SIZE_MAX} are allowed",
            code=ResponseCode.MESSAGE_ILLEGAL,
            hint="put the data into the body",
        )
    return text
