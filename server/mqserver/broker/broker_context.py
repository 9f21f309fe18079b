"""What every service of a broker gets: the parts that it reads, and a way to store messages.

    BrokerContext   config, clock, store, topics, groups, offsets, stats, cold reads     it reads
    OwnPuts         put ─ deliver ─ when_safe ─ commit_soon                              it writes

A service (sends, pulls, pops, delayed messages, timers, transaction checks) is a class whose first
argument is the context. Its other arguments are what it alone needs. If it has periodic work, it
declares that in a method ``schedule(services)`` (``runtime.periodic``). ``state.Broker`` makes the
context once, then the services.

Rule: the context is made before any service and never changes, though its parts do. So it holds
nothing that a service makes; a service that needs another one names it as an argument.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mqserver.broker.clients.consumer_offsets import Offsets
from mqserver.broker.clients.subscription_groups import Groups
from mqserver.broker.config import BrokerConfig
from mqserver.broker.serving.cold_reads import ColdReads
from mqserver.broker.serving.group_commit import Done
from mqserver.broker.stats.counters import Statistics
from mqserver.broker.topics import Topics
from mqserver.runtime.clock import Clock
from mqserver.store.results import PutMessage, PutResult
from mqserver.store.store import MessageStore


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerContext:
    """The parts of one broker that its services read."""

    config: BrokerConfig
    """The settings, which change while the broker runs."""
    clock: Clock
    """The wall clock and the steady clock; most methods get ``now_ms`` as an argument instead."""
    store: MessageStore
    """The messages. ``store.is_copy`` is True on a slave, which writes nothing of its own."""
    store_host: bytes
    """The packed host of this broker, which its records name."""
    topics: Topics
    groups: Groups
    """The settings of consumer groups."""
    offsets: Offsets
    """The consumer offsets."""
    stats: Statistics
    cold: ColdReads
    """The threads that read what is not in the page cache."""


Put = Callable[[PutMessage, int], PutResult]
"""Puts a message at ``now_ms``.

Raises:
    RequestRefused: the store does not accept the message.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPuts:
    """How a service stores messages of its own, without a request of a client."""

    put: Put
    """Puts a record of the broker's own."""
    deliver: Put
    """Puts a message of a client that has waited, and counts it for its topic."""
    when_safe: Callable[[Done], None]
    """Calls back when everything that was put up to now is safe, or has failed."""
    commit_soon: Callable[[], None]
    """Commits at the end of this pass of the loop; ``when_safe`` does so by itself."""
    refusal: Callable[[], str]
    """Returns why the broker accepts no messages of clients at the moment, because it is
    overloaded; empty when it accepts them. Deliveries wait meanwhile."""
