"""Looking on at sends and at consumption: what message traces are made of.

Rule: a hook only looks; one that raises is logged and changes nothing.

Source: client/hook/*.java, common/ConsumeReturnType in client/consumer/listener (4.9.7).
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from mqclient.errors import ClientError
from mqclient.message import Message, MessageExt
from mqclient.producer.send_request import Outgoing
from mqclient.producer.send_result import SendResult
from remoting.bodies import MessageQueue

LOG = logging.getLogger(__name__)


class ConsumeReturnType(StrEnum):
    """How a listener ended."""

    SUCCESS = "SUCCESS"
    TIME_OUT = "TIME_OUT"
    EXCEPTION = "EXCEPTION"
    RETURN_NULL = "RETURNNULL"
    FAILED = "FAILED"


@dataclass(slots=True)
class ConsumeEvent:
    """One call of a listener.

    Attributes:
        status: what the listener answered, "" before it did.
        notes: the hook's own, kept from ``before`` to ``after``.
    """

    group: str
    queue: MessageQueue
    messages: Sequence[MessageExt]
    started_ms: int
    elapsed_ms: int = 0
    status: str = ""
    returned: ConsumeReturnType = ConsumeReturnType.SUCCESS
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def success(self) -> bool:
        """Whether the messages are done."""
        return self.returned is ConsumeReturnType.SUCCESS


class ConsumeHook(Protocol):
    """Looks on at every call of a listener."""

    def consume_before(self, event: ConsumeEvent) -> None:
        """Be told that a listener gets messages."""

    def consume_after(self, event: ConsumeEvent) -> None:
        """Be told how it went."""


def before(hooks: Iterable[ConsumeHook], event: ConsumeEvent) -> None:
    """Tell every hook that a listener gets messages."""
    for hook in hooks:
        try:
            hook.consume_before(event)
        except Exception:
            LOG.exception("consume hook %r, before %s", hook, event.queue)


def after(hooks: Iterable[ConsumeHook], event: ConsumeEvent) -> None:
    """Tell every hook how a listener ended."""
    for hook in hooks:
        try:
            hook.consume_after(event)
        except Exception:
            LOG.exception("consume hook %r, after %s", hook, event.queue)


@dataclass(slots=True)
class SendEvent:
    """One try of a send.

    Attributes:
        messages: one, or those of a batch.
        out: what travels.
        address: the broker, ``host:port``.
        result: where it was stored, None before or when it failed.
        error: why it failed, None when it did not.
        notes: the hook's own, kept from ``before`` to ``after``.
    """

    group: str
    queue: MessageQueue
    messages: Sequence[Message]
    out: Outgoing
    address: str
    started_ms: int
    elapsed_ms: int = 0
    result: SendResult | None = None
    error: ClientError | None = None
    notes: dict[str, str] = field(default_factory=dict)


class SendHook(Protocol):
    """Looks on at every try of a send."""

    def send_before(self, event: SendEvent) -> None:
        """Be told that a message goes out."""

    def send_after(self, event: SendEvent) -> None:
        """Be told how it went."""


def before_send(hooks: Iterable[SendHook], event: SendEvent) -> None:
    """Tell every hook that a message goes out."""
    for hook in hooks:
        try:
            hook.send_before(event)
        except Exception:
            LOG.exception("send hook %r, before %s", hook, event.queue)


def after_send(hooks: Iterable[SendHook], event: SendEvent) -> None:
    """Tell every hook how a send went."""
    for hook in hooks:
        try:
            hook.send_after(event)
        except Exception:
            LOG.exception("send hook %r, after %s", hook, event.queue)


@dataclass(slots=True)
class EndTransactionEvent:
    """One decision on a half message.

    Attributes:
        msg_id: the client's unique key.
        state: name of the ``LocalTransactionState``.
        from_check: the broker had asked.
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


def ended(hooks: Iterable[object], event: EndTransactionEvent) -> None:
    """Tell every hook that looks on at transactions (has ``end_transaction``)."""
    for hook in hooks:
        if not isinstance(hook, EndTransactionHook):
            continue
        try:
            hook.end_transaction(event)
        except Exception:
            LOG.exception("end transaction hook %r, %s", hook, event.msg_id)


@runtime_checkable
class EndTransactionHook(Protocol):
    """Looks on at every decision on a half message."""

    def end_transaction(self, event: EndTransactionEvent) -> None:
        """Be told that a decision is on its way."""
