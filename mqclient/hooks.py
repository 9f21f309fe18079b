"""Looking on at sends and at consumption: what message traces are made of.

Rule: a hook only looks; one that raises is logged and changes nothing.

Source: client/hook/*.java, common/ConsumeReturnType in client/consumer/listener (4.9.7).
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from mqclient.message import MessageExt
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
