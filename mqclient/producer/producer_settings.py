"""The settings of a producer, with RocketMQ's names and defaults.

Source: client/producer/DefaultMQProducer.java (4.9.7).
"""

from dataclasses import dataclass
from typing import Final

from mqclient.argument_checks import check_kind, check_range
from mqclient.client.routes import TEMPLATE_QUEUE_COUNT
from mqclient.errors import RETRIABLE
from mqclient.message import BODY_SIZE_MAX
from storefmt.formats.sysflag import Compression
from storefmt.names import AUTO_CREATE_TOPIC

_RANGES: Final = {
    "send_msg_timeout_ms": (1, 2**31),
    "compress_msg_body_over_howmuch": (1, 2**31 - 1),
    "compress_level": (0, 9),
    "retry_times_when_send_failed": (0, 1000),
    "retry_times_when_send_async_failed": (0, 1000),
    "retry_backoff_ms": (0, 60_000),
    "max_in_flight": (1, 1_000_000),
    "max_message_size": (1, 2**31 - 1),
    "default_topic_queue_nums": (1, 1000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """How a producer works; every attribute is one of Java's ``DefaultMQProducer``.

    Attributes:
        send_msg_timeout_ms: the limit for all attempts of a message together; None means the
            client's ``timeout_s``.
        compress_msg_body_over_howmuch: bodies of this many bytes or more are compressed.
        compress_type: the algorithm; brokers and consumers before 4.9.4 read only ZLIB.
        compress_level: 0 to 9; a higher level compresses better and takes longer.
        retry_backoff_ms: the pause before a broker is tried again; it doubles up to 1 s, and
            attempts follow until the time limit. 0 is Java's rule: attempts follow at once, two by
            default; a chosen queue gets one from `send`, and `send_async` tries again only where
            no broker answered.
        retry_times_when_send_failed: how many attempts may follow the first, at another broker
            where there is one; None means as many as the time limit allows (2 by Java's rule).
        retry_times_when_send_async_failed: the same for `send_async`.
        max_in_flight: how many messages of `send_soon` may be under way; the next one waits.
        retry_response_codes: the error codes after which there is another attempt: those of Java,
            and those of a busy broker, which has not stored the message. A missing permission or a
            wrong unit is tried again at most twice.
        retry_another_broker_when_not_store_ok: True tries again also when the message is
            stored but the broker's disk or slave is late; the message may then be stored twice.
        max_message_size: the limit on a body or a batch, in bytes.
        create_topic_key: the topic whose settings a new topic gets.
        default_topic_queue_nums: how many queues a new topic gets.
        send_latency_fault_enable: True leaves out a broker for a while when it answered slowly.
        unit_mode: True when the producer belongs to a unit.
    """

    send_msg_timeout_ms: int | None = None
    compress_msg_body_over_howmuch: int = 4096
    compress_type: Compression = Compression.ZLIB
    compress_level: int = 5
    retry_backoff_ms: int = 100
    retry_times_when_send_failed: int | None = None
    retry_times_when_send_async_failed: int | None = None
    max_in_flight: int = 1000
    retry_response_codes: frozenset[int] = RETRIABLE
    retry_another_broker_when_not_store_ok: bool = False
    max_message_size: int = BODY_SIZE_MAX
    create_topic_key: str = AUTO_CREATE_TOPIC
    default_topic_queue_nums: int = TEMPLATE_QUEUE_COUNT
    send_latency_fault_enable: bool = False
    unit_mode: bool = False

    def __post_init__(self) -> None:
        """Check every setting.

        Raises:
            BadRequest: a number is out of its range, or the compression is not a ``Compression``.
        """
        check_kind("compress_type", self.compress_type, Compression)
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value is not None:
                check_range(name, value, low=low, high=high)
