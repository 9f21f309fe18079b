"""Multi-dispatch: one record with entries in queues of several topics (light queues, LMQ).

    topic kd-lmq, queue 1, INNER_MULTI_DISPATCH=%LMQ%a,other
      log ──── one record, INNER_MULTI_QUEUE_OFFSET=7,3 written into its properties
      queues ─ kd-lmq/1   %LMQ%a/0 entry 7   other/1 entry 3

Rule: the record names the queue offsets of its copies, so recovery restores them there. With
enableLmq a name that begins with %LMQ% is a light queue and has only queue 0; for other
names the copy goes to the queue with the record's own queue id. A record that is stored
first under a system topic (delayed, half) is copied when it is stored again under its real
topic. Java copies it both times, so that consumers of light queues see it early and twice. The
messages of a batch are copied like single ones. Java copies them only if the producer sent
queue offsets as well, and then stores those.

Source: store/MultiDispatch.java, store/ConsumeQueue.java#multiDispatchLmqQueue,
store/DefaultMessageStore.java#checkLmqMessage.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_table import QueueTable
from mqserver.store.results import PutRun, PutStatus, RunMessage
from mqserver.store.store_config import StoreConfig
from storefmt.dispatch.record_entries import copy_queue_id, copy_topics, may_have_copies
from storefmt.errors import BadCall
from storefmt.formats.message import TOPIC_SIZE_V1_MAX
from storefmt.formats.properties import (
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
    WAIT,
    in_java_order,
    parse_properties,
)
from storefmt.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC, is_light

_WAITING_TOPICS: Final = frozenset({HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC})
_SEPARATOR: Final = ","


QueueKey = tuple[str, int]


class MultiDispatch:
    """Finds the queues that the records of one store are copied to."""

    def __init__(self, config: StoreConfig, table: QueueTable) -> None:
        self._config = config
        self._table = table
        # A negative number means that light queues are not counted yet.
        self._light_count = -1

    def prepare(
        self, topic: str, queue_id: int, properties: bytes, given: Mapping[QueueKey, int]
    ) -> tuple[PutStatus, bytes, list[ConsumeQueue]]:
        """Find the queues that a message is copied to, and write them into its properties.

        Args:
            topic, queue_id: the message's own queue.
            properties: its properties as they would be stored without copies.
            given: number of entries by queue that earlier messages of the same run will get.
                Nothing else may be put before the message.

        Returns:
            PUT_OK, or why the message is refused; the properties to store; and the queues that
            get a copy, each once.
        """
        if not may_have_copies(properties):
            return PutStatus.PUT_OK, properties, []
        named = parse_properties(properties)
        text = named.get(INNER_MULTI_DISPATCH, "")
        if topic in _WAITING_TOPICS or not text.strip():
            if named.pop(INNER_MULTI_QUEUE_OFFSET, None) is not None:
                # These offsets belong to the copies of an earlier record, or are a producer's.
                properties = _stored(named)
            return PutStatus.PUT_OK, properties, []
        queues: dict[QueueKey, ConsumeQueue] = {}
        offsets: list[int] = []
        for name in copy_topics(named):
            key = name, copy_queue_id(name, queue_id, enable_lmq=self._config.enable_lmq)
            queue = self._table.find(*key)
            if queue is None:
                status = self._refusal(name)
                if status is not PutStatus.PUT_OK:
                    return status, properties, []
                try:
                    queue = self._table.make(*key)
                except BadCall:
                    return PutStatus.MESSAGE_ILLEGAL, properties, []
                self._light_count += is_light(name)
            offsets.append(queue.next_offset + given.get(key, 0))
            queues[key] = queue
        # Its own queue has the message anyway.
        queues.pop((topic, queue_id), None)
        named[INNER_MULTI_QUEUE_OFFSET] = _SEPARATOR.join(map(str, offsets))
        named.pop(WAIT, None)
        return PutStatus.PUT_OK, _stored(named), list(queues.values())

    def prepare_run(self, run: PutRun) -> tuple[PutStatus, PutRun, list[list[ConsumeQueue]]]:
        """Do the same for each message of a run; return a run with the new properties."""
        given: Counter[QueueKey] = Counter()
        messages: list[RunMessage] = []
        queues: list[list[ConsumeQueue]] = []
        for message in run.messages:
            status, properties, copies = self.prepare(
                run.topic, run.queue_id, message.properties, given
            )
            if status is not PutStatus.PUT_OK:
                return status, run, []
            messages.append(message._replace(properties=properties))
            queues.append(copies)
            given.update([(run.topic, run.queue_id), *(queue.key for queue in copies)])
        return PutStatus.PUT_OK, replace(run, messages=messages), queues

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


def _stored(named: dict[str, str]) -> bytes:
    # Java's map also held WAIT, which all of its clients send; that affects the order.
    return in_java_order(named, peak_count=len(named) + 1).encode()
