"""Consume hooks: an application, or a message trace, sees every consumption of messages.

    push consumer        around each call of the listener
    ``batch`` blocks     around the block (lite pull consumer)
    ``consuming`` blocks around the block (simple consumer)
    ``ack``              before and after it (simple consumer, outside of such a block)
    ``poll``, ``pull``   before and after the messages are returned, as in Java

Rule: a hook only observes. An error that it raises is logged and changes nothing.

Source: client/hook/ConsumeMessageHook.java, ConsumeMessageContext.java,
client/consumer/listener/ConsumeReturnType.java (4.9.7).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from mqclient.message import MessageExt
from mqclient.producer.send_hooks import call_hooks
from remoting.bodies import MessageQueue

CONSUMED: Final = "CONSUME_SUCCESS"


class ConsumeReturnType(StrEnum):
    """How a consumption ended."""

    SUCCESS = "SUCCESS"
    TIME_OUT = "TIME_OUT"
    EXCEPTION = "EXCEPTION"
    RETURN_NULL = "RETURNNULL"
    FAILED = "FAILED"


@dataclass(slots=True)
class ConsumeEvent:
    """One consumption: a call of a listener, a block, or messages that were returned.

    Attributes:
        group: the consumer group, with its namespace.
        queue: the queue that the messages are from.
        messages: what the application gets, under the topics they were sent to.
        started_ms: when it began, in ms since 1970.
        elapsed_ms: how long it took; 0 before its end.
        status: what the listener returned; "" before the end, and after an error.
        returned: how it ended.
        notes: a hook may keep what it needs here from ``consume_before`` to ``consume_after``.
    """

    group: str
    queue: MessageQueue
    messages: Sequence[MessageExt]
    started_ms: int
    elapsed_ms: int = 0
    status: str = ""
    returned: ConsumeReturnType = ConsumeReturnType.SUCCESS
    notes: dict[object, object] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        """Whether the messages were consumed."""
        return self.returned is ConsumeReturnType.SUCCESS


class ConsumeHook(Protocol):
    """Watches every consumption of messages."""

    def consume_before(self, event: ConsumeEvent) -> None:
        """Handle a consumption that is about to begin."""

    def consume_after(self, event: ConsumeEvent) -> None:
        """Handle a consumption that has ended."""


@contextmanager
def observed(
    hooks: Sequence[ConsumeHook],
    group: str,
    messages: Sequence[MessageExt],
    *,
    now_ms: Callable[[], int],
) -> Iterator[None]:
    """Call the hooks before and after a block that consumes messages of one queue.

    Args:
        hooks: the hooks; without any, or without messages, nothing happens.
        group: the consumer group, with its namespace.
        messages: as the application gets them.
        now_ms: returns the time, in ms since 1970.
    """
    if not hooks or not messages:
        yield
        return
    first = messages[0]
    queue = MessageQueue(first.topic, first.broker_name, first.queue_id)
    event = ConsumeEvent(group, queue, messages, now_ms())
    call_hooks(hooks, lambda hook: hook.consume_before(event), f"before consuming {queue}")
    try:
        yield
        event.status = CONSUMED
    except BaseException:
        event.returned = ConsumeReturnType.EXCEPTION
        raise
    finally:
        event.elapsed_ms = now_ms() - event.started_ms
        call_hooks(hooks, lambda hook: hook.consume_after(event), f"after consuming {queue}")
