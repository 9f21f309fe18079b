"""Store the offsets of groups, given by another group, a file or another cluster.

    offsets -> moves within each queue -> members offline? -> question -> journal -> store, read
    back

Rule: everything is checked before anything is stored, so that a mistake changes nothing.
"""

from collections.abc import Callable, Collection

from mqadmin.changes.offset_change import (
    OffsetMove,
    check_offline,
    keep_offsets,
    moves_to,
    refused_row,
    row_of,
    store_offset,
)
from mqadmin.output.rows import PARTLY, WOULD_CHANGE, Outcome
from mqadmin.session.call import Call

OffsetsByGroup = dict[tuple[str, str], dict[tuple[str, int], int]]
"""(group, topic) -> (broker, queue id) -> queue offset."""


async def store_offsets(
    call: Call,
    offsets: OffsetsByGroup,
    *,
    groups: Collection[str],
    addresses: Collection[str],
    question: Callable[[int], str],
    missing: str,
    title: str = "",
    clamp: bool = True,
) -> Outcome:
    """Store the offsets and return a row for each queue.

    Args:
        groups: those that get offsets, of which no member may be online.
        addresses: of the masters, where members would be connected.
        question: returns the question to ask before a number of offsets is stored.
        missing: text for queues that do not exist.
        title: for the journal; if left out, each group has an entry of its own.
        clamp: use the end of a queue for an offset past it; otherwise refuse its row.
    """
    admin = await call.admin()
    planned: list[tuple[str, OffsetMove]] = []
    absent: list[str] = []
    for (group, topic), spots in sorted(offsets.items()):
        moves, gone = await moves_to(admin, group, topic, spots)
        planned += [(group, move) for move in moves]
        absent += gone
    refused = [] if clamp else [spot for spot in planned if spot[1].is_past_end]
    planned = [spot for spot in planned if spot not in refused]
    notes = (f"{missing}: {', '.join(absent)}",) if absent else ()
    exit_code = PARTLY if absent or refused else 0
    if not planned and refused:
        exit_code = 1
    unmoved = [refused_row(group, move) for group, move in refused]
    if planned:
        # A dry run has the exit code that the real run would have.
        for group in groups:
            await check_offline(admin, group, addresses)
    if call.dry_run or not planned:
        rows = [row_of(group, move, WOULD_CHANGE) for group, move in planned]
        return Outcome([*rows, *unmoved], exit_code=exit_code, notes=notes)
    await call.confirm(question(len(planned)))
    for group in groups:
        own = [move for moved, move in planned if moved == group]
        keep_offsets(call, admin, group, own, title=title or f"offset import {group}")
    rows = [await store_offset(admin, group, move) for group, move in planned]
    return Outcome([*rows, *unmoved], exit_code=exit_code, notes=notes)
