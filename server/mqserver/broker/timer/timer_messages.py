"""The properties of timer messages, and what a message becomes on its way through the wheel.

    sent        TIMER_DELAY_SEC, else TIMER_DELAY_MS, else TIMER_DELIVER_MS
    waits in    rmq_sys_wheel_timer, queue 0    + TIMER_OUT_MS, REAL_TOPIC, REAL_QID
    delivered   the real topic and queue        + TIMER_ENQUEUE_MS, TIMER_DEQUEUE_MS
    recalled by a message of the same slot with TIMER_DEL_UNIQKEY

Rule: TIMER_OUT_MS is the last whole tick before the time of delivery, and a slot is delivered when
its tick has ended. So no message is early, and one is late by less than a tick. A message whose
time is past is delivered at once, and one with a delay level is not a timer message. Delivered
messages keep REAL_TOPIC and REAL_QID. Properties have the order of 5.4.0, which reads them into a
``HashMap`` of 128 buckets, and its separator at the end.

Source: broker/util/HookUtils.java#checkIfTimerMessage, #transformTimerMessage,
store/timer/TimerMessageStore.java#convert, broker/processor/RecallMessageProcessor.java (5.4.0).
"""

import logging
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from mqserver.broker.stored_properties import put_again
from mqserver.runtime.request import RequestRefused
from mqserver.store.results import PutMessage
from mqserver.store.store_config import StoreConfig
from remoting.codes import LaterResponseCode, ResponseCode
from remoting.recall import RecallHandle
from storefmt.errors import BadCall
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import Record
from storefmt.formats.properties import (
    PROPERTIES_SIZE_MAX,
    PROPERTY_SEPARATOR,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TAGS,
    TIMER_DEL_UNIQUE_KEY,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_NAMES,
    TIMER_OUT_MS,
    TIMER_ROLL_TIMES,
    UNIQUE_KEY,
    in_java_order,
    index_keys,
    parse_properties,
)
from storefmt.formats.timer import SLOT_COUNT
from storefmt.names import HALF_TOPIC, OP_HALF_TOPIC, RETRY_PREFIX, SCHEDULE_TOPIC, TIMER_TOPIC
from storefmt.paths import GROUP_SIZE_MAX, check_topic_name

LOG = logging.getLogger(__name__)

SPARE_SLOTS: Final = 60
"""Slots of a round that are never used, so that two rounds do not meet."""
AT_ONCE_MS: Final = (1 << 63) - 1
"""TIMER_ENQUEUE_MS of a message that was due before it could enter the wheel."""
RECALL_TAG: Final = "_RECALL_TAG_"

_TIMER_BYTES: Final = TIMER_TOPIC.encode()
_JAVA_PEAK: Final = 96
"""Most properties of a Java map of 128 buckets, which is how 5.4.0 reads properties."""
_ADDED_SIZE: Final = 128
"""Bytes that delivery and rolling may add to the properties."""
_LONG: Final = re.compile(r"[+-]?[0-9]{1,19}")
_NEVER_REAL: Final = frozenset({HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC})
_HOUR_MS: Final = 3_600_000
_BODY_OF_RECALL: Final = b"0"


class TimerMessage(NamedTuple):
    """A record of rmq_sys_wheel_timer, read."""

    record: Record
    named: dict[str, str]
    out_ms: int
    """The slot that it waits for, as epoch ms."""
    topic: str
    """The topic that it will be delivered to."""
    queue_id: int

    @property
    def deletes(self) -> str | None:
        """Unique key of the message that it recalls; None for an ordinary one."""
        return self.named.get(TIMER_DEL_UNIQUE_KEY)

    @property
    def roll_count(self) -> int:
        """How often it was stored again because it was due later than the wheel reaches."""
        text = self.named.get(TIMER_ROLL_TIMES, "0")
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


class Recalls:
    """The messages that recalls name.

    A recall counts for the topic that it was sent to, so that no producer takes back messages of a
    topic to which they may not send. Late 5.x clients write the key as ``topic+key``.
    """

    def __init__(self) -> None:
        self._keys: set[tuple[str, str]] = set()

    def add(self, topic: str, deletes: str) -> None:
        """Note a recall.

        Args:
            topic: the topic that the recall was sent to.
            deletes: its TIMER_DEL_UNIQKEY.
        """
        self._keys.add((topic, deletes.removeprefix(f"{topic}+")))

    def has(self, timer: TimerMessage) -> bool:
        """Return whether a message was recalled."""
        key = timer.named.get(UNIQUE_KEY)
        return key is not None and (timer.topic, key.removeprefix(f"{timer.topic}+")) in self._keys


def timer_message(record: Record) -> TimerMessage | None:
    """Return what a waiting record says; None if it names no time, topic or queue."""
    named = parse_properties(record.properties_raw)
    out_ms = _long(named.get(TIMER_OUT_MS, ""))
    topic, queue_id = named.get(REAL_TOPIC, ""), named.get(REAL_QUEUE_ID, "")
    if out_ms is None or topic in _NEVER_REAL or not queue_id.isdecimal() or len(queue_id) > 9:
        return None
    try:
        check_topic_name(topic, size_max=GROUP_SIZE_MAX)
    except BadCall:
        return None
    return TimerMessage(record, named, out_ms, topic, int(queue_id))


def read_timer_message(record: Record) -> TimerMessage | None:
    """Return what a record of the queue says; log an error if it names no time or destination."""
    message = timer_message(record)
    if message is None:
        LOG.error(
            "skipped the timer message at log offset %d, which names no time, topic or queue",
            record.log_offset,
        )
    return message


class TimerRules:
    """Decides which messages of clients wait in the wheel.

    Args:
        config: the settings of the store.
        on_use: called for each message that will wait.
    """

    def __init__(self, config: StoreConfig, on_use: Callable[[], None] = lambda: None) -> None:
        self._config = config
        self._on_use = on_use

    def apply(self, message: PutMessage, named: Mapping[str, str], *, now_ms: int) -> str | None:
        """Let a message without delay level wait in the wheel if its properties ask for it.

        Args:
            message: changed in place.
            named: its properties in the map's insertion order, WAIT included.
            now_ms: delays count from here.

        Returns:
            TIMER_OUT_MS of the message; None if it is not a timer message, or its time is past.

        Raises:
            RequestRefused: the time is not a number, or too far away, or the message takes back
                another one whose time is past; or timerWheelEnable is false.
        """
        asked = next((name for name in TIMER_NAMES if name in named), None)
        if asked is None or TIMER_OUT_MS in named:
            return None
        if not self._config.timer_wheel_enable:
            text = "accurate timer message is not enabled, timerWheelEnable is false"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
        due_ms = self._due_ms(asked, named[asked], now_ms)
        if due_ms is None or due_ms > now_ms + self._delay_max_ms:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, self._illegal)
        if due_ms <= now_ms:
            if TIMER_DEL_UNIQUE_KEY in named:
                raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, self._illegal)
            return None
        out_ms = str(slot_ms(due_ms, precision_ms=self._config.timer_precision_ms))
        changed = {
            **named,
            TIMER_OUT_MS: out_ms,
            REAL_TOPIC: message.topic,
            REAL_QUEUE_ID: str(message.queue_id),
        }
        message.properties = encode_properties(changed)
        if len(message.properties) > PROPERTIES_SIZE_MAX - _ADDED_SIZE:
            # It could not be delivered later, when more properties are added.
            text = f"the properties of a timer message have more than {PROPERTIES_SIZE_MAX} bytes"
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, text)
        message.topic, message.topic_bytes, message.queue_id = TIMER_TOPIC, _TIMER_BYTES, 0
        self._on_use()
        return out_ms

    @property
    def _delay_max_ms(self) -> int:
        return self._config.timer_max_delay_s * 1000

    @property
    def _illegal(self) -> str:
        return (
            "timer message illegal, the delay time should not be bigger than the max delay "
            f"{self._delay_max_ms}ms; or if set del msg, the delay time should be bigger than the "
            "current time"
        )

    @staticmethod
    def _due_ms(name: str, text: str, now_ms: int) -> int | None:
        value = _long(text)
        if value is None or name == TIMER_DELIVER_MS:
            return value
        return now_ms + value * (1000 if name == TIMER_DELAY_SEC else 1)

    def recall(
        self,
        handle: RecallHandle,
        *,
        producer_group: str | None,
        born_host: bytes,
        store_host: bytes,
        now_ms: int,
    ) -> PutMessage:
        """Return the message that takes back the one that a handle names.

        Raises:
            RequestRefused: its time is past or too far away.
        """
        due_ms = _long(handle.timestamp)
        if due_ms is None or not 0 < due_ms - now_ms < self._delay_max_ms:
            raise refused_recall("timestamp invalid")
        named = {
            # Java's tags come first, because they are set before the others.
            TAGS: RECALL_TAG,
            TIMER_DEL_UNIQUE_KEY: handle.unique_key,
            UNIQUE_KEY: handle.unique_key,
            TIMER_DELIVER_MS: handle.timestamp,
            "BORN_TIMESTAMP": str(now_ms),
            "TRACE_CONTEXT": "",
        }
        if producer_group is not None:
            named["PGROUP"] = producer_group
        message = PutMessage(
            topic=handle.topic,
            topic_bytes=handle.topic.encode(),
            queue_id=0,
            body=_BODY_OF_RECALL,
            properties=b"",
            born_ms=now_ms,
            born_host=born_host,
            store_host=store_host,
            tags_code=tags_code(RECALL_TAG),
            keys=index_keys(named),
        )
        if self.apply(message, named, now_ms=now_ms) is None:
            raise refused_recall("timestamp invalid")
        # Unlike that of a client's message, this map of Java has 16 buckets.
        out_ms = parse_properties(message.properties)[TIMER_OUT_MS]
        named |= {TIMER_OUT_MS: out_ms, REAL_TOPIC: handle.topic, REAL_QUEUE_ID: "0"}
        message.properties = encode_properties(named, peak_count=0)
        return message


def slot_ms(due_ms: int, *, precision_ms: int) -> int:
    """Return the last whole tick before ``due_ms``, at whose end the message is delivered."""
    return (due_ms - 1) // precision_ms * precision_ms


def roll(out_ms: int, write_ms: int, *, config: StoreConfig) -> tuple[int, bool]:
    """Return the slot for a message, and whether it is stored again then, as in 5.4.0.

    Args:
        out_ms: the slot that it asks for, as epoch ms.
        write_ms: the present tick, as epoch ms.
        config: the settings of the store.
    """
    window, tick_ms = _window_slots(config), config.timer_precision_ms
    ahead_ms, window_ms = out_ms - write_ms, window * tick_ms
    if ahead_ms < window_ms:
        return out_ms, False
    if ahead_ms - window_ms < window // 3 * tick_ms:
        # The last part would be short: cut the way in two halves.
        return write_ms + window // 2 * tick_ms, True
    return write_ms + window_ms, True


def _window_slots(config: StoreConfig) -> int:
    window, most = config.timer_roll_window_slot, SLOT_COUNT - SPARE_SLOTS
    if not 2 <= window <= most:
        window = most
    kept_ms = config.file_reserved_time_h * _HOUR_MS
    return min(window, max(2, kept_ms * 2 // 3 // config.timer_precision_ms))


def encode_properties(named: Mapping[str, str], *, peak_count: int = _JAVA_PEAK) -> bytes:
    """Return properties as 5.4.0 stores them.

    Args:
        named: the properties in the map's insertion order.
        peak_count: see ``hashmap_order``.
    """
    return (in_java_order(named, peak_count=peak_count) + PROPERTY_SEPARATOR).encode()


def delivery(timer: TimerMessage, *, enqueue_ms: int, now_ms: int) -> PutMessage:
    """Return a message whose time has come, under its real topic.

    Args:
        timer: the message as it waits.
        enqueue_ms: when it entered the wheel; ``AT_ONCE_MS`` if it did not.
        now_ms: the present time.
    """
    named = {
        **timer.named,
        TIMER_ENQUEUE_MS: str(enqueue_ms),
        TIMER_DEQUEUE_MS: str(now_ms),
    }
    return _waited(timer.record, named, topic=timer.topic, queue_id=timer.queue_id)


def roll_message(timer: TimerMessage, *, enqueue_ms: int, now_ms: int) -> PutMessage:
    """Return the same message as it waits on; the arguments are those of ``delivery``."""
    named = {
        **timer.named,
        TIMER_ENQUEUE_MS: str(enqueue_ms),
        TIMER_ROLL_TIMES: str(timer.roll_count + 1),
        TIMER_DEQUEUE_MS: str(now_ms),
    }
    return _waited(timer.record, named, topic=TIMER_TOPIC, queue_id=0)


def _waited(record: Record, named: dict[str, str], *, topic: str, queue_id: int) -> PutMessage:
    properties = encode_properties(named)
    return put_again(record, named, topic=topic, queue_id=queue_id, properties=properties)


def recall_handle(message: PutMessage, out_ms: str, *, broker_name: str) -> str | None:
    """Return the handle for a message that waits; None for the retry of a group."""
    named = parse_properties(message.properties)
    topic = named[REAL_TOPIC]
    if topic.startswith(RETRY_PREFIX):
        return None
    # Java has one ms more, so that the slot of the recall is the same again.
    timestamp = str(int(out_ms) + 1)
    return RecallHandle(topic, broker_name, timestamp, named.get(UNIQUE_KEY, "null")).encode()


def refused_recall(why: str) -> RequestRefused:
    """Return the error of a recall that a wrong handle asks for."""
    return RequestRefused(LaterResponseCode.ILLEGAL_OPERATION, f"recall failed, {why}")


def _long(text: str) -> int | None:
    """Return the int64 that Java reads from a text; None if it is not a number."""
    if _LONG.fullmatch(text) is None:
        return None
    value = int(text)
    return value if -(1 << 63) <= value < 1 << 63 else None
