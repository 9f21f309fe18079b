"""Multi-dispatch: one record with entries in queues of several topics (light queues, LMQ).

    topic kd-lmq, queue 1, INNER_MULTI_DISPATCH=%LMQ%a,other
      log ──── one record, INNER_MULTI_QUEUE_OFFSET=7,3 written into its properties
      queues ─ kd-lmq/1   %LMQ%a/0 entry 7   other/1 entry 3

Rule: the record names the queue offsets of its copies, so recovery restores them there. With
enableLmq a name that begins with %LMQ% is a light queue and has only queue 0; for other
names the copy goes to the queue with the record's own queue id. A record that is stored
first under a system topic (delayed, half) is copied when it is stored again under its real
topic. Java copies it both times, so that consumers of light queues see it early and twice.

Source: store/MultiDispatch.java, store/ConsumeQueue.java#multiDispatchLmqQueue,
store/DefaultMessageStore.java#checkLmqMessage.
"""

from typing import Final

from server.store.config import StoreConfig
from server.store.queues.queue import ConsumeQueue
from server.store.queues.queue_table import QueueTable
from server.store.results import PutMessage, PutStatus
from storefmt.errors import BadCall
from storefmt.formats.message import TOPIC_SIZE_V1_MAX
from storefmt.formats.properties import (
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
    WAIT,
    format_properties,
    hashmap_order,
    parse_properties,
)
from storefmt.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC, is_light

_MARK: Final = f"{INNER_MULTI_DISPATCH}\x01".encode()
_WAITING_TOPICS: Final = frozenset({HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC})
_SEPARATOR: Final = ","


def copy_queue_id(config: StoreConfig, name: str, queue_id: int) -> int:
    """Return the queue id of a copy, for a record in queue ``queue_id`` of its own topic."""
    return 0 if config.enable_lmq and is_light(name) else queue_id


def may_have_copies(properties: bytes) -> bool:
    """Tell by a quick search of a record's properties whether to call ``copy_offsets``."""
    # ``in`` would first try the mark as a number, and raise and drop an error for each record.
    return properties.find(_MARK) >= 0


def copy_offsets(properties: bytes) -> dict[str, int]:
    """Return the queue offset of each copy by topic, as the properties of a record name them."""
    if not may_have_copies(properties):
        return {}
    named = parse_properties(properties)
    names = named.get(INNER_MULTI_DISPATCH, "").split(_SEPARATOR)
    offsets = named.get(INNER_MULTI_QUEUE_OFFSET, "").split(_SEPARATOR)
    if len(names) != len(offsets):
        return {}
    pairs = zip(names, offsets, strict=True)
    return {name: int(text) for name, text in pairs if text.isdecimal()}


class Copies:
    """Finds the queues that the records of one store are copied to."""

    def __init__(self, config: StoreConfig, table: QueueTable) -> None:
        self._config = config
        self._table = table
        # A negative number means that light queues are not counted yet.
        self._light_count = -1

    def prepare(self, message: PutMessage) -> tuple[PutStatus, list[ConsumeQueue]]:
        """Return the queues that a message is copied to, and write them into its properties.

        The written queue offsets are the current ones, so nothing may be put before the message.
        """
        if _MARK not in message.properties:
            return PutStatus.PUT_OK, []
        named = parse_properties(message.properties)
        text = named.get(INNER_MULTI_DISPATCH, "")
        if message.topic in _WAITING_TOPICS or not text.strip():
            if named.pop(INNER_MULTI_QUEUE_OFFSET, None) is not None:
                # These offsets belong to the copies of an earlier record.
                message.properties = _in_java_order(named)
            return PutStatus.PUT_OK, []
        queues: list[ConsumeQueue] = []
        for name in text.rstrip(_SEPARATOR).split(_SEPARATOR):
            key = name, copy_queue_id(self._config, name, message.queue_id)
            queue = self._table.find(*key)
            if queue is None:
                status = self._refusal(name)
                if status is not PutStatus.PUT_OK:
                    return status, []
                try:
                    queue = self._table.make(*key)
                except BadCall:
                    return PutStatus.MESSAGE_ILLEGAL, []
                self._light_count += is_light(name)
            queues.append(queue)
        named[INNER_MULTI_QUEUE_OFFSET] = _SEPARATOR.join(
            str(queue.next_offset) for queue in queues
        )
        named.pop(WAIT, None)
        message.properties = _in_java_order(named)
        return PutStatus.PUT_OK, list(dict.fromkeys(queues))

    def _refusal(self, name: str) -> PutStatus:
        """Return PUT_OK if a queue of this name may be created, else why not."""
        if not name or len(name.encode()) > TOPIC_SIZE_V1_MAX:
            return PutStatus.MESSAGE_ILLEGAL
        if self._config.enable_lmq and is_light(name):
            light_max = self._config.max_lmq_consume_queue_num
            if self._light_count < 0 or self._light_count >= light_max:
                # Some light queues may have been deleted since they were counted.
                self._light_count = sum(is_light(topic) for topic, _, _ in self._table.rows())
            if self._light_count >= light_max:
                return PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED
        return PutStatus.PUT_OK


def _in_java_order(named: dict[str, str]) -> bytes:
    # Java's map also held WAIT, which all of its clients send; that affects the order.
    order = hashmap_order(list(named), peak_count=len(named) + 1)
    return format_properties({name: named[name] for name in order}).encode()
