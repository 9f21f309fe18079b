"""Spans of OpenTelemetry have the names and attributes of the Java instrumentation."""

import asyncio
from collections.abc import Callable

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from mqclient import (
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    Message,
    MessageExt,
    MQClient,
    Producer,
    PushConsumer,
    PushSettings,
)
from mqclient.consumer.state.consume_hooks import ConsumeEvent
from mqclient.trace.open_telemetry import OpenTelemetryTrace
from mqserver.pytest_plugin import RocketMQ
from remoting.codes import RequestCode, ResponseCode
from tests.mqclient.fake import STORED, serving

SUCCESS = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
LATER = ConsumeConcurrentlyStatus.RECONSUME_LATER


class Spans:
    """A tracer provider that keeps the spans that have ended."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._kept.get_finished_spans() if span.name == name]


class Told:
    """A consume hook that is told last, and sets an event."""

    def __init__(self, event: asyncio.Event) -> None:
        self._event = event

    def consume_before(self, event: ConsumeEvent) -> None:
        """Do nothing."""

    def consume_after(self, event: ConsumeEvent) -> None:
        self._event.set()


@pytest.fixture
def spans() -> Spans:
    return Spans()


async def consume(
    rocketmq: RocketMQ,
    spans: Spans,
    messages: list[Message],
    listen: Callable[[list[MessageExt]], ConsumeConcurrentlyStatus],
) -> None:
    """Send messages as one batch, and consume until the hooks were told of a listener's call."""
    topic = messages[0].topic
    told = asyncio.Event()
    traces = OpenTelemetryTrace(spans.provider)
    settings = PushSettings(
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        consume_message_batch_max_size=len(messages),
    )
    async with (
        MQClient(rocketmq.namesrv, timeout_s=60) as client,
        Producer(client) as producer,
        PushConsumer(client, f"{topic}-readers", settings) as consumer,
    ):
        producer.register_send_hook(traces)
        if len(messages) == 1:
            await producer.send(messages[0])
        else:
            await producer.send_batch(messages)
        consumer.subscribe(topic)
        consumer.register_consume_hook(traces)
        consumer.register_consume_hook(Told(told))

        @consumer.concurrently
        def listener(given: list[MessageExt], _: object) -> ConsumeConcurrentlyStatus:
            return listen(given)

        await consumer.start()
        await asyncio.wait_for(told.wait(), 60)


async def test_one_trace_leads_from_the_sender_into_the_code_of_the_listener(
    rocketmq: RocketMQ, spans: Spans
) -> None:
    tracer = spans.provider.get_tracer("application")

    def listen(given: list[MessageExt]) -> ConsumeConcurrentlyStatus:
        with tracer.start_as_current_span("listener's own"):
            return SUCCESS

    with tracer.start_as_current_span("parent"):
        await consume(rocketmq, spans, [Message("Spans", b"body", tags="A", keys="k1 k2")], listen)

    (parent,), (publish,) = spans.named("parent"), spans.named("Spans publish")
    (process,), (own,) = spans.named("Spans process"), spans.named("listener's own")
    assert publish.parent == parent.context
    assert process.parent.span_id == publish.context.span_id
    assert own.parent == process.context
    assert {span.context.trace_id for span in (publish, process, own)} == {parent.context.trace_id}
    assert (publish.kind, process.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    sent, read = dict(publish.attributes or {}), dict(process.attributes or {})
    assert sent.pop("messaging.message.id") == read.pop("messaging.message.id")
    both = {
        "messaging.system": "rocketmq",
        "messaging.destination.name": "Spans",
        "messaging.rocketmq.message.tag": "A",
        "messaging.rocketmq.message.keys": ("k1", "k2"),
        "messaging.rocketmq.broker_address": rocketmq.broker,
    }
    assert sent == both | {
        "messaging.operation": "publish",
        "messaging.rocketmq.send_result": "SEND_OK",
    }
    queue_id = read.pop("messaging.rocketmq.queue_id")
    assert queue_id in range(4)
    assert read == both | {
        "messaging.operation": "process",
        "messaging.message.body.size": 4,
        "messaging.rocketmq.queue_offset": 0,
    }


async def test_messages_of_a_batch_have_spans_that_link_to_their_send(
    rocketmq: RocketMQ, spans: Spans
) -> None:
    messages = [Message("SpansOfBatch", b"1"), Message("SpansOfBatch", b"2")]

    await consume(rocketmq, spans, messages, lambda given: SUCCESS)

    (publish,) = spans.named("SpansOfBatch publish")
    (receive,) = spans.named("multiple_sources receive")
    processed = spans.named("SpansOfBatch process")
    assert receive.kind is SpanKind.CONSUMER
    assert len(processed) == 2
    for span in processed:
        assert span.parent == receive.context
        (link,) = span.links
        assert link.context.span_id == publish.context.span_id


async def test_a_listener_that_fails_leaves_a_failed_span(rocketmq: RocketMQ, spans: Spans) -> None:
    await consume(rocketmq, spans, [Message("SpansOfFailure", b"1")], lambda given: LATER)

    (span,) = spans.named("SpansOfFailure process")
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "FAILED"
    assert trace.get_current_span() is trace.INVALID_SPAN


async def test_each_attempt_of_a_send_is_a_span_and_a_refused_one_has_failed(spans: Spans) -> None:
    async with serving(brokers=2) as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, ResponseCode.SYSTEM_BUSY)
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        producer = Producer(client)
        producer.register_send_hook(OpenTelemetryTrace(spans.provider))
        await producer.send(Message("T", b"x"))

    refused, stored = spans.named("T publish")
    assert refused.status.status_code is StatusCode.ERROR
    assert refused.events[0].name == "exception"
    assert stored.status.status_code is StatusCode.UNSET
