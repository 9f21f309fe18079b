"""Consume hooks: an application, or a message trace, sees every call of a listener.

Rule: a hook only observes. An error that it raises is logged and changes nothing.

Source: client/hook/ConsumeMessageHook.java, ConsumeMessageContext.java,
client/consumer/listener/ConsumeReturnType.java (4.9.7).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from mqclient.message import MessageExt
from remoting.bodies import MessageQueue


class ConsumeReturnType(StrEnum):
    """How a call of a listener ended."""

    SUCCESS = "SUCCESS"
    TIME_OUT = "TIME_OUT"
    EXCEPTION = "EXCEPTION"
    RETURN_NULL = "RETURNNULL"
    FAILED = "FAILED"


@dataclass(slots=True)
class ConsumeEvent:
    """One call of a listener.

    Attributes:
        group: the consumer group, with its namespace.
        queue: the queue that the messages are from.
        messages: what the listener gets, under the topics they were sent to.
        started_ms: when the listener was called, in ms since 1970.
        elapsed_ms: how long the call took; 0 before its end.
        status: what the listener returned; "" before the end of the call.
        returned: how the call ended.
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
    """Watches every call of a listener."""

    def consume_before(self, event: ConsumeEvent) -> None:
        """Handle a call of a listener that is about to begin."""

    def consume_after(self, event: ConsumeEvent) -> None:
        """Handle a call of a listener that has ended."""
