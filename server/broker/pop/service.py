"""Everything about pops of one broker, connected.

Rule: this module creates and connects the parts and decides nothing.
"""

from collections.abc import Callable

from remoting.bodies import MessageRequestModeSerializeWrapper
from server.broker.clients.groups import Groups
from server.broker.clients.offsets import Offsets, Place
from server.broker.config import BrokerConfig
from server.broker.pop.acknowledging import Acknowledger
from server.broker.pop.modes import RequestModes
from server.broker.pop.order import OrderedQueues
from server.broker.pop.planning import Planner
from server.broker.pop.popper import Popper
from server.broker.pop.revive import ReviveLog
from server.broker.send.sender import Sender
from server.broker.serving.cold_reads import ColdReads
from server.broker.serving.group_commit import Done, Turn
from server.broker.stats.counters import Statistics
from server.broker.topics import Topics
from server.store.store import MessageStore


class Pops:
    """The parts that serve pops.

    Args:
        store: has the messages and the revive log.
        config: the settings.
        topics: the topics.
        groups: the settings of consumer groups.
        offsets: the consumer offsets.
        sender: puts messages and records.
        turn: the group commit.
        when_safe: calls back when what was put is safe, and its topics are saved.
        stats: counts what groups read.
        cold: reads what is not in the page cache.
        store_host: packed host of this broker.
        on_hold: called with the time (ms) at which ``popper.look`` has to be called.
        modes: the content of messageRequestMode.json; None without one.
    """

    def __init__(
        self,
        store: MessageStore,
        *,
        config: BrokerConfig,
        topics: Topics,
        groups: Groups,
        offsets: Offsets,
        sender: Sender,
        turn: Turn,
        when_safe: Callable[[Done], None],
        stats: Statistics,
        cold: ColdReads,
        store_host: bytes,
        on_hold: Callable[[int], None],
        modes: MessageRequestModeSerializeWrapper | None,
    ) -> None:
        self.modes = RequestModes(modes)
        """Which groups pop."""
        self.order = OrderedQueues()
        """The queues that are popped in order."""
        self.revive = ReviveLog(
            store,
            config=config,
            topics=topics,
            groups=groups,
            offsets=offsets,
            put=lambda message, now_ms: sender.put(message, now_ms=now_ms),
            deliver=lambda message, now_ms: sender.deliver(message, now_ms=now_ms),
            schedule=turn.schedule,
            store_host=store_host,
            cold=cold,
        )
        """The revive log."""
        self.planner = Planner(
            store, config=config, topics=topics, offsets=offsets, order=self.order
        )
        """Reads queues for pops and peeks."""
        self.popper = Popper(
            config=config,
            offsets=offsets,
            revive=self.revive,
            order=self.order,
            planner=self.planner,
            stats=stats,
            cold=cold,
            when_safe=when_safe,
            on_hold=on_hold,
        )
        """Answers pops."""
        self.acknowledger = Acknowledger(
            store,
            topics=topics,
            offsets=offsets,
            revive=self.revive,
            order=self.order,
            on_free=self.popper.unblocked,
        )
        """Takes acknowledgements."""

    def left_count(self, place: Place) -> int:
        """Return how many messages of a queue a group has popped and not acknowledged."""
        return self.order.left_count(place) + self.revive.left_count(place)
