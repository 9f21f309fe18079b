"""``message bench``: send messages as fast as they are answered, and say how long each took.

    N tasks: send, wait for the answer, next   -->   rate, p50, p99, slowest

Rule: times are those a producer sees, from the call to the answer; ``--rate`` holds the sends
back evenly and does not catch up after a pause.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.pace import Pace
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import PARTLY, Outcome, Row
from mqadmin.times import parse_duration
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.send_result import SendResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """How much, and how fast."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    count: Annotated[
        int | None, option("so many messages; 1000 if neither is given", short="c")
    ] = None
    duration: Annotated[int | None, option("so long", metavar="TIME", parse=parse_duration)] = None
    size: Annotated[int, option("bytes of a body", short="s")] = 128
    threads: Annotated[int, option("sends that wait for an answer at the same time")] = 8
    rate: Annotated[float | None, option("so many a second at most")] = None
    tag: Annotated[str | None, option("their tag", short="t")] = None
    each: Annotated[bool, option("one row a message, not one for all")] = False
    group: Annotated[str, option("as this producer group", kind=Kind.GROUP)] = "MQADMIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow(Row):
    """All sends; ``rate`` in messages a second, times in ms."""

    topic: str
    sent: int
    failed: int
    size: int
    threads: int
    seconds: float
    rate: float
    bytes_per_second: float
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRow(Row):
    """One send; ``took_ms`` until its answer came."""

    broker: str | None
    queue_id: int | None
    status: str
    msg_id: str | None
    took_ms: float


@dataclass(slots=True)
class Run:
    """One run: how far it is."""

    left: int | None
    end_s: float | None
    pace: Pace
    took_ms: list[float] = field(default_factory=list)
    failed: int = 0
    first_error: str = ""

    async def turn(self) -> bool:
        """Wait for the next turn; False where all is done."""
        if self.left is not None:
            if self.left <= 0:
                return False
            self.left -= 1
        await self.pace.turn()
        return self.end_s is None or perf_counter() < self.end_s


@command(
    "message bench",
    "measure how fast messages are stored",
    examples=(
        ("mqadmin message bench orders-test --count 10000 --size 512", "ten thousand"),
        ("mqadmin message bench orders-test --duration 30s --rate 500", "500 a second"),
        ("mqadmin message bench orders-test -c 10 --threads 1 --each", "each on its own"),
    ),
    details="The messages stay in the topic, and its consumers get them.",
    rows=BenchRow,
    writes=True,
    java=(
        Java(
            "checkMsgSendRT",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("a", "amount", "count"),
                JavaOption("s", "size", "size"),
            ),
            preset=(("count", "100"), ("threads", "1"), ("each", "")),
        ),
        Java(
            "sendMsgStatus",
            (
                JavaOption("b", "brokerName", "topic", required=True),
                JavaOption("s", "messageSize", "size"),
                JavaOption("c", "count", "count"),
            ),
            preset=(("count", "50"), ("threads", "1"), ("each", "")),
        ),
    ),
)
async def bench(call: Call, args: Arguments) -> Outcome:
    """Return one row for all sends, or one a send.

    Raises:
        Usage: a number is not positive.
        NoRoute: there is no such topic, and no broker makes it.
    """
    for name in ("count", "duration", "size", "threads", "rate"):
        value = getattr(args, name)
        if value is not None and value <= 0:
            raise Usage(f"--{name} {value} is not positive")
    producer = Producer(await call.client(), args.group)
    await producer.queues(args.topic)
    run = _run_of(args)
    if call.dry_run:
        return Outcome((_summary(args, run, 0.0),))
    await call.confirm(f"send {_much(args)} to topic {args.topic}?")
    exit_code = _exit_code(call, run)
    if args.each:
        return Outcome(_each(producer, args, run), exit_code=exit_code, follow=True)
    started_s = perf_counter()
    await asyncio.gather(*(_sender(producer, args, run) for _ in range(args.threads)))
    return Outcome((_summary(args, run, perf_counter() - started_s),), exit_code=exit_code)


def _run_of(args: Arguments) -> Run:
    return Run(
        left=1000 if args.count is None and args.duration is None else args.count,
        end_s=None if args.duration is None else perf_counter() + args.duration / 1000,
        pace=Pace(args.rate),
    )


def _much(args: Arguments) -> str:
    if args.duration is not None and args.count is None:
        return f"messages for {args.duration / 1000:g} s"
    return f"{args.count or 1000} messages"


def _exit_code(call: Call, run: Run) -> Callable[[], int]:
    def told() -> int:
        if run.first_error:
            call.warn(f"{run.failed} sends were not answered well, the first: {run.first_error}")
        if not run.failed:
            return 0
        return PARTLY if run.took_ms else 1

    return told


async def _sender(producer: Producer, args: Arguments, run: Run) -> None:
    while await run.turn():
        await _send(producer, args, run)


async def _send(producer: Producer, args: Arguments, run: Run) -> tuple[SendResult | None, float]:
    message = Message(args.topic, b"x" * args.size, tags=args.tag)
    started_s = perf_counter()
    done = None
    try:
        done = await producer.send(message)
    except ClientError as error:
        run.failed += 1
        run.first_error = run.first_error or str(error)
    took_ms = (perf_counter() - started_s) * 1000
    if done is not None:
        run.took_ms.append(took_ms)
    return done, took_ms


async def _each(producer: Producer, args: Arguments, run: Run) -> AsyncIterator[Row]:
    while await run.turn():
        done, took_ms = await _send(producer, args, run)
        yield SendRow(
            broker=done.queue.broker_name if done else None,
            queue_id=done.queue.queue_id if done else None,
            status=str(done.status) if done else "failed",
            msg_id=done.msg_id if done else None,
            took_ms=round(took_ms, 3),
        )


def _summary(args: Arguments, run: Run, seconds: float) -> BenchRow:
    took = sorted(run.took_ms)
    rate = len(took) / seconds if seconds else 0.0
    return BenchRow(
        topic=args.topic,
        sent=len(took),
        failed=run.failed,
        size=args.size,
        threads=args.threads,
        seconds=round(seconds, 3),
        rate=round(rate, 1),
        bytes_per_second=round(rate * args.size, 1),
        mean_ms=round(sum(took) / len(took), 3) if took else None,
        p50_ms=percentile(took, 50),
        p99_ms=percentile(took, 99),
        max_ms=round(took[-1], 3) if took else None,
    )


def percentile(took: list[float], percent: int) -> float | None:
    """Return the smallest of sorted times that so many percent are not above."""
    if not took:
        return None
    return round(took[max(0, -(-len(took) * percent // 100) - 1)], 3)
