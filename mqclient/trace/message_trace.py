"""Message traces: records of sends, consumption and transactions, stored in a topic of their own.

    trace = MessageTrace(client)
    producer.register_send_hook(trace)
    consumer.register_consume_hook(trace)

    event --> records --> at most 100, 128,000 characters or 0.5 s --> RMQ_SYS_TRACE_TOPIC

Messages of the trace topic are not traced, nor are those of a broker that asks for no traces
(TRACE_ON=false). Traces name topics and groups without the namespace.

Rule: traces never delay what they describe. A task of their own sends them; when 2,048 of them
wait, further ones are dropped and counted.

Source: client/trace/AsyncTraceDispatcher.java, client/trace/hook/*TraceHookImpl.java (4.9.7).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from typing import Final

from mqclient.client.instance import MQClient
from mqclient.consumer.state.consume_hooks import ConsumeEvent, ConsumeReturnType
from mqclient.errors import ClientError
from mqclient.message import Message, MessageExt
from mqclient.namespace import unwrap
from mqclient.producer.producer import InnerProducer
from mqclient.producer.send_hooks import EndTransactionEvent, SendEvent
from mqclient.producer.send_result import SendStatus
from mqclient.trace.trace_data import MessageType, Trace, keys_of, record
from storefmt.formats import sysflag
from storefmt.formats.properties import MSG_REGION, TRACE_ON
from storefmt.names import TRACE_TOPIC

LOG = logging.getLogger(__name__)

WAITING_MAX: Final = 2048
BATCH_COUNT: Final = 100
BATCH_SIZE: Final = 128_000
"""A trace message with this many characters is full, and the next one begins."""
PAUSE_S: Final = 0.5
DEFAULT_REGION: Final = "DefaultRegion"

_RETURN_CODE: Final = {returned: code for code, returned in enumerate(ConsumeReturnType)}


class MessageTrace:
    """Traces the producers and consumers that register it as a hook.

    Args:
        client: the connections.
        topic: the topic of the traces (customizedTraceTopic).

    Attributes:
        dropped: how many traces were dropped because too many waited.
    """

    def __init__(self, client: MQClient, *, topic: str = TRACE_TOPIC) -> None:
        self._client = client
        self._topic = topic
        self._producer = InnerProducer(client, "_INNER_TRACE_PRODUCER")
        self._waiting: deque[Trace] = deque()
        self._task: asyncio.Task[None] | None = None
        self.dropped = 0

    async def flush(self) -> None:
        """Send all traces that wait; those that a broker refuses are logged and lost."""
        while self._waiting:
            region = self._waiting[0].region
            texts: list[str] = []
            keys: set[str] = set()
            size = 0
            while (
                self._waiting
                and self._waiting[0].region == region
                and len(texts) < BATCH_COUNT
                and size < BATCH_SIZE
            ):
                trace = self._waiting.popleft()
                texts.append(trace.text)
                keys |= trace.keys
                size += len(trace.text)
            message = Message(self._topic, "".join(texts).encode(), keys=sorted(keys))
            try:
                await self._producer.send(message)
            except ClientError as error:
                LOG.warning("%d traces are lost: %s", len(texts), error)

    async def shutdown(self) -> None:
        """Send all traces that wait, and stop."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        await self.flush()

    # The following methods are those of a send hook, a consume hook and a transaction hook.

    def send_before(self, event: SendEvent) -> None:
        """Do nothing, because a send is traced when it has ended."""

    def send_after(self, event: SendEvent) -> None:
        """Trace a send that was answered."""
        result = event.result
        if result is None or not result.region_id or not result.trace_on:
            return
        cost_ms = event.elapsed_ms // max(1, len(event.messages))
        kind = MessageType.NORMAL
        if event.out.sys_flag & sysflag.TRANSACTION_MASK == sysflag.TRANSACTION_PREPARED:
            kind = MessageType.TRANSACTION_HALF
        elif event.messages[0].is_delayed:
            kind = MessageType.DELAY
        first = event.messages[0]
        text = record(
            "Pub",
            event.started_ms,
            result.region_id,
            self._bare(event.group),
            event.queue.topic,
            result.msg_id,
            first.tags or "",
            first.keys_text,
            event.address,
            len(event.out.body),
            cost_ms,
            kind,
            result.offset_msg_id,
            result.status is SendStatus.SEND_OK,
        )
        keys = keys_of(result.msg_id, first.keys_text)
        self._add(event.queue.topic, Trace(result.region_id, text, keys))

    def consume_before(self, event: ConsumeEvent) -> None:
        """Trace that a listener is about to get messages."""
        request_id = self._client.unique_ids.next(event.started_ms)
        event.notes["request"] = request_id
        for message, region, msg_id, keys in _traced(event):
            text = record(
                "SubBefore",
                event.started_ms,
                region,
                self._bare(event.group),
                request_id,
                msg_id,
                message.reconsume_times,
                keys,
            )
            self._add(message.topic, Trace(region, text, keys_of(msg_id, keys)))

    def consume_after(self, event: ConsumeEvent) -> None:
        """Trace how a call of a listener ended."""
        cost_ms = event.elapsed_ms // max(1, len(event.messages))
        for message, region, msg_id, keys in _traced(event):
            text = record(
                "SubAfter",
                event.notes.get("request", ""),
                msg_id,
                cost_ms,
                event.success,
                keys,
                _RETURN_CODE[event.returned],
                event.started_ms + event.elapsed_ms,
                self._bare(event.group),
            )
            self._add(message.topic, Trace(region, text, keys_of(msg_id, keys)))

    def end_transaction(self, event: EndTransactionEvent) -> None:
        """Trace a decision on a half message."""
        text = record(
            "EndTransaction",
            event.started_ms,
            DEFAULT_REGION,
            self._bare(event.group),
            event.topic,
            event.msg_id,
            event.tags,
            event.keys,
            event.address,
            MessageType.TRANSACTION_COMMIT,
            event.transaction_id,
            event.state,
            event.from_check,
        )
        self._add(event.topic, Trace(DEFAULT_REGION, text, keys_of(event.msg_id, event.keys)))

    def _bare(self, group: str) -> str:
        return unwrap(self._client.namespace, group)

    def _add(self, topic: str, trace: Trace) -> None:
        if topic == self._topic:
            return
        if len(self._waiting) >= WAITING_MAX:
            self.dropped += 1
            return
        self._waiting.append(trace)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._flush_often())

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(PAUSE_S)
            await self.flush()


def _traced(event: ConsumeEvent) -> Iterator[tuple[MessageExt, str, str, str]]:
    """Yield each message that is traced, with its region, its id and its keys."""
    for message in event.messages:
        if message.properties.get(TRACE_ON) != "false":
            region = message.properties.get(MSG_REGION, DEFAULT_REGION)
            yield message, region, message.msg_id, " ".join(message.keys)
