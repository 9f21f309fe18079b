"""Send hooks: an application, or a message trace, sees every attempt of a send.

Rule: a hook observes, and may add properties to the message. An error that it raises is logged and
changes nothing.

Source: client/hook/SendMessageHook.java, SendMessageContext.java, EndTransactionHook.java,
EndTransactionContext.java (4.9.7).
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.send_request import PackedMessage
from mqclient.producer.send_result import SendResult
from remoting.bodies import MessageQueue
from storefmt.formats.properties import check_property, format_properties, parse_properties

LOG = logging.getLogger(__name__)

_Hook = TypeVar("_Hook")


@dataclass(slots=True)
class SendEvent:
    """One attempt of a send.

    Attributes:
        group: the producer group.
        queue: the queue that the message is sent to.
        messages: the message, or those of a batch.
        out: the packed request.
        address: the broker, ``host:port``.
        started_ms: when the attempt began, in ms since 1970.
        elapsed_ms: how long it took; 0 before its end.
        result: where the message was stored; None before the end, and when the send failed.
        error: why the send failed; None when it did not.
        notes: a hook may keep what it needs here from ``send_before`` to ``send_after``.
    """

    group: str
    queue: MessageQueue
    messages: Sequence[Message]
    out: PackedMessage
    address: str
    started_ms: int
    elapsed_ms: int = 0
    result: SendResult | None = None
    error: ClientError | None = None
    notes: dict[object, object] = field(default_factory=dict)

    def set_property(self, name: str, value: str) -> None:
        """Give the message another property; a batch gives it to each of its messages.

        Only ``send_before`` may do so.

        Raises:
            BadCall: name or value is empty, or has a character that separates properties.
        """
        check_property(name, value)
        properties = parse_properties(self.out.properties)
        properties[name] = value
        self.out = self.out._replace(properties=format_properties(properties))


class SendHook(Protocol):
    """Watches every attempt of a send."""

    def send_before(self, event: SendEvent) -> None:
        """Handle an attempt that is about to begin."""

    def send_after(self, event: SendEvent) -> None:
        """Handle an attempt that has ended."""


@dataclass(slots=True)
class EndTransactionEvent:
    """One decision on a half message.

    Attributes:
        group: the producer group.
        topic: the topic of the message.
        msg_id: the unique key that the client gave to the message.
        address: the broker that gets the decision, ``host:port``.
        state: name of the ``LocalTransactionState``.
        from_check: True when the broker had asked for the state.
        tags: the tag of the message; "" when it has none.
        keys: the keys of the message with spaces between them.
        transaction_id: the broker's id of the transaction, "" when it gave none.
        started_ms: when the decision was sent, in ms since 1970.
    """

    group: str
    topic: str
    msg_id: str
    address: str
    state: str
    from_check: bool = False
    tags: str = ""
    keys: str = ""
    transaction_id: str = ""
    started_ms: int = 0


@runtime_checkable
class EndTransactionHook(Protocol):
    """Watches every decision on a half message; a send hook may also have this method."""

    def end_transaction(self, event: EndTransactionEvent) -> None:
        """Handle a decision that was sent."""


def call_hooks(hooks: Iterable[_Hook], call: Callable[[_Hook], None], what: str) -> None:
    """Call every hook, and log those that raise.

    Args:
        hooks: the hooks, in the order in which they were registered.
        call: calls one hook.
        what: the name of the event, for the log.
    """
    for hook in hooks:
        try:
            call(hook)
        except Exception:
            LOG.exception("hook %r, %s", hook, what)
