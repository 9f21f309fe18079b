"""How often the periodic work of a broker is done: seldom while there is nothing for it.

Rule: a broker without messages and clients sleeps. Work that a request makes urgent is not delayed
by more than ``UNUSED_MS``, and what is due later than that is done in time.
"""

from collections.abc import Callable
from typing import Final

from mqserver.broker.clients.client_requests import ClientCalls
from mqserver.store.store import MessageStore

UNUSED_MS: Final = 500
"""Interval of what has nothing to do yet: deliveries of a topic without messages, and deadlines of
requests to clients while there is none. What comes is seen by then."""
IDLE_FACTOR: Final = 5
"""How many times longer the other intervals are while the log does not grow."""


def while_used(store: MessageStore, interval_ms: int, topic: str) -> Callable[[], int]:
    """Return the interval of a service that delivers the messages of a topic."""
    return lambda: interval_ms if store.has(topic) else max(interval_ms, UNUSED_MS)


def while_written(store: MessageStore, interval_ms: int) -> Callable[[], int]:
    """Return the interval of a service that has work only when the log has grown."""
    seen_end = -1

    def interval() -> int:
        nonlocal seen_end
        has_grown, seen_end = store.raw.end != seen_end, store.raw.end
        return interval_ms if has_grown else interval_ms * IDLE_FACTOR

    return interval


def while_unsettled(store: MessageStore, interval_ms: int) -> Callable[[], int]:
    """Return the interval of the store's housekeeping, which may need several runs."""
    written = while_written(store, interval_ms)
    return lambda: written() if store.is_settled else interval_ms


def while_asked(calls: ClientCalls, interval_ms: int) -> Callable[[], int]:
    """Return the interval at which requests to clients expire."""
    return lambda: interval_ms if calls.is_used else UNUSED_MS
