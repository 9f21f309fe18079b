"""``cluster rt``: measure how long a message takes to each broker and back.

Requests: GET_BROKER_CLUSTER_INFO, GET_ROUTEINFO_BY_TOPIC, SEND_MESSAGE_V2 to the topic that
each broker has under its own name.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import click

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.decorators import Where
from mqadmin.cli.types import CLUSTER, SECONDS, Integer
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.output.rows import PARTLY, WOULD_CHANGE
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings

LOG_ZONE: Final = timedelta(hours=8)
"""Lines of ``--log`` have times in GMT+8 everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip(Row):
    """One broker; ms from sending to its answer, None without an answer."""

    cluster: str
    broker: str
    address: str
    sent: int = 0
    failed: int = 0
    rt_ms: float | None = None
    rt_min_ms: float | None = None
    rt_max_ms: float | None = None
    result: str
    remark: str | None


@dataclass(frozen=True, slots=True)
class LogLine(Row):
    """One broker in one round, as ``--log`` prints it."""

    line: str


@command(
    "cluster rt",
    examples=(
        ("mqadmin cluster rt --count 100", "mean, minimum and maximum of 100"),
        (
            "mqadmin cluster rt --every 10 --log --room fra1 >> rt.log",
            "one line per broker, until Ctrl-C",
        ),
    ),
    details="The messages stay in the topic that is named after each broker.",
    rows=RoundTrip,
    columns=(
        *("cluster", "broker", "sent", "failed", "rt_ms", "rt_min_ms", "rt_max_ms"),
        *("result", "remark"),
    ),
    writes=True,
)
@click.option("--cluster", type=CLUSTER, help="only brokers of this cluster")
@click.option(
    "--count",
    type=Integer(min=1),
    default=20,
    help="messages to send to each broker, after one that is not measured",
)
@click.option("--size", type=Integer(min=0), default=128, help="size of each body in bytes")
@click.option("--every", type=SECONDS, help="repeat after this pause, until Ctrl-C")
@click.option("--log", is_flag=True, help="print lines for a log: time|room|cluster|broker|ms")
@click.option("--room", default="noname", help="name of the machine room, for --log")
async def cluster_rt(
    call: Call,
    *,
    cluster: str | None,
    count: int,
    size: int,
    every: float | None,
    log: bool,
    room: str,
) -> Outcome:
    """Return one row for each broker and round; the exit code is 5 where some messages failed.

    Raises:
        ItemNotFound: the cluster does not exist.
    """
    nodes = await masters(await call.admin(), Where(cluster=cluster), every=True)
    if call.dry_run:
        plan = f"{count + 1} messages of {size} bytes"
        return Outcome(
            [RoundTrip.of(node, sent=count, result=WOULD_CHANGE, remark=plan) for node in nodes]
        )
    # With retries, the pauses between them would be measured as well.
    at_once = ProducerSettings(retry_backoff_ms=0)
    producer = Producer(await call.client(), "TOOLS_PRODUCER", at_once)

    async def measured() -> AsyncIterator[RoundTrip]:
        # Brokers are measured one after the other, because they would slow each other down.
        for node in nodes:
            yield await _measure(producer, node, count=count, size=size)

    def shown(row: RoundTrip) -> Row:
        return _log_line(row, room=room, now_ms=call.now_ms()) if log else row

    async def rounds(pause_s: float) -> AsyncIterator[Row]:
        while True:
            async for row in measured():
                yield shown(row)
            await asyncio.sleep(pause_s)

    form = "name" if log else ""
    if every is not None:
        return Outcome(rounds(every), follow=True, format=form)
    rows = [row async for row in measured()]
    sent, failed = sum(row.sent for row in rows), sum(row.failed for row in rows)
    exit_code = 0 if not failed else PARTLY if sent else 1
    return Outcome([shown(row) for row in rows], exit_code=exit_code, format=form)


def _log_line(row: RoundTrip, *, room: str, now_ms: int) -> LogLine:
    log_time = datetime.fromtimestamp(now_ms / 1000, UTC) + LOG_ZONE
    took = "NaN" if row.rt_ms is None else f"{row.rt_ms:.0f}"
    return LogLine(f"{log_time:%Y-%m-%d %H:%M:%S}|{room}|{row.cluster}|{row.broker}|{took}")


async def _measure(producer: Producer, node: ServerNode, *, count: int, size: int) -> RoundTrip:
    times: list[float] = []
    failed, remark = 0, None
    now = asyncio.get_running_loop().time
    message = Message(node.broker, b"a" * size)
    for number in range(count + 1):
        try:
            queues = await producer.queues(node.broker)
            queue = next(each for each in queues if each.broker_name == node.broker)
            start = now()
            await producer.send(message, queue=queue)
        except (ClientError, StopIteration) as error:
            failed += 1
            remark = str(error) or f"it has no topic {node.broker}"
            continue
        if number:
            # The first message opens the connection and is not measured.
            times.append((now() - start) * 1000)
    return RoundTrip.of(
        node,
        sent=len(times),
        failed=failed,
        rt_ms=round(sum(times) / len(times), 3) if times else None,
        rt_min_ms=round(min(times), 3) if times else None,
        rt_max_ms=round(max(times), 3) if times else None,
        result="done" if times else "refused",
        remark=remark,
    )
