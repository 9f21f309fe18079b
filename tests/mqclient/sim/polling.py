"""Simulated lite pull consumers whose applications are slow, and what must hold for them.

    poll --> given --work--> done --> next poll, or commit by hand --> a position may pass it

Rule: an owner notes at the broker what it is done with just before it says so to its consumer.
Whatever a consumer commits by itself meanwhile (at a pull that came back empty, a rebalance, a
stop) is then checked against what owners really said. Owners work longer than a broker holds a
pull, go back to the start of a queue, and some fail in the middle of a batch.
"""

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from mqclient.consumer.consumer_settings import LitePullSettings
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from remoting.bodies import ConsumeFromWhere, MessageQueue
from tests.mqclient.sim.network import SimClient

if TYPE_CHECKING:
    from tests.mqclient.sim.world import World

LONG_WORK_S = 60.0
"""More than the 20 s for which a broker holds a pull that finds nothing."""


class Poller:
    """One polling consumer, with its client and its owner.

    Args:
        wanted: the tag it wants; messages of others are passed over.
        by_hand: its owner commits, after some of the batches.
    """

    def __init__(
        self, world: "World", name: str, *, group: str, topic: str, wanted: str, by_hand: bool
    ) -> None:
        self.world = world
        self.client = SimClient(world.network, name)
        self._group = group
        self._topic = topic
        self._wanted = wanted
        self._by_hand = by_hand
        self._given: list[MessageExt] = []
        self._owner: asyncio.Task[None] | None = None
        self.consumer = self._make()

    async def start(self) -> None:
        self._owner = asyncio.ensure_future(self._own())
        await self._join()

    async def stop(self) -> None:
        """Leave in the middle of whatever the owner is at."""
        if self._owner is not None:
            self._owner.cancel()
        await self.consumer.shutdown()

    def _make(self) -> LitePullConsumer:
        settings = LitePullSettings(
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            pull_batch_size=self.world.network.random.choice([1, 3]),
            auto_commit=not self._by_hand,
        )
        consumer = LitePullConsumer(self.client, self._group, settings)
        consumer.subscribe(self._topic, self._wanted)
        return consumer

    async def _join(self) -> None:
        assert self._owner is not None
        # There it is found when the member is killed.
        self.consumer._state.tasks.add(self._owner)
        await self.consumer.start()

    async def _own(self) -> None:
        random = self.world.network.random
        while not self.consumer.is_running:
            await asyncio.sleep(0.1)
        while True:
            try:
                self._given += await self.consumer.poll()
                if random.random() < self.world.unrest:
                    await asyncio.sleep(random.uniform(0, LONG_WORK_S))
                if not await self.world.work():
                    await self._begin_again()
                elif not self._by_hand:
                    self._done()
                elif random.random() < 0.6:
                    self._done()
                    await self.consumer.commit()
                if random.random() < self.world.unrest / 4:
                    await self._look_again()
            except ClientError:
                await asyncio.sleep(1.0)

    async def _begin_again(self) -> None:
        """Fail at what was given, and come back."""
        self._given.clear()
        await self.consumer.shutdown()
        self.consumer = self._make()
        await self._join()

    async def _look_again(self) -> None:
        """Go back to the start of one of the queues."""
        queues = self.consumer.assignment()
        if queues:
            await self.consumer.seek_to_begin(self.world.network.random.choice(queues))

    def _done(self) -> None:
        by_queue: defaultdict[MessageQueue, list[MessageExt]] = defaultdict(list)
        for message in self._given:
            queue = MessageQueue(message.topic, message.broker_name, message.queue_id)
            by_queue[queue].append(message)
        for queue, messages in by_queue.items():
            self.world.finished(queue, messages)
        self._given.clear()
