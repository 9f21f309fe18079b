"""``message bench``: send messages as fast as they are answered, and measure each send.

    N tasks: send, wait for the answer, next   -->   rate, p50, p99, slowest

Rule: times are those that a producer sees, from the call to the answer; ``--rate`` spaces the sends
evenly and does not catch up after a pause.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final

import click

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.decorators import producer_group, rate_option, topic_argument
from mqadmin.cli.times import SPAN
from mqadmin.cli.types import Integer
from mqadmin.messages.limits import RateLimit
from mqadmin.output.rows import PARTLY
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.send_result import SendResult


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow(Row):
    """All sends; ``rate`` in messages a second, times in ms.

    With ``--dry-run`` ``sent`` is how many would be sent, 0 if only the duration is limited.
    """

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
    msg_id: str | None = None
    took_ms: float
    topic: str
    unique_key: str | None = None
    queue_offset: int | None = None


COUNT: Final = 1000
"""The number of messages if neither a number nor a duration is given."""


@dataclass(slots=True)
class BenchRun:
    """One run: what it sends, and its progress."""

    topic: str
    size: int
    tag: str | None
    threads: int
    left: int | None
    end_s: float | None
    pace: RateLimit
    took_ms: list[float] = field(default_factory=list)
    failed: int = 0
    first_error: str = ""

    async def turn(self) -> bool:
        """Wait for the next turn; return False when all are sent."""
        if self.left is not None:
            if self.left <= 0:
                return False
            self.left -= 1
        await self.pace.turn()
        return self.end_s is None or perf_counter() < self.end_s


@command(
    "message bench",
    examples=(
        ("mqadmin message bench orders-test --count 10000 --size 512", "ten thousand"),
        ("mqadmin message bench orders-test --duration 30s --rate 500", "500 a second"),
        ("mqadmin message bench orders-test -c 10 --threads 1 --each", "one row for each message"),
    ),
    details="The messages stay in the topic, and its consumers receive them.",
    rows=BenchRow,
    writes=True,
)
@topic_argument()
@click.option(
    "--count",
    "-c",
    type=Integer(min=1),
    help="number of messages; 1000 without --count and --duration",
)
@click.option("--duration", type=SPAN, help="how long to send")
@click.option("--size", "-s", type=Integer(min=1), default=128, help="size of each body in bytes")
@click.option(
    "--threads",
    type=Integer(min=1),
    default=8,
    help="number of sends in flight at the same time",
)
@rate_option
@click.option("--tag", "-t", help="tag of the messages")
@click.option("--each", is_flag=True, help="print one row for each message")
@producer_group
async def bench(
    call: Call,
    *,
    topic: str,
    count: int | None,
    duration: int | None,
    size: int,
    threads: int,
    rate: float | None,
    tag: str | None,
    each: bool,
    group: str,
) -> Outcome:
    """Return one row for all sends, or one for each send.

    Raises:
        NoRoute: the topic does not exist, and no broker creates it.
    """
    producer = Producer(await call.client(), group)
    await producer.queues(topic)
    if count is None and duration is None:
        count = COUNT
    run = BenchRun(
        topic=topic,
        size=size,
        tag=tag,
        threads=threads,
        left=count,
        end_s=None if duration is None else perf_counter() + duration / 1000,
        pace=RateLimit(rate),
    )
    if call.dry_run:
        return Outcome((replace(_summary(run, 0.0), sent=count or 0),))
    much = f"messages for {(duration or 0) / 1000:g} s" if count is None else f"{count} messages"
    await call.confirm(f"send {much} to topic {topic}?")
    exit_code = _exit_code(call, run)
    if each:
        return Outcome(_each(producer, run), exit_code=exit_code, follow=True)
    started_s = perf_counter()
    await asyncio.gather(*(_sender(producer, run) for _ in range(threads)))
    return Outcome((_summary(run, perf_counter() - started_s),), exit_code=exit_code)


def _exit_code(call: Call, run: BenchRun) -> Callable[[], int]:
    def told() -> int:
        if run.first_error:
            call.warn(f"{run.failed} sends failed; the first: {run.first_error}")
        if not run.failed:
            return 0
        return PARTLY if run.took_ms else 1

    return told


async def _sender(producer: Producer, run: BenchRun) -> None:
    while await run.turn():
        await _send(producer, run)


async def _send(producer: Producer, run: BenchRun) -> tuple[SendResult | None, float]:
    message = Message(run.topic, b"x" * run.size, tags=run.tag)
    started_s = perf_counter()
    send_result = None
    try:
        send_result = await producer.send(message)
    except ClientError as error:
        run.failed += 1
        run.first_error = run.first_error or str(error)
    took_ms = (perf_counter() - started_s) * 1000
    if send_result is not None:
        run.took_ms.append(took_ms)
    return send_result, took_ms


async def _each(producer: Producer, run: BenchRun) -> AsyncIterator[Row]:
    while await run.turn():
        send_result, took_ms = await _send(producer, run)
        yield SendRow.of(
            send_result,
            broker=send_result.queue.broker_name if send_result else None,
            queue_id=send_result.queue.queue_id if send_result else None,
            status=str(send_result.status) if send_result else "failed",
            msg_id=send_result.offset_msg_id if send_result else None,
            took_ms=round(took_ms, 3),
            topic=run.topic,
        )


def _summary(run: BenchRun, seconds: float) -> BenchRow:
    took = sorted(run.took_ms)
    rate = len(took) / seconds if seconds else 0.0
    return BenchRow(
        topic=run.topic,
        sent=len(took),
        failed=run.failed,
        size=run.size,
        threads=run.threads,
        seconds=round(seconds, 3),
        rate=round(rate, 1),
        bytes_per_second=round(rate * run.size, 1),
        mean_ms=round(sum(took) / len(took), 3) if took else None,
        p50_ms=percentile(took, 50),
        p99_ms=percentile(took, 99),
        max_ms=round(took[-1], 3) if took else None,
    )


def percentile(took: list[float], percent: int) -> float | None:
    """Return a percentile of sorted times by nearest rank; None without times."""
    if not took:
        return None
    return round(took[max(0, -(-len(took) * percent // 100) - 1)], 3)
