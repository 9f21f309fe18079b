"""``cluster rt``: how long a message takes to every broker and back.

Requests: GET_BROKER_CLUSTER_INFO, GET_ROUTEINFO_BY_TOPIC, SEND_MESSAGE_V2 to the topic that
each broker has under its own name.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, option
from mqadmin.places import Place, masters
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import PARTLY, WOULD_CHANGE, Outcome, Row
from mqadmin.settings import positive_seconds
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer

LOG_ZONE: Final = timedelta(hours=8)
"""Lines of ``--log`` tell the time in GMT+8, wherever they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which cluster, how many messages, how large."""

    cluster: Annotated[str | None, option("only this cluster", kind=Kind.CLUSTER)] = None
    count: Annotated[int, option("messages to each broker; one more goes first, unmeasured")] = 20
    size: Annotated[int, option("bytes of a body")] = 128
    every: Annotated[
        float | None,
        option(
            "again and again, so long apart, until Ctrl-C",
            metavar="SECONDS",
            parse=positive_seconds,
        ),
    ] = None
    log: Annotated[bool, option("as lines for a log: time|room|cluster|broker|ms")] = False
    room: Annotated[str, option("where this runs, for --log")] = "noname"


@dataclass(frozen=True, slots=True)
class RoundTrip(Row):
    """One broker; ms from sending to its answer, None where none came."""

    cluster: str
    broker: str
    address: str
    sent: int
    failed: int
    rt_ms: float | None
    rt_min_ms: float | None
    rt_max_ms: float | None
    result: str
    remark: str | None


@dataclass(frozen=True, slots=True)
class LogLine(Row):
    """One broker in one round, as ``--log`` prints it."""

    line: str


@command(
    "cluster rt",
    "measure how long a message takes to every broker and back",
    examples=(
        ("mqadmin cluster rt --count 100", "mean, shortest and longest of 100"),
        ("mqadmin cluster rt --every 10 --log --room fra1 >> rt.log", "a line a broker, for ever"),
    ),
    details="The messages stay in the topic that each broker has under its own name.",
    rows=RoundTrip,
    columns=(
        "cluster",
        "broker",
        "sent",
        "failed",
        "rt_ms",
        "rt_min_ms",
        "rt_max_ms",
        "result",
        "remark",
    ),
    writes=True,
    java=(
        Java(
            "clusterRT",
            (
                JavaOption("a", "amount", "count"),
                JavaOption("s", "size", "size"),
                JavaOption("c", "cluster", "cluster"),
                JavaOption("p", "print log", "log"),
                JavaOption("m", "machine room", "room"),
                JavaOption("i", "interval", "every"),
            ),
            preset=(("count", "100"), ("every", "10")),
        ),
    ),
)
async def cluster_rt(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker and round; exit code 5 where a message failed, 1 where all did.

    Raises:
        Usage: there is nothing to send.
        NotFound: there is no such cluster.
    """
    if args.count < 1 or args.size < 0:
        raise Usage(f"{args.count} messages of {args.size} bytes: nothing to measure")
    places = await masters(await call.admin(), cluster=args.cluster, every=True)
    if call.dry_run:
        return Outcome(
            [
                RoundTrip(
                    *(place.cluster, place.broker, place.address, 0, 0, None, None, None),
                    WOULD_CHANGE,
                    f"{args.count + 1} messages of {args.size} bytes",
                )
                for place in places
            ]
        )
    producer = Producer(await call.client(), "TOOLS_PRODUCER")
    form = "name" if args.log else ""
    if args.every is not None:
        return Outcome(_rounds(call, producer, places, args), follow=True, format=form)
    rows = [row async for row in _round(producer, places, args)]
    sent, failed = sum(row.sent for row in rows), sum(row.failed for row in rows)
    exit_code = 0 if not failed else PARTLY if sent else 1
    return Outcome([_shown(call, row, args) for row in rows], exit_code=exit_code, format=form)


async def _rounds(
    call: Call, producer: Producer, places: list[Place], args: Arguments
) -> AsyncIterator[Row]:
    while True:
        async for row in _round(producer, places, args):
            yield _shown(call, row, args)
        await asyncio.sleep(args.every or 0)


async def _round(
    producer: Producer, places: list[Place], args: Arguments
) -> AsyncIterator[RoundTrip]:
    # One broker after the other: they would slow each other down here.
    for place in places:
        yield await _measure(producer, place, args)


def _shown(call: Call, row: RoundTrip, args: Arguments) -> Row:
    if not args.log:
        return row
    at = datetime.fromtimestamp(call.now_ms() / 1000, UTC) + LOG_ZONE
    took = "NaN" if row.rt_ms is None else f"{row.rt_ms:.0f}"
    return LogLine(f"{at:%Y-%m-%d %H:%M:%S}|{args.room}|{row.cluster}|{row.broker}|{took}")


async def _measure(producer: Producer, place: Place, args: Arguments) -> RoundTrip:
    times: list[float] = []
    failed, remark = 0, None
    now = asyncio.get_running_loop().time
    message = Message(place.broker, b"a" * args.size)
    for number in range(args.count + 1):
        try:
            queues = await producer.queues(place.broker)
            queue = next(one for one in queues if one.broker_name == place.broker)
            start = now()
            await producer.send(message, queue=queue)
        except (ClientError, StopIteration) as error:
            failed += 1
            remark = str(error) or f"no topic {place.broker} on it"
            continue
        if number:
            # The first one opens the connection.
            times.append((now() - start) * 1000)
    return RoundTrip(
        cluster=place.cluster,
        broker=place.broker,
        address=place.address,
        sent=len(times),
        failed=failed,
        rt_ms=round(sum(times) / len(times), 3) if times else None,
        rt_min_ms=round(min(times), 3) if times else None,
        rt_max_ms=round(max(times), 3) if times else None,
        result="done" if times else "refused",
        remark=remark,
    )
