"""``message send``: send one message and say where it was stored.

Requests: GET_ROUTEINFO_BY_TOPIC, SEND_MESSAGE_V2.
"""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from mqadmin.cli.declare import Call, Outcome, Row, argument, command
from mqadmin.cli.decorators import broker_option, producer_group, topic_argument
from mqadmin.cli.types import FILE_PATH, INTEGER, NAME_VALUE, QUEUE
from mqadmin.cluster.brokers import choose_queue
from mqadmin.errors import ServerRefused, Usage
from mqadmin.output.rows import WOULD_CHANGE
from mqclient.errors import ClientError, NoRoute, TimedOut
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.send_result import SendResult
from mqclient.trace.message_trace import MessageTrace
from remoting.bodies import MessageQueue
from remoting.frame import FRAME_SIZE_MAX
from storefmt.names import PERM_WRITE, perm_text
from storefmt.paths import check_topic_name

ATTEMPTS_MAX: Final = 3
"""How many brokers are tried, as by a producer."""


@dataclass(frozen=True, slots=True)
class SentMessage(Row):
    """The place where the message was stored; ``queue_offset`` in entries."""

    identity = "msg_id"

    status: str
    msg_id: str | None
    unique_key: str | None
    topic: str
    broker: str
    queue_id: int | None
    queue_offset: int | None
    recall_handle: str | None


@command(
    "message send",
    examples=(
        ("mqadmin message send orders 'hello' --key o-17 --tag paid", "with a key and a tag"),
        (
            "mqadmin message send orders --file order.json -p region=eu",
            "from a file, with a property",
        ),
        ("date | mqadmin message send orders -", "standard input"),
        ("mqadmin message send orders hello --queue broker-a:3", "to one queue"),
    ),
    rows=SentMessage,
    columns=("status", "msg_id", "unique_key", "topic", "broker", "queue_id", "queue_offset"),
    writes=True,
)
@topic_argument()
@argument("body", required=False, unless="file", help="the body as text; - reads standard input")
@click.option(
    "--file", "-f", type=FILE_PATH, help="read the body from a file; - reads standard input"
)
@click.option("--tag", "-t", help="tag of the message")
@click.option("--key", "-k", multiple=True, help="a key to find the message by")
@click.option(
    "--property",
    "-p",
    "properties",
    type=NAME_VALUE,
    multiple=True,
    help="a property of the message",
)
@click.option("--queue", type=QUEUE, help="send to this queue")
@broker_option(help="send to a queue of this broker")
@click.option("--delay-level", type=INTEGER, default=0, help="deliver later: 1 (1 s) to 18 (2 h)")
@producer_group
@click.option("--trace", is_flag=True, help="write a trace for `message trace`")
async def send_message(
    call: Call,
    *,
    topic: str,
    body: str | None,
    file: Path | None,
    tag: str | None,
    key: tuple[str, ...],
    properties: tuple[tuple[str, str], ...],
    queue: str | None,
    broker: str | None,
    delay_level: int,
    group: str,
    trace: bool,
) -> Outcome:
    """Return one row: the message as stored.

    Raises:
        Usage: there is no body, or more than one.
        ServerRefused: the topic does not accept messages.
        BadCall, BadRequest: topic, body or properties are out of the rules.
        NoRoute: the topic does not exist, and no broker creates it.
    """
    check_topic_name(topic)
    message = Message(
        topic,
        _body(call, body, file),
        tags=tag,
        keys=key,
        properties=dict(properties),
        delay_level=delay_level,
    )
    is_new = await _is_new(call, topic)
    # A person prefers the error over waiting for the end of an outage.
    producer = Producer(await call.client(), group, ProducerSettings(retry_backoff_ms=0))
    to = None
    if queue is not None or broker is not None or call.dry_run:
        to = _chosen(await producer.queues(topic), queue, broker)
    if call.dry_run:
        name, number = (to.broker_name, to.queue_id) if to else ("", None)
        return Outcome((SentMessage(WOULD_CHANGE, None, None, topic, name, number, None, None),))
    tracer = MessageTrace(await call.client()) if trace else None
    if tracer is not None:
        producer.register_send_hook(tracer)
    if is_new and call.console.can_ask:
        await call.confirm(
            f"topic {topic} does not exist: send anyway, so that a broker creates it?"
        )
    is_chosen = to is not None or is_new
    sent = producer.send(message, queue=to) if is_chosen else _send_to_any(call, producer, message)
    result = await sent
    if is_new:
        call.warn(f"topic {topic} did not exist: {result.queue.broker_name} created it")
    if tracer is not None:
        await tracer.shutdown()
    return _outcome_of(result)


def _outcome_of(result: SendResult) -> Outcome:
    queue, handle = result.queue, result.recall_handle or None
    place = (queue.topic, queue.broker_name, queue.queue_id, result.queue_offset)
    return Outcome(
        (SentMessage(str(result.status), result.offset_msg_id, result.msg_id, *place, handle),),
        notes=(f"`message recall {handle}` recalls it before its time",) if handle else (),
    )


async def _send_to_any(call: Call, producer: Producer, message: Message) -> SendResult:
    """Try the next broker if one does not answer, as producers do, with a warning.

    A producer of RocketMQ gives the first attempt all of its time, so a hanging broker would leave
    no time for the others.
    """
    by_broker: dict[str, MessageQueue] = {}
    queues = await producer.queues(message.topic)
    for queue in random.sample(queues, len(queues)):
        by_broker.setdefault(queue.broker_name, queue)
    targets = list(by_broker.values())[:ATTEMPTS_MAX]
    timeout_s = (await call.client()).timeout_s / len(targets) if targets else None
    for target in targets[:-1]:
        try:
            return await producer.send(message, queue=target, timeout_s=timeout_s)
        except ClientError as error:
            if not error.retriable:
                raise
            doubt = "it may be stored there as well; " if isinstance(error, TimedOut) else ""
            call.warn(f"{target.broker_name}: {error}; {doubt}trying the next broker")
    last = targets[-1] if targets else None
    return await producer.send(message, queue=last, timeout_s=timeout_s)


def _chosen(
    queues: list[MessageQueue], queue: str | None, broker: str | None
) -> MessageQueue | None:
    """Return the named queue, or the first one of a named broker; None if neither is named."""
    if queue is not None:
        return choose_queue(queues, queue, broker)
    if broker is None:
        return None
    here = [mq for mq in queues if mq.broker_name == broker]
    return choose_queue(here, str(here[0].queue_id if here else 0), broker)


async def _is_new(call: Call, topic: str) -> bool:
    """Return whether no broker has the topic.

    Raises:
        ServerRefused: brokers have the topic, but no broker accepts messages for it.
    """
    try:
        route = await (await call.client()).route(topic)
    except NoRoute:
        return True
    if not any(data.perm & PERM_WRITE and data.write_queue_nums for data in route.queue_datas):
        perms = ", ".join(
            f"{perm_text(data.perm)} on {data.broker_name}" for data in route.queue_datas
        )
        raise ServerRefused(
            f"topic {topic} does not accept messages: its permission is {perms}",
            hint=f"`topic perm {topic} RW` changes it",
        )
    return False


def _body(call: Call, body: str | None, file: Path | None) -> bytes:
    if file == Path("-") and body is None:
        return call.console.read_bytes()
    if file is not None:
        if body is not None:
            raise Usage("BODY excludes --file", hint="give one of them")
        with file.open("rb") as source:
            # A device may be endless, and a broker does not accept more than a frame.
            data = source.read(FRAME_SIZE_MAX)
        if len(data) == FRAME_SIZE_MAX:
            raise Usage(f"{file} is larger than the largest message", hint="send a smaller body")
        return data
    if body is None:
        raise Usage("no body given", hint="give it after the topic, with --file, or - for stdin")
    if body == "-":
        return call.console.read_bytes()
    return body.encode("utf-8", "surrogateescape")
