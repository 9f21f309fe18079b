"""Which queues a member has to give up and which it gets: one topic at a time.

    all queues, all members --allocate--> assigned
    held now, assigned      --changes---> dropped (not assigned, or its pull got lost), new

Rule: pure; time is given. Every member computes the same from the same lists; while the lists
differ a queue may be nobody's for a moment, and only orderly consumption asks the broker's
lock before it begins.

Source: client/impl/consumer/RebalanceImpl.java#rebalanceByTopic,
#updateProcessQueueTableInRebalance (4.9.7).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from mqclient.consumer import allocate
from mqclient.consumer.process_queue import ProcessQueue
from mqclient.consumer.push_settings import PushSettings
from remoting.bodies import MessageQueue


class Changes(NamedTuple):
    """What a rebalance does to one topic, queues in order."""

    dropped: list[MessageQueue]
    new: list[MessageQueue]


def assigned(
    settings: PushSettings,
    group: str,
    *,
    client_id: str,
    queues: Sequence[MessageQueue],
    client_ids: Sequence[str],
) -> list[MessageQueue]:
    """Return the queues of a topic that a member consumes.

    Args:
        queues: all readable queues of the topic.
        client_ids: all members of the group; not looked at in broadcasting.

    Raises:
        BadRequest: the strategy's settings cannot be right.
    """
    if settings.broadcasting:
        return sorted(queues)
    if not queues or not client_ids:
        return []
    return allocate.allocate(
        settings.allocate_strategy,
        group,
        client_id=client_id,
        queues=queues,
        client_ids=client_ids,
        rooms=settings.rooms,
        configured=settings.configured_queues,
        room_of=settings.room_of,
    )


def changes(
    held: Mapping[MessageQueue, ProcessQueue],
    wanted: Collection[MessageQueue],
    *,
    topic: str,
    now_ms: int,
) -> Changes:
    """Return what to drop and what to begin, so that ``wanted`` is held.

    A queue whose pull got lost is dropped and begun anew. One that is dropped already and
    still held waits for whoever dropped it.
    """
    ours = {queue: each for queue, each in held.items() if queue.topic == topic}
    dropped = [
        queue for queue, each in ours.items() if queue not in wanted or each.pull_expired(now_ms)
    ]
    gone = set(dropped)
    new = [queue for queue in wanted if queue not in ours or queue in gone]
    return Changes(sorted(dropped), sorted(new))
