"""Spans of OpenTelemetry from a send to the listener, linked through properties of the message.

    producer.register_send_hook(OpenTelemetryTrace())
    consumer.register_consume_hook(OpenTelemetryTrace())

    send     span "orders publish"   --> its context becomes properties (traceparent, …)
    consume  one message:  span "orders process", child of the span of the send
             several:      span "multiple_sources receive", and below it a span for each message,
                           linked to the span of its send

Spans and attributes have the names of OpenTelemetry's Java instrumentation of the RocketMQ
client, so a trace may cross services in both languages. Needs opentelemetry-api (extra ``otel``).

Source: opentelemetry-java-instrumentation, rocketmq-client-4.8.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, TracerProvider
from opentelemetry.util.types import AttributeValue

from mqclient.consumer.state.consume_hooks import ConsumeEvent
from mqclient.message import MessageExt
from mqclient.producer.send_hooks import SendEvent

_SCOPE: Final = "mqclient"
_SYSTEM: Final = {"messaging.system": "rocketmq"}


class OpenTelemetryTrace:
    """Makes spans as a send hook and as a consume hook.

    Each attempt of a send is a span of its own, and so is each delivery of a message. The code of
    a listener runs within the span of its messages, so spans that it makes are children of it.

    Args:
        provider: makes the tracer; None means the global one of the process.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=provider)

    def send_before(self, event: SendEvent) -> None:
        """Begin the span of an attempt, and add its context to the message."""
        topic, tags, keys = event.queue.topic, None, ""
        if len(event.messages) == 1:
            tags, keys = event.messages[0].tags, event.messages[0].keys_text
        attributes = _attributes(topic, "publish", tags, keys.split())
        attributes["messaging.rocketmq.broker_address"] = event.address
        span = self._tracer.start_span(
            f"{topic} publish", kind=SpanKind.PRODUCER, attributes=attributes
        )
        carrier: dict[str, str] = {}
        propagate.inject(carrier, trace.set_span_in_context(span))
        for name, value in carrier.items():
            event.set_property(name, value)
        event.notes[self] = span

    def send_after(self, event: SendEvent) -> None:
        """End the span of an attempt with its result."""
        span = event.notes.get(self)
        if not isinstance(span, Span):
            return
        if event.result is not None:
            span.set_attribute("messaging.message.id", event.result.msg_id)
            span.set_attribute("messaging.rocketmq.send_result", event.result.status.name)
        elif event.error is not None:
            span.record_exception(event.error)
            span.set_status(StatusCode.ERROR, str(event.error))
        span.end()

    def consume_before(self, event: ConsumeEvent) -> None:
        """Begin the spans of a call of the listener, and make its first span the current one."""
        messages = event.messages
        if len(messages) == 1:
            spans = [self._process(messages[0], parent=propagate.extract(messages[0].properties))]
        else:
            receive = self._tracer.start_span(
                "multiple_sources receive",
                kind=SpanKind.CONSUMER,
                attributes={**_SYSTEM, "messaging.operation": "receive"},
            )
            parent = trace.set_span_in_context(receive)
            spans = [
                receive,
                *(
                    self._process(message, parent=parent, links=_links(message.properties))
                    for message in messages
                ),
            ]
        token = context.attach(trace.set_span_in_context(spans[0]))
        event.notes[self] = (spans, token)

    def consume_after(self, event: ConsumeEvent) -> None:
        """End the spans of a call of the listener, as failed where the messages come again."""
        noted = event.notes.get(self)
        if not isinstance(noted, tuple):
            return
        spans, token = noted
        context.detach(token)
        for span in reversed(spans):
            if not event.success:
                span.set_status(StatusCode.ERROR, event.returned.value)
            span.end()

    def _process(
        self, message: MessageExt, *, parent: context.Context, links: list[Link] | None = None
    ) -> Span:
        attributes = _attributes(message.topic, "process", message.tags, message.keys)
        attributes |= {
            "messaging.message.id": message.msg_id,
            "messaging.message.body.size": len(message.body),
            "messaging.rocketmq.broker_address": message.store_host,
            "messaging.rocketmq.queue_id": message.queue_id,
            "messaging.rocketmq.queue_offset": message.queue_offset,
        }
        return self._tracer.start_span(
            f"{message.topic} process",
            context=parent,
            kind=SpanKind.CONSUMER,
            attributes=attributes,
            links=links,
        )


def _attributes(
    topic: str, operation: str, tags: str | None, keys: Sequence[str]
) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {
        **_SYSTEM,
        "messaging.destination.name": topic,
        "messaging.operation": operation,
    }
    if tags:
        attributes["messaging.rocketmq.message.tag"] = tags
    if keys:
        attributes["messaging.rocketmq.message.keys"] = list(keys)
    return attributes


def _links(properties: Mapping[str, str]) -> list[Link]:
    """Return a link to the span of the send, where the message names it."""
    sent = trace.get_current_span(propagate.extract(properties)).get_span_context()
    return [Link(sent)] if sent.is_valid else []
