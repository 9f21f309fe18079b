"""Allocation strategies: which member of a group consumes which queue, as in the Java client.

Each strategy takes all queues of a topic and all client ids of a group, both sorted, and returns
the queues of one client in Java's order. Every client of a group computes this on its own; if one
computed something else, queues would be consumed twice or never.

    AVG                 blocks of neighbouring queues; the first clients get one more
    AVG_BY_CIRCLE       one queue for each client in turn, again and again
    MACHINE_ROOM        only queues of brokers named ``room@broker`` in the configured rooms
    CONSISTENT_HASH     an MD5 ring with ten points for each client
    MACHINE_ROOM_NEARBY-AVG  by room; all clients share the rooms that have no client
    CONFIG              the configured queues

Rule: these functions send no requests and keep no state.

Source: client/consumer/rebalance/AllocateMessageQueue*.java, AllocateMachineRoomNearby.java,
common/consistenthash/ConsistentHashRouter.java (4.9.7).
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from typing import Final

from mqclient.consumer.consumer_settings import Room, Strategy, room_before_at
from mqclient.errors import BadRequest
from remoting.bodies import MessageQueue

VIRTUAL_NODES: Final = 10
"""Points on the ring per client (AllocateMessageQueueConsistentHash)."""


def allocate(
    strategy: Strategy | str,
    group: str,
    *,
    client_id: str,
    queues: Sequence[MessageQueue],
    client_ids: Sequence[str],
    rooms: Collection[str] = (),
    configured: Sequence[MessageQueue] = (),
    room_of: Room = room_before_at,
) -> list[MessageQueue]:
    """Return the queues that ``client_id`` consumes.

    Args:
        strategy: a name of ``Strategy``.
        group: the consumer group, for the error text.
        client_id: the member whose queues are returned.
        queues: all queues of the topic; sorted here, as Java's rebalance sorts them.
        client_ids: all members of the group; sorted here.
        rooms: MACHINE_ROOM only: the rooms whose brokers are consumed.
        configured: CONFIG only: the queues that are returned.
        room_of: MACHINE_ROOM_NEARBY only: the room of a broker name or of a client id.

    Returns:
        The queues in Java's order; none when ``client_id`` is not a member.

    Raises:
        BadRequest: there is no such strategy, there are no queues or no members, or a broker or
            client has no machine room (MACHINE_ROOM_NEARBY).
    """
    if strategy not in list(Strategy):
        raise BadRequest(
            f"no allocation strategy {strategy!r}", hint=f"one of {', '.join(Strategy)}"
        )
    if strategy == Strategy.CONFIG:
        return list(configured)
    if not client_id or not queues or not client_ids:
        raise BadRequest(
            f"cannot allocate for group {group}: {len(queues)} queues, {len(client_ids)} clients"
        )
    all_queues, all_ids = sorted(queues), sorted(client_ids)
    if client_id not in all_ids:
        return []
    if strategy == Strategy.MACHINE_ROOM:
        return _by_machine_room(client_id, all_queues, all_ids, rooms)
    if strategy == Strategy.MACHINE_ROOM_NEARBY:
        return _nearby(client_id, all_queues, all_ids, room_of)
    return _PLAIN[Strategy(strategy)](client_id, all_queues, all_ids)


def plan(
    strategy: Strategy | str,
    group: str,
    *,
    queues: Sequence[MessageQueue],
    client_ids: Sequence[str],
    rooms: Collection[str] = (),
) -> dict[str, list[MessageQueue]]:
    """Return the queues of every member, by client id in sorted order.

    Args:
        strategy, group, queues, client_ids, rooms: see ``allocate``.

    Raises:
        BadRequest: see ``allocate``.
    """
    return {
        client_id: allocate(
            strategy,
            group,
            client_id=client_id,
            queues=queues,
            client_ids=client_ids,
            rooms=rooms,
        )
        for client_id in sorted(client_ids)
    }


def _averagely(
    client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue]:
    index = client_ids.index(client_id)
    each, left = divmod(len(queues), len(client_ids))
    if each == 0:
        return list(queues[index : index + 1])
    start = index * each + min(index, left)
    return list(queues[start : start + each + (index < left)])


def _by_circle(
    client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue]:
    return list(queues[client_ids.index(client_id) :: len(client_ids)])


def _by_machine_room(
    client_id: str,
    queues: Sequence[MessageQueue],
    client_ids: Sequence[str],
    rooms: Collection[str],
) -> list[MessageQueue]:
    index = client_ids.index(client_id)
    here = [queue for queue in queues if _names_room(queue.broker_name, rooms)]
    each, left = divmod(len(here), len(client_ids))
    given = here[index * each : (index + 1) * each]
    # Java hands out the remaining queues one by one, so they are not next to the others.
    return given + here[each * len(client_ids) + index :][: index < left]


def _names_room(broker_name: str, rooms: Collection[str]) -> bool:
    parts = broker_name.split("@")
    while parts and not parts[-1]:
        # String.split of Java leaves out empty parts at the end.
        parts.pop()
    return len(parts) == 2 and parts[0] in rooms


def _consistent_hash(
    client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> list[MessageQueue]:
    ring = {
        _ring_position(f"{member}-{point}"): member
        for member in client_ids
        for point in range(VIRTUAL_NODES)
    }
    positions = sorted(ring)
    given = []
    for queue in queues:
        ring_index = bisect_left(positions, _ring_position(_java_text(queue)))
        if ring[positions[ring_index % len(positions)]] == client_id:
            given.append(queue)
    return given


def _ring_position(key: str) -> int:
    digest = hashlib.md5(key.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


def _java_text(queue: MessageQueue) -> str:
    return (
        f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, "
        f"queueId={queue.queue_id}]"
    )


def _nearby(
    client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str], room_of: Room
) -> list[MessageQueue]:
    rooms_of_brokers = {
        name: _room_of(name, room_of, "broker") for name in {queue.broker_name for queue in queues}
    }
    rooms_of_clients = {member: _room_of(member, room_of, "client") for member in client_ids}
    own = rooms_of_clients[client_id]
    near = [queue for queue in queues if rooms_of_brokers[queue.broker_name] == own]
    neighbours = [member for member in client_ids if rooms_of_clients[member] == own]
    given = _averagely(client_id, near, neighbours) if near else []
    orphaned = set(rooms_of_brokers.values()) - set(rooms_of_clients.values())
    for room in sorted(orphaned):
        far = [queue for queue in queues if rooms_of_brokers[queue.broker_name] == room]
        given += _averagely(client_id, far, client_ids)
    return given


def _room_of(name: str, room_of: Room, what: str) -> str:
    room = room_of(name)
    if not room:
        # Java also refuses this: with a wrong room, queues would be consumed twice or never.
        raise BadRequest(
            f"{what} {name} has no machine room", hint="check what room_of returns for it"
        )
    return room


_PLAIN: Final[
    dict[
        Strategy,
        Callable[[str, Sequence[MessageQueue], Sequence[str]], list[MessageQueue]],
    ]
] = {
    Strategy.AVG: _averagely,
    Strategy.AVG_BY_CIRCLE: _by_circle,
    Strategy.CONSISTENT_HASH: _consistent_hash,
}
