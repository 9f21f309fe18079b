"""``message send``: send one message and say where it was stored.

Requests: GET_ROUTEINFO_BY_TOPIC, SEND_MESSAGE_V2.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.namevalue import parse_name_value
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import choose_queue
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import WOULD_CHANGE, Outcome, Row
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.trace.message_trace import MessageTrace
from storefmt.paths import check_topic_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The message and where it goes."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    body: Annotated[str | None, argument("the body as text; - reads standard input")] = None
    file: Annotated[Path | None, option("read the body from a file", short="f", kind=Kind.FILE)] = (
        None
    )
    tag: Annotated[str | None, option("its tag", short="t")] = None
    key: Annotated[tuple[str, ...], option("a key to find it by", short="k")] = ()
    property: Annotated[
        tuple[tuple[str, str], ...],
        option("a property", short="p", metavar="NAME=VALUE", parse=parse_name_value),
    ] = ()
    queue: Annotated[str | None, option("this queue", metavar="ID|BROKER:ID", kind=Kind.QUEUE)] = (
        None
    )
    broker: Annotated[str | None, option("any queue of this broker", kind=Kind.BROKER)] = None
    delay_level: Annotated[int, option("deliver later: 1 (1 s) to 18 (2 h)")] = 0
    group: Annotated[str, option("as this producer group", kind=Kind.GROUP)] = "MQADMIN"
    trace: Annotated[bool, option("leave a trace of it, for `message trace`")] = False


@dataclass(frozen=True, slots=True)
class Sent(Row):
    """Where the message was stored; ``queue_offset`` in entries."""

    status: str
    msg_id: str | None
    unique_key: str | None
    topic: str
    broker: str
    queue_id: int | None
    queue_offset: int | None


@command(
    "message send",
    "send a message",
    examples=(
        ("mqadmin message send orders 'hello' --key o-17 --tag paid", "a body, a key, a tag"),
        ("mqadmin message send orders --file order.json -p region=eu", "a file and a property"),
        ("date | mqadmin message send orders -", "standard input"),
        ("mqadmin message send orders hello --queue broker-a:3", "to one queue"),
    ),
    rows=Sent,
    writes=True,
    java=(
        Java(
            "sendMessage",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("p", "body", "body", required=True),
                JavaOption("k", "key", "key"),
                JavaOption("c", "tags", "tag"),
                JavaOption("b", "broker", "broker"),
                JavaOption("i", "qid", "queue"),
                JavaOption("m", "msgTraceEnable", "trace"),
            ),
        ),
    ),
)
async def send_message(call: Call, args: Arguments) -> Outcome:
    """Return one row: the message as stored.

    Raises:
        Usage: there is no body, or more than one.
        BadCall, BadRequest: topic, body or properties are out of the rules.
        NoRoute: there is no such topic, and no broker makes it.
    """
    check_topic_name(args.topic)
    message = Message(
        args.topic,
        _body(call, args),
        tags=args.tag,
        keys=args.key,
        properties=dict(args.property),
        delay_level=args.delay_level,
    )
    producer = Producer(await call.client(), args.group)
    queue = None
    if args.queue is not None or args.broker is not None or call.dry_run:
        queues = await producer.queues(args.topic)
        if args.queue is not None:
            queue = choose_queue(queues, args.queue, args.broker)
        elif args.broker is not None:
            here = [one for one in queues if one.broker_name == args.broker]
            queue = choose_queue(here, str(here[0].queue_id if here else 0), args.broker)
    if call.dry_run:
        return Outcome(
            (
                Sent(
                    WOULD_CHANGE,
                    None,
                    None,
                    args.topic,
                    queue.broker_name if queue else "",
                    queue.queue_id if queue else None,
                    None,
                ),
            )
        )
    trace = MessageTrace(await call.client()) if args.trace else None
    if trace is not None:
        producer.register_send_hook(trace)
    done = await producer.send(message, queue=queue)
    if trace is not None:
        await trace.shutdown()
    return Outcome(
        (
            Sent(
                str(done.status),
                done.msg_id,
                done.unique_key,
                done.queue.topic,
                done.queue.broker_name,
                done.queue.queue_id,
                done.queue_offset,
            ),
        )
    )


def _body(call: Call, args: Arguments) -> bytes:
    if args.file is not None:
        if args.body is not None:
            raise Usage("a body and --file", hint="give one of them")
        return args.file.read_bytes()
    if args.body is None:
        raise Usage("no body given", hint="give it after the topic, with --file, or - for stdin")
    if args.body == "-":
        return call.console.read_bytes()
    return args.body.encode("utf-8", "surrogateescape")
