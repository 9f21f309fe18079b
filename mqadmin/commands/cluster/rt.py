"""``cluster rt``: how long a message takes to every broker and back.

Requests: GET_BROKER_CLUSTER_INFO, GET_ROUTEINFO_BY_TOPIC, SEND_MESSAGE_V2 to the topic that
each broker has under its own name.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Final

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, option
from mqadmin.places import Place, masters
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import PARTLY, WOULD_CHANGE, Outcome, Row
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer import Producer

ONE_ROUND: Final = "one round is one call: repeat it in the shell with `watch SECONDS cluster rt`"
NO_LOG: Final = "use -o csv or -o jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which cluster, how many messages, how large."""

    cluster: Annotated[str | None, option("only this cluster", kind=Kind.CLUSTER)] = None
    count: Annotated[int, option("messages to each broker; one more goes first, unmeasured")] = 20
    size: Annotated[int, option("bytes of a body")] = 128


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


@command(
    "cluster rt",
    "measure how long a message takes to every broker and back",
    examples=(("mqadmin cluster rt --count 100", "mean, shortest and longest of 100"),),
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
                JavaOption("p", "print log", why_not=NO_LOG),
                JavaOption("m", "machine room", why_not=NO_LOG),
                JavaOption("i", "interval", why_not=ONE_ROUND),
            ),
        ),
    ),
)
async def cluster_rt(call: Call, args: Arguments) -> Outcome:
    """Return one row a broker; exit code 5 where a message failed, 1 where all did.

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
    # One broker after the other: they would slow each other down here.
    rows = [await _measure(producer, place, args) for place in places]
    sent, failed = sum(row.sent for row in rows), sum(row.failed for row in rows)
    return Outcome(rows, exit_code=0 if not failed else PARTLY if sent else 1)


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
