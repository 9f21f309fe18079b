"""Who becomes the master of a group.

    candidates = brokers of the in-sync set that are alive
    winner     = highest (epoch, end of the log); of equals the lower priority number, then id

Rule: only a broker of the in-sync set is elected, since only such a broker is known to have every
acknowledged message. An operator who chooses another one (``is_unclean``) accepts the loss.

Source: controller/elect/impl/DefaultElectPolicy.java (5.4.0), whose comparison of log ends
overflows when they differ by 2 GiB or more. Java gives the first election to whoever asks first,
which truncates a longer log; here the longest log wins it.
"""

from collections.abc import Mapping

from mqserver.controller.live_brokers import LiveBroker


def elect(
    alive: Mapping[int, LiveBroker], *, in_sync_set: frozenset[int], old_master_id: int | None
) -> int | None:
    """Return the id of the master, or None if no broker of the in-sync set is alive.

    Args:
        alive: the brokers of the group that are alive, by id.
        in_sync_set: ids of the brokers that have every acknowledged message.
        old_master_id: the present master; it stays the master while it is alive.
    """
    candidates = {broker_id: alive[broker_id] for broker_id in in_sync_set & alive.keys()}
    if old_master_id in candidates:
        return old_master_id
    return longest_log(candidates)


def longest_log(candidates: Mapping[int, LiveBroker]) -> int | None:
    """Return the id of the broker with the longest log, or None without candidates."""
    if not candidates:
        return None
    return min(
        candidates,
        key=lambda broker_id: (
            -candidates[broker_id].epoch,
            -candidates[broker_id].max_offset,
            candidates[broker_id].priority,
            broker_id,
        ),
    )
