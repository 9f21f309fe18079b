"""Convert messages between the protocols: to properties for a broker, and to gRPC for a client.

    grpc Message ── pack ──> body, sys flag, properties ──> SEND_MESSAGE_V2
    MessageExt ── to_grpc ──> grpc Message

Rule: a gRPC client's message has the properties that the proxy of 5.4.0 gives it, so that consumers
of every kind see the same. A property of RocketMQ's own is never a user property: it is refused in
a client's message, and left out of what a client receives. Refusals have the codes and texts of
5.4.0.

Source: proxy/grpc/v2/producer/SendMessageActivity.java, common/GrpcConverter.java,
common/message/MessageConst.java (5.4.0).
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mqclient.message import MessageExt
from mqclient.namespace import unwrap
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.grpc_validator import PRIORITY, SHARDING_KEY, has_control_character
from mqserver.proxy.protocol.codes import Code, DigestType, Encoding, MessageType
from mqserver.proxy.protocol.definitions import (
    DeadLetterQueue,
    Digest,
    Message,
    Resource,
    SystemProperties,
)
from mqserver.proxy.proxy_config import ProxyConfig
from remoting.receipt import FIRST_POP_TIME, POP_CK
from storefmt.formats import sysflag
from storefmt.formats.properties import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    DELAY,
    KEY_SEPARATOR,
    KEYS,
    PRODUCER_GROUP,
    RECONSUME_TIME,
    SYSTEM_NAMES,
    TAGS,
    TIMER_DEL_UNIQUE_KEY,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_NAMES,
    TIMER_OUT_MS,
    TIMER_ROLL_TIMES,
    TRANSACTION_PREPARED,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
    UNIQUE_KEY,
)

BORN_HOST: Final = "__BORNHOST"
BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
TRACE_CONTEXT: Final = "TRACE_CONTEXT"
DEAD_LETTER_TOPIC: Final = "DLQ_ORIGIN_TOPIC"
DEAD_LETTER_ID: Final = "DLQ_ORIGIN_MESSAGE_ID"
OWN_NAMES: Final = SYSTEM_NAMES | {
    POP_CK, "POP_CK_OFFSET", FIRST_POP_TIME, TRANSACTION_PREPARED_QUEUE_OFFSET, "DUP_INFO",
    "EXTEND_UNIQ_INFO", *TIMER_NAMES, TIMER_ENQUEUE_MS, TIMER_DEQUEUE_MS, TIMER_ROLL_TIMES,
    TIMER_OUT_MS, TIMER_DEL_UNIQUE_KEY, "TIMER_DELAY_LEVEL", BORN_HOST, BORN_TIMESTAMP,
    DEAD_LETTER_TOPIC, DEAD_LETTER_ID, "__CRC32#", PRIORITY,
}  # fmt: skip
"""The names of properties that are RocketMQ's own in 5.4.0."""
_DELAYS: Final = frozenset({DELAY, TIMER_DELIVER_MS, TIMER_DELAY_SEC})


class OutgoingMessage(NamedTuple):
    """A message as a broker gets it."""

    body: bytes
    sys_flag: int
    born_ms: int
    properties: dict[str, str]


def pack(
    message: Message, *, topic: str, address: str, now_ms: int, config: ProxyConfig
) -> OutgoingMessage:
    """Return what a broker gets for a client's message.

    Args:
        message: the message.
        topic: its topic, which is also the producer group.
        address: where the client is, ``host:port``.
        now_ms: the time, in ms since 1970.
        config: the limits.

    Raises:
        ProxyRefused: a part of the message is not allowed.
    """
    _check_body(message.body, config)
    system = message.system_properties or SystemProperties()
    properties = _own_properties(message, system, config)
    if not system.message_id.strip():
        raise ProxyRefused(Code.ILLEGAL_MESSAGE_ID, "message id cannot be empty")
    properties[UNIQUE_KEY] = system.message_id
    if system.message_type is MessageType.TRANSACTION:
        properties[TRANSACTION_PREPARED] = "true"
        if system.orphaned_transaction_recovery_duration is not None:
            seconds = _recovery_s(system.orphaned_transaction_recovery_duration, config)
            properties[CHECK_IMMUNITY_TIME_IN_SECONDS] = str(seconds)
    if system.delivery_timestamp is not None:
        _check_delay(system.delivery_timestamp - now_ms, config)
        properties[TIMER_DELIVER_MS] = str(system.delivery_timestamp)
    if system.priority is not None:
        properties[PRIORITY] = str(system.priority)
    properties[RECONSUME_TIME] = str(system.delivery_attempt or 0)
    properties[PRODUCER_GROUP] = topic
    if system.message_group:
        _check_message_group(system.message_group, config)
        properties[SHARDING_KEY] = system.message_group
    if system.trace_context:
        properties[TRACE_CONTEXT] = system.trace_context
    properties[BORN_HOST] = system.born_host if system.born_host.strip() else address
    born_ms = system.born_timestamp or 0
    properties[BORN_TIMESTAMP] = str(born_ms)
    return OutgoingMessage(message.body, _sys_flag(system), born_ms, properties)


def to_grpc(message: MessageExt) -> Message:
    """Return a stored message as gRPC clients receive it."""
    record, properties = message.record, message.properties
    body = record.body
    encoding = Encoding.IDENTITY
    if record.sys_flag & sysflag.COMPRESSED:
        # A gRPC client can inflate only zlib, whatever the name of the encoding says.
        if sysflag.compression_of(record.sys_flag) is sysflag.Compression.ZLIB:
            encoding = Encoding.GZIP
        else:
            body = message.body
    return Message(
        topic=Resource(name=unwrap("", message.topic)),
        user_properties={
            name: value for name, value in properties.items() if name not in OWN_NAMES
        },
        system_properties=_system_properties(message, properties, body, encoding),
        body=body,
    )


def _system_properties(
    message: MessageExt, properties: Mapping[str, str], body: bytes, encoding: Encoding
) -> SystemProperties:
    keys = properties.get(KEYS)
    origin, origin_id = properties.get(DEAD_LETTER_TOPIC), properties.get(DEAD_LETTER_ID)
    deliver = properties.get(TIMER_DELIVER_MS, "")
    priority = properties.get(PRIORITY, "")
    checksum = hashlib.md5(body, usedforsecurity=False).hexdigest().upper()
    return SystemProperties(
        tag=properties.get(TAGS),
        keys=keys.split(KEY_SEPARATOR) if keys is not None else [],
        message_id=properties.get(UNIQUE_KEY) or message.offset_msg_id,
        body_digest=Digest(type=DigestType.MD5, checksum=checksum),
        body_encoding=encoding,
        message_type=_type_of(properties),
        born_timestamp=message.born_ms,
        born_host=properties.get(BORN_HOST) or message.born_host.rpartition(":")[0],
        store_timestamp=message.store_ms,
        store_host=message.store_host,
        delivery_timestamp=int(deliver) if deliver.isdecimal() else None,
        priority=int(priority) if priority.isdecimal() else None,
        message_group=properties.get(SHARDING_KEY),
        receipt_handle=properties.get(POP_CK),
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        delivery_attempt=message.reconsume_times + 1,
        trace_context=properties.get(TRACE_CONTEXT),
        dead_letter_queue=DeadLetterQueue(topic=origin, message_id=origin_id)
        if origin is not None and origin_id is not None
        else None,
    )


def _type_of(properties: Mapping[str, str]) -> MessageType:
    if properties.get(TRANSACTION_PREPARED) == "true":
        return MessageType.TRANSACTION
    if not _DELAYS.isdisjoint(properties):
        return MessageType.DELAY
    return MessageType.FIFO if SHARDING_KEY in properties else MessageType.NORMAL


def _sys_flag(system: SystemProperties) -> int:
    flag = sysflag.COMPRESSED if system.body_encoding is Encoding.GZIP else 0
    if system.message_type is MessageType.TRANSACTION:
        flag |= sysflag.TRANSACTION_PREPARED
    return flag


def _own_properties(
    message: Message, system: SystemProperties, config: ProxyConfig
) -> dict[str, str]:
    """Return the user's properties, the tag and the keys, checked."""
    given, tag = message.user_properties, system.tag or ""
    if len(given) > config.user_property_max_num:
        raise ProxyRefused(
            Code.MESSAGE_PROPERTIES_TOO_LARGE,
            f"too many user properties, max is {config.user_property_max_num}",
        )
    for name, value in given.items():
        _check_property(name, value)
    _check_tag(tag)
    _check_keys(system.keys)
    texts = "".join((*given, *given.values(), tag, *system.keys))
    if len(texts.encode()) > config.max_user_property_size:
        raise ProxyRefused(
            Code.MESSAGE_PROPERTIES_TOO_LARGE,
            f"the total size of user property is too large, max is {config.max_user_property_size}",
        )
    properties = dict(given)
    if tag:
        properties[TAGS] = tag
    if system.keys:
        properties[KEYS] = KEY_SEPARATOR.join(system.keys)
    return properties


def _check_body(body: bytes, config: ProxyConfig) -> None:
    if config.enable_message_body_empty_check and not body:
        raise ProxyRefused(Code.MESSAGE_BODY_EMPTY, "message body cannot be empty")
    if 0 < config.max_message_size < len(body):
        raise ProxyRefused(
            Code.MESSAGE_BODY_TOO_LARGE,
            f"message body cannot exceed the max {config.max_message_size}",
        )


def _check_property(name: str, value: str) -> None:
    code = Code.ILLEGAL_MESSAGE_PROPERTY_KEY
    if name in OWN_NAMES:
        raise ProxyRefused(code, f"property is used by system: {name}")
    if has_control_character(name):
        raise ProxyRefused(code, "the key of property cannot contain control character")
    if has_control_character(value):
        raise ProxyRefused(code, "the value of property cannot contain control character")


def _check_tag(tag: str) -> None:
    if tag and not tag.strip():
        raise ProxyRefused(
            Code.ILLEGAL_MESSAGE_TAG, "tag cannot be the char sequence of whitespace"
        )
    if "|" in tag:
        raise ProxyRefused(Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'")
    if has_control_character(tag):
        raise ProxyRefused(Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain control character")


def _check_keys(keys: Sequence[str]) -> None:
    # There may be 16,000 of them, so they are checked one by one only if one of them is wrong.
    if not (any(map(str.isspace, keys)) or has_control_character("".join(keys))):
        return
    for key in keys:
        if key and not key.strip():
            raise ProxyRefused(
                Code.ILLEGAL_MESSAGE_KEY, "key cannot be the char sequence of whitespace"
            )
        if has_control_character(key):
            raise ProxyRefused(Code.ILLEGAL_MESSAGE_KEY, "key cannot contain control character")


def _check_message_group(group: str, config: ProxyConfig) -> None:
    code, size_max = Code.ILLEGAL_MESSAGE_GROUP, config.max_message_group_size
    if not group.strip():
        raise ProxyRefused(code, "message group cannot be the char sequence of whitespace")
    if size_max <= 0:
        return
    if len(group.encode()) >= size_max:
        raise ProxyRefused(code, f"message group exceed the max size {size_max}")
    if has_control_character(group):
        raise ProxyRefused(code, "message group cannot contain control character")


def _check_delay(delay_ms: int, config: ProxyConfig) -> None:
    if 0 < config.max_delay_time_ms < delay_ms:
        raise ProxyRefused(
            Code.ILLEGAL_DELIVERY_TIME,
            f"the max delay time of message is too large, max is {config.max_delay_time_ms}",
        )


def _recovery_s(recovery_ms: int, config: ProxyConfig) -> int:
    seconds = recovery_ms // 1000
    if 0 < config.max_transaction_recovery_s < seconds:
        raise ProxyRefused(
            Code.BAD_REQUEST,
            "the max transaction recovery time of message is too large, max is "
            f"{config.max_transaction_recovery_s}",
        )
    return seconds
