"""What has become of the queues that a stream or an archive has read.

    the queue has            its broker       the queue is
    the message read last    –                as it was
    another one in its place –                renewed: the topic was deleted and made anew
    gone                     is registered    gone: the topic was deleted
    gone                     is not           away: it is read again when the broker is back

A topic that is made anew counts its queue offsets from 0 again, so an offset alone does not show
that messages were never read. What does is the store time of the message before a position: it
stays the same on slaves, after a restart and in a restored store, and no other message of the
queue has it at this place. So it is kept beside each position.

Rule: a position without such a time (the queue was empty, or an earlier version wrote it) is
believed, and so is one whose message retention has deleted.
"""

from collections.abc import Mapping
from typing import NamedTuple

from mqclient.admin.topic import TopicCalls
from mqclient.client.instance import MQClient
from mqclient.errors import NoRoute
from mqspark.sources.live.options import LiveReadOptions
from mqspark.sources.live.plan import Ends
from mqspark.sources.live.queues import Positions, ends, queues_of, store_times_at
from remoting.bodies import MessageQueue


class Survey(NamedTuple):
    """The queues that are there, and what became of known ones.

    Attributes:
        found: the queues that are there, with their ends.
        away: known queues whose broker is not registered.
        renewed: known queues that do not have the message that was read last.
    """

    found: dict[MessageQueue, Ends]
    away: frozenset[MessageQueue] = frozenset()
    renewed: frozenset[MessageQueue] = frozenset()

    def warnings(self, positions: Positions) -> list[str]:
        """Return a sentence for each broker that is away, and each topic that is gone or renewed.

        Args:
            positions: the queue offset to read next, by queue.
        """
        gone = set(positions) - set(self.found) - self.away
        return [
            *(
                f"broker {name} is not registered; its queues are read when it is back"
                for name in sorted({queue.broker_name for queue in self.away})
            ),
            *(
                f"topic {name} is not there any more; reading goes on without it"
                for name in sorted({queue.topic for queue in gone})
            ),
            *(
                f"topic {name} was made anew; it is read from its start"
                for name in sorted({queue.topic for queue in self.renewed})
            ),
        ]


async def survey(
    client: MQClient,
    live: LiveReadOptions,
    positions: Positions,
    store_times: Mapping[MessageQueue, int],
    *,
    queue_ends: dict[MessageQueue, Ends] | None = None,
) -> Survey:
    """Return what has become of known queues.

    Args:
        client: the client that asks the brokers.
        live: the settings of the source.
        positions: the queue offset to read next, by queue.
        store_times: what was kept beside these positions.
        queue_ends: the queues that are there, if that is known.

    Raises:
        NoRoute: a topic of which no queue is known does not exist; or every known queue is away.
        ClientError: a broker did not answer.
    """
    if queue_ends is None:
        queue_ends = await span_of_known(client, live, {queue.topic for queue in positions})
    absent = set(positions) - set(queue_ends)
    away: frozenset[MessageQueue] = frozenset()
    if absent:
        registered = (await TopicCalls(client).cluster_info()).broker_addr_table
        away = frozenset(queue for queue in absent if queue.broker_name not in registered)
    if away and not queue_ends:
        raise NoRoute(min(away).topic)
    asked = {
        queue: offset
        for queue, offset in positions.items()
        if queue in store_times and queue in queue_ends
    }
    times = await store_times_at(client, asked, queue_ends)
    renewed = {queue for queue, time_ms in times.items() if time_ms != store_times[queue]}
    renewed |= {
        queue
        for queue, offset in positions.items()
        if queue in queue_ends and offset > queue_ends[queue].high
    }
    return Survey(queue_ends, away, frozenset(renewed))


async def span_of_known(
    client: MQClient, live: LiveReadOptions, topics: set[str]
) -> dict[MessageQueue, Ends]:
    """Return the queues to read that are there, with their ends; known topics may be gone.

    Raises:
        NoRoute: a topic that is not among ``topics`` does not exist, and a loss is an error.
        ClientError: a broker did not answer.
    """
    missing: set[str] = set()
    queue_ends = await ends(client, await queues_of(client, live.wanted, missing), missing)
    strange = missing - topics
    if strange and live.fail_on_data_loss:
        raise NoRoute(min(strange))
    return queue_ends
