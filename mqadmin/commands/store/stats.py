"""``store stats``: what a store directory is full of, counted."""

from dataclasses import dataclass
from typing import Annotated, Literal

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.jobs import JOBS, jobs_of
from mqadmin.output.progress import Progress
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import EpochMs, Outcome, Row, Share
from mqadmin.storedtime import STORED_FROM, STORED_TO, bound_ms
from mqadmin.times import When, iso_utc
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.analyse.tally import By, Key, Tally, Wanted
from storefmt.offline.views.storedir import StoreDir

HOUR_MS = 3_600_000
WAYS = {
    "topic": By.TOPIC, "queue": By.QUEUE, "tag": By.TAG, "producer": By.PRODUCER, "hour": By.TIME,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to count by, and which messages."""

    by: Annotated[
        Literal["topic", "queue", "tag", "producer", "hour"], option("count by", short="b")
    ] = "topic"
    topic: Annotated[str | None, option("of this topic", short="t", kind=Kind.TOPIC)] = None
    from_: Annotated[When | None, STORED_FROM] = None
    to: Annotated[When | None, STORED_TO] = None
    limit: Annotated[int | None, option("so many rows at most", short="c")] = None
    jobs: Annotated[int | None, JOBS] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatRow(Row):
    """The messages of one topic, queue, tag, producer host or hour.

    ``bytes`` are bytes of the log; ``share`` is the part of all bytes that were counted,
    ``relative`` the part of the largest row. ``key`` is null for messages without a tag.
    """

    key: str | None
    topic: str | None
    queue_id: int | None
    count: int
    bytes: int
    share: float
    relative: Share
    first_ms: EpochMs
    last_ms: EpochMs


@command(
    "store stats",
    "count the messages of a store directory",
    details="Every record of the log is counted, the broker's own topics included; the largest "
    "come first, hours in their order.",
    examples=(
        ("mqadmin store stats DIR", "what the topics take"),
        ("mqadmin store stats DIR --by tag --topic orders -o csv", "the tags of one topic"),
        ("mqadmin store stats DIR --by hour --from -1d", "the last day, hour by hour"),
    ),
    rows=StatRow,
    columns=("key", "count", "bytes", "bar", "first_time", "last_time"),
    needs=Needs.STORE,
)
def show_stats(call: Call, args: Arguments) -> Outcome:
    """Return one row a topic, queue, tag, producer host or hour.

    Raises:
        Usage: the limit is negative.
        NotAStore: the directory is no store.
    """
    if args.limit is not None and args.limit < 0:
        raise Usage(f"limit {args.limit} is negative")
    now_ms = call.now_ms()
    wanted = Wanted(
        topic=args.topic,
        begin_ms=bound_ms(args.from_, now_ms),
        end_ms=bound_ms(args.to, now_ms),
    )
    by = WAYS[args.by]
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "stats") as progress:
        total = store.log.end - store.log.min_offset
        found = count_records(
            store,
            by,
            wanted=wanted,
            bucket_ms=HOUR_MS,
            jobs=jobs_of(args.jobs),
            on_done=lambda size: progress(size, total),
        )
    size = max(1, sum(tally.size for tally in found.values()))
    largest = max((tally.size for tally in found.values()), default=1)
    order = sorted(found.items(), key=lambda pair: _place(by, *pair))
    return Outcome([_row(by, *pair, size, largest) for pair in order][: args.limit])


def _place(by: By, key: Key, tally: Tally) -> tuple[int, str]:
    if by is By.TIME:
        return tally.first_ms, ""
    return -tally.size, str(key)


def _row(by: By, key: Key, tally: Tally, size: int, largest: int) -> StatRow:
    first = key[0]
    name = iso_utc(first) if by is By.TIME and isinstance(first, int) else first
    if by is By.QUEUE and len(key) == 2:
        name = f"{first} {key[1]}"
    named = by in (By.TOPIC, By.QUEUE) and isinstance(first, str)
    return StatRow(
        key=None if name is None else str(name),
        topic=str(first) if named else None,
        queue_id=int(key[1]) if by is By.QUEUE and len(key) == 2 and key[1] is not None else None,
        count=tally.count,
        bytes=tally.size,
        share=round(tally.size / size, 6),
        relative=round(tally.size / largest, 6),
        first_ms=tally.first_ms,
        last_ms=tally.last_ms,
    )
