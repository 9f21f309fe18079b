"""What a service of a broker gets, for a test that drives it without a server."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from mqserver.broker.broker_context import BrokerContext, OwnPuts, Put
from mqserver.broker.clients.consumer_offsets import Offsets
from mqserver.broker.clients.subscription_groups import Groups
from mqserver.broker.config import BrokerConfig
from mqserver.broker.serving.cold_reads import ColdReads
from mqserver.broker.serving.group_commit import Done
from mqserver.broker.stats.counters import Statistics
from mqserver.broker.topics import Topics
from mqserver.runtime.clock import Clock
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from storefmt.formats.hosts import pack_host
from tests.server.broker.desk import NO_THREADS
from tests.server.doubles import FakeClock

HOST = pack_host("127.0.0.1", 10911)


def context_of(
    store: object,
    *,
    config: StoreConfig | None = None,
    clock: Clock | None = None,
    offsets: Offsets | None = None,
    cold: ColdReads = NO_THREADS,
) -> BrokerContext:
    """Return the context of a broker that has nothing but a store, or a double of one."""
    settings = BrokerConfig(broker_name="broker-a", broker_cluster_name="TestCluster")
    if config is not None:
        settings = replace(settings, store=config)
    return BrokerContext(
        config=settings,
        clock=clock or FakeClock(0),
        store=cast(MessageStore, store),
        store_host=HOST,
        topics=Topics(settings, now_ms=0),
        groups=Groups(settings, now_ms=0),
        offsets=offsets or Offsets(),
        stats=Statistics(now_ms=0, cluster="TestCluster"),
        cold=cold,
    )


def puts_of(put: Put, when_safe: Callable[[Done], None]) -> OwnPuts:
    """Return how a service stores its messages; nothing is committed by itself."""
    return OwnPuts(
        put=put, deliver=put, when_safe=when_safe, commit_soon=lambda: None, refusal=lambda: ""
    )
