"""Draw an assignment for a terminal: a line for each member, a column for each queue.

    then (AVG): 3 members read 8 queues, 2 to 3 each; 5 move
              broker-a
              0 1 2 3 4 5 6 7
      app-1   # # # . . . . .  3
      app-2   . . . + # # . .  3
      app-3   . . . . . . + +  2

    #  reads it   +  takes it from another, or from no member   .  another's   ?  assumed to read it

Rule: pure; queues that do not fit the width continue below in the same order.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from mqadmin.output.shorten import cell_width, cut
from remoting.bodies import MessageQueue

READS, TAKES, OTHERS, UNSURE = "■", "+", "·", "?"
NAME_WIDTH_MAX: Final = 32
INDENT: Final = "  "
NOBODY: Final = "(nobody)"

Owners = Mapping[MessageQueue, str]


def picture(
    title: str,
    queues: Sequence[MessageQueue],
    *,
    members: Sequence[str],
    owners: Owners,
    before: Owners | None = None,
    unsure: Container[str] = (),
    width: int,
) -> list[str]:
    """Return the lines of one assignment.

    Args:
        queues: the columns, in this order.
        before: the present owners; marks the queues that a member takes.
        unsure: the members that did not report their queues.
        width: cells of a line; at least one queue is always drawn.
    """
    counts = Counter(owners[queue] for queue in queues if queue in owners)
    lines = [f"{title}: {evenness(queues, members, owners=owners, before=before)}"]
    rows = [*members, *([NOBODY] if any(queue not in owners for queue in queues) else [])]
    names = {row: cut(row, NAME_WIDTH_MAX) for row in rows}
    name_width = max((cell_width(name) for name in names.values()), default=0)
    digits = max((len(str(queue.queue_id)) for queue in queues), default=1)
    lead = INDENT + " " * name_width + "  "
    room = max(1, width - len(lead) - 5)
    for part in _parts(queues, digits, room):
        widths = _widths(part, digits, room)
        lines += _heads(part, widths, lead=lead, digits=digits, width=width)
        for row in rows:
            pad = " " * (name_width - cell_width(names[row]))
            cells = (_cell(row, queue, owners, before, unsure) for queue in part)
            drawn = _line(cells, widths, digits)
            count = counts[row] if row != NOBODY else sum(queue not in owners for queue in queues)
            lines.append(f"{INDENT}{names[row]}{pad}  {drawn}  {count}")
    return lines


def _parts(
    queues: Sequence[MessageQueue], digits: int, room: int
) -> Iterator[Sequence[MessageQueue]]:
    """Yield as many queues as fit a line, at least one."""
    start = 0
    for end in range(1, len(queues) + 1):
        taken = _widths(queues[start:end], digits, room)
        if sum(taken) + len(taken) - 1 > room and end - start > 1:
            yield queues[start : end - 1]
            start = end - 1
    yield queues[start:]


def _widths(part: Sequence[MessageQueue], digits: int, room: int) -> list[int]:
    """Return the cells of each queue; the last cell of a broker has room for the broker's name.

    The name of the last broker has the rest of the line.
    """
    widths: list[int] = []
    for broker, queues in groupby(part, lambda queue: queue.broker_name):
        count = sum(1 for _ in queues)
        own = count * (digits + 1) - 1
        name = min(cell_width(broker), room) if broker != part[-1].broker_name else 0
        widths += [digits] * (count - 1) + [digits + max(0, name - own)]
    return widths


def _line(cells: Iterable[str], widths: Sequence[int], digits: int) -> str:
    return " ".join(
        cell.rjust(digits).ljust(width) for cell, width in zip(cells, widths, strict=True)
    )


def count_moved(queues: Sequence[MessageQueue], *, before: Owners, owners: Owners) -> int:
    """Return how many queues have another reader than before."""
    return sum(before.get(queue) != owners.get(queue) for queue in queues)


def evenness(
    queues: Sequence[MessageQueue],
    members: Sequence[str],
    *,
    owners: Owners,
    before: Owners | None = None,
) -> str:
    """Return the distribution in words: ``3 members read 8 queues, 2 to 3 each; 5 move``."""
    counts = Counter(owners[queue] for queue in queues if queue in owners)
    each = [counts[member] for member in members]
    read = sum(each)
    verb = "reads" if len(members) == 1 else "read"
    text = f"{_some(len(members), 'member')} {verb} {read} of {_some(len(queues), 'queue')}"
    if each:
        low, high = min(each), max(each)
        text += f", {low} each" if low == high else f", {low} to {high} each"
        idle = each.count(0)
        text += f", {idle} idle" if idle else ""
    if before is not None:
        count = count_moved(queues, before=before, owners=owners)
        text += f"; {count} {'moves' if count == 1 else 'move'}"
    return text


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _heads(
    part: Sequence[MessageQueue], widths: Sequence[int], *, lead: str, digits: int, width: int
) -> Iterator[str]:
    """Yield the names of the brokers above their queues, and the queue ids."""
    brokers, column = lead, 0
    for broker, queues in groupby(part, lambda queue: queue.broker_name):
        count = sum(1 for _ in queues)
        cells = sum(widths[column : column + count]) + count - 1
        rest = width - cell_width(brokers) - 1
        text = cut(broker, max(cells, rest) if broker == part[-1].broker_name else cells)
        brokers += text + " " * (cells + 1 - cell_width(text))
        column += count
    yield brokers.rstrip()
    ids = (str(queue.queue_id).rjust(digits) for queue in part)
    yield (lead + _line(ids, widths, digits)).rstrip()


def _cell(
    row: str, queue: MessageQueue, owners: Owners, before: Owners | None, unsure: Container[str]
) -> str:
    owner = owners.get(queue, NOBODY)
    if owner != row:
        return OTHERS
    if before is not None and row != NOBODY and before.get(queue) != row:
        return TAKES
    return UNSURE if row in unsure else READS
