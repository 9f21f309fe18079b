"""docs/client.md: every parameter of the client, with its default, from the settings classes.

Rule: the meaning of a parameter is written once, in the docstring of its class.
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any, ClassVar, Final, Protocol

from mqclient.client.client_settings import ClientSettings
from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings
from mqclient.producer.producer_settings import ProducerSettings

_ATTRIBUTE: Final = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)


class Settings(Protocol):
    """A settings class."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


PAGES: Final[Mapping[str, tuple[type[Settings], str]]] = {
    "ClientSettings": (
        ClientSettings,
        "`MQClient(namesrv, settings)` and `BlockingClient(namesrv, client_settings=…)`",
    ),
    "ProducerSettings": (ProducerSettings, "`Producer(client, group, settings)`"),
    "PushSettings": (PushSettings, "`PushConsumer(client, group, settings)`"),
    "LitePullSettings": (LitePullSettings, "`LitePullConsumer(client, group, settings)`"),
}

ELSEWHERE: Final = {
    "accessChannel": "nothing: it says how traces reach Alibaba's cloud",
    "adjustThreadPoolNumsThreshold": "nothing: in Java it no longer adjusts anything",
    "clientCallbackExecutorThreads": "nothing: callbacks run in the event loop, not in threads",
    "consumerGroup": "`group` of the constructor",
    "consumerPullTimeoutMillis": "nothing: a pull may take `consumer_timeout_ms_when_suspend`",
    "customizedTraceTopic": "`MessageTrace(client, topic=…)`",
    "enableMsgTrace": "a `MessageTrace` that is registered as a hook",
    "enableStreamRequestType": "nothing: it adds a mark that brokers of 4.9 ignore",
    "language": "nothing: requests say `PYTHON`",
    "messageListener": "`register_message_listener`",
    "messageQueueListener": "nothing: `assignment()` returns the queues",
    "mqClientApiTimeout": "`timeout_s` of `MQClient`, for every request",
    "namesrvAddr": "`namesrv` of `MQClient`",
    "offsetStore": "`offsets` of a `PushConsumer`",
    "persistConsumerOffsetInterval": "`PushSettings` have it; a `LitePullConsumer` commits every "
    "`auto_commit_interval_ms`",
    "producerGroup": "`group` of the constructor",
    "pullThreadNums": "nothing: pulls do not need threads",
    "pullTimeDelayMillsWhenException": "`PushSettings` and `LitePullSettings` have it",
    "subscription": "`subscribe`",
    "traceDispatcher": "a `MessageTrace` that is registered as a hook",
    "unitMode": "`unit_mode` of each producer and consumer",
    "useTLS": "`tls` of `MQClient`",
}
"""What became of the parameters of the Java classes that no settings of ours have."""

NAMESPACE: Final = """\
With `ClientSettings(namespace="N")` every topic and group of the producers and consumers of a
client belongs to the namespace `N`. For brokers, name servers and tools the topic `T` is `N%T`, and
the group `G` is `N%G` with the retry topic `%RETRY%N%G` and the dead letter topic `%DLQ%N%G`.
System topics (`TBW102`, …) and groups (`CID_RMQ_SYS_…`) stay as they are. Messages carry the
namespace as property `INSTANCE_ID`.

A program may name topics with the namespace or without it. As in Java, the names are without it in
messages, results of sends, queues that are fetched or passed to `select`, and traces; they are with
it in `group`, `assignment()`, the queue of a listener's context, the groups of hooks, and the
`configured_queues` of strategy CONFIG. `Admin` does not know namespaces and takes the names that
are sent to the servers."""
"""What a namespace does."""

POP: Final = """\
`SimpleConsumer(client, group)` receives messages and acknowledges each of them. It needs brokers
that know POP: those of RocketMQ 5, and ours. A 4.9 broker makes `receive` raise `BrokerRefused`,
which names that broker; `LitePullConsumer` consumes from every broker.

```python
async with MQClient("127.0.0.1:9876") as client, SimpleConsumer(client, "group") as consumer:
    consumer.subscribe("orders", "new || paid")
    async for message in consumer.messages(invisible_ms=30_000):
        async with consumer.consuming(message):
            ...
```

`messages` receives one message at a time until the shutdown, and the end of a `consuming` block
acknowledges it; after an error in the block it comes again. `receive` and `ack` do the same by
hand, for many messages at a time.

The broker hides what it gave for `invisible_ms` (1 s to 12 h). A message that is not acknowledged
by then is received again, by any member, with `reconsume_times` one higher; after
`max_reconsume_times` (16) it goes to `%DLQ%group`. `change_invisible_time` hides a message for
another while from now on: work that takes longer asks for more, and a failure gives the message
back soon. `message.receipt` is the receipt handle (property `POP_CK`), by which another process may
acknowledge the message: `ack(receipt, topic="orders")`. Each change gives a new handle and
invalidates the previous one.

Queues are not rebalanced: any number of members receives from all queues, and the broker keeps
the offsets. Nothing is sent before the first `receive`, so a member need not be started, and
tools see it only when it consumes. With `order=True` the group does not get another message of a
queue while one of it is hidden. `receive` waits up to `wait_ms` (15 s) for the first message; if
it is cancelled, messages that a broker has given in the meantime come again after their invisible
time."""
"""How a simple consumer works."""

IDS: Final = """\
A message has two ids. The producer's client makes the **unique key** before it sends; the message
carries it as property `UNIQ_KEY` wherever it is stored. The broker gives each stored record an
**offset id**: its own address and the offset in its commit log.

| | unique key | offset id |
| --- | --- | --- |
| `SendResult` | `msg_id` (Java: `getMsgId()`) | `offset_msg_id` (Java: `getOffsetMsgId()`) |
| a received message | `msg_id` (Java: `getMsgId()`) | `offset_msg_id` (Java: `getOffsetMsgId()`) |
| `mqadmin` | `message query unique-key` | `message query id`, `message get` |

The unique key stays the same while a message is stored again: when it was delayed, committed, given
back by a consumer or moved to a dead letter topic, each copy has another offset id. The
`offset_msg_id` in the result of a delayed or transactional send is therefore that of the record
that waits, not of the message that consumers get. A batch has an id of each kind for every message,
joined by commas. A message that some other producer sent without `UNIQ_KEY` has `unique_key` None,
and its `msg_id` is the offset id, as in Java. The column `msg_id` of `mqadmin` and of stored
records is the offset id, which is where a record lies. To recognise a repeated message, compare
unique keys or, better, a key of your own: an application that sends a message again gives it a new
unique key."""
"""Which id is which."""

LISTENERS: Final = """\
A listener gets a list of messages and a context. Its result decides what happens to the messages:

| result | concurrent | orderly | Java |
| --- | --- | --- | --- |
| None (no `return`) | consumed | as `SUCCESS` | a failure |
| `CONSUME_SUCCESS` | consumed, up to `context.ack_index` | | the same |
| `SUCCESS` | | consumed; with `context.auto_commit=False` kept until `COMMIT` | the same |
| `RECONSUME_LATER` | again after 10 s, 30 s, 1 min, … or `context.delay_level` | | the same |
| `SUSPEND_CURRENT_QUEUE_A_MOMENT` | | again after a pause of the queue | the same |
| anything else | again | again | does not compile |
| an exception | again | again | the same |

An exception is the usual way to say that a message was not consumed; a status is not needed."""
"""What the result of a listener means."""

LAST_OFFSET: Final = """\
`consume_from_where` counts only in a queue where the group has no offset. The default,
`CONSUME_FROM_LAST_OFFSET`, means the end of the queue, and yet a new group may read old messages:
while a queue still has its very first message, and the broker (Java's or ours) expects that message
to be in memory, it answers that the group begins at 0. That is the rule for small and new topics,
so that a group that starts a moment after the first messages does not miss them. Once the first
messages were deleted or have left memory (`accessMessageInMemoryMaxRatio`), the group begins at the
end. `CONSUME_FROM_TIMESTAMP` meets the same answer.

Give a group that must not read old messages its offsets before it starts: `mqadmin offset reset
GROUP TOPIC --to latest`. A `SimpleConsumer` has the same exception; otherwise it begins with the
last message of each queue, as in RocketMQ 5."""
"""Why a new group may read old messages."""

POLLING: Final = """\
```python
async with MQClient("127.0.0.1:9876") as client, LitePullConsumer(client, "group") as consumer:
    consumer.subscribe("orders")
    await consumer.start()
    async for message in consumer:
        ...
```

A message counts as consumed when the loop asks for the next one, so leaving the loop early does
not lose any. If several messages are processed together, `poll` returns a batch, and a block says
when the batch is done, even without `auto_commit`:

```python
async with consumer.batch() as messages:
    await store(messages)
```

The end of the block commits. After an error the next poll returns the same messages again. In
blocking clients the same loops and blocks are `for` and `with`."""
"""How a lite pull consumer is read."""

SENDING: Final = """\
A send that fails is tried again until the time limit of the message (`send_msg_timeout_ms`, or
`timeout_s`): at once at another broker of the topic, then after pauses that begin with
`retry_backoff_ms` and double up to 1 s. Each attempt asks for a fresh route. A producer therefore
survives the restart of a broker (refused connections, "not ready", "not the master", "no such
topic"), for as long as the time limit. A queue that was chosen (`queue`, `select`, `sharding_key`)
is also tried again, and stays the same. A send without permission is tried again only twice,
because waiting does not help. A topic that has no route at all raises `NoRoute` at once. A message
whose answer was lost may be stored twice, with the same unique key.

`ProducerSettings(retry_backoff_ms=0)` is Java's rule: two more attempts without a pause, and only
one attempt for a chosen queue; `send_async` tries again only where no broker answered.

`send_async` returns a future at once, and nothing limits how many messages are under way.
`await producer.send_soon(message)` does the same, but waits while `max_in_flight` messages are
under way, so that a source that is faster than the brokers is slowed down."""
"""When a send is tried again, and how many are under way."""

TYPED: Final = """\
`producer.publish(value, topic)` sends a value as JSON, `message.body_as(Order)` reads one, and a
`Router` calls the handler of a topic and a tag:

```python
router = Router()


@router.handler("orders", "new || paid")
async def order_came(order: Order, message: MessageExt) -> None: ...


router.register(consumer)  # subscribes and sets the listener
```

Parameters are found by their annotations: `MessageExt`, `ConsumeConcurrentlyContext`, and any other
type for the body. Types may be dataclasses, models of pydantic (extra `pydantic`), structs of
msgspec (extra `msgspec`), and everything that JSON has; `bytes` and `str` are the body as it is.
The libraries are used only where an application passes their models. `Producer(serializer=…)`
and `Router(deserializer=…)` take other formats: functions `value -> bytes` and
`(bytes, type) -> value`.

A body that does not have the type goes to `%DLQ%group` at once, with an error in the log that
names the place. A message without a handler comes again, as after any exception."""
"""How values and handlers are typed."""

PROBES: Final = """\
`await client.ping()` asks a name server, and every broker of the client's producers and
consumers, and raises the error of one that does not answer: that is for readiness.
`consumer.is_running` and `consumer.last_poll_ms` (when a broker last answered a pull or a
`receive`) do not send requests: they are for liveness. `consumer.lag()` returns the entries that
are left in each queue of this member, as of its last pull.
[`examples/probes.py`](../examples/probes.py) serves them over HTTP, and
[`probes.yaml`](../examples/probes.yaml) has the probes of a Kubernetes deployment."""
"""What a health check asks."""

BROADCASTING: Final = """\
Each member keeps its offsets in `~/.rocketmq_offsets/IP@INSTANCE/GROUP/offsets.json`, the same file
as Java's. A process that is restarted, or that replaces a Java consumer, continues from there.
`INSTANCE` is `DEFAULT`, as in Java, unless `ClientSettings` have an `instance_name`; a `unit_name`
is appended, as in `IP@INSTANCE@UNIT`. `IP` is `client_ip`, or the address from which this machine
sends. `local_dir` of the consumer names another directory.

Members of one group on one machine each need their own `instance_name`. Without it they write
the same file, as in Java: each gets every message, and after a restart all continue where the
member was that wrote the file last."""
"""Where broadcasting consumers keep their offsets."""

TRACES: Final = """\
`MessageTrace` writes the trace messages of RocketMQ, which `mqadmin message trace` and the real
console read. `OpenTelemetryTrace` makes spans of OpenTelemetry instead (`pip install
'mqclient[otel]'`):

```python
trace = OpenTelemetryTrace()
producer.register_send_hook(trace)
consumer.register_consume_hook(trace)
```

Every consumer has `register_consume_hook`. A push consumer calls the hook around each call of its
listener, a lite pull consumer around a `batch` block, a simple consumer around a `consuming` block
or an `ack`. `poll` and `pull` call it before they return messages, as in Java, so there the span
does not contain the work on them.

The span of a send is `TOPIC publish`. Its context travels in properties of the message
(`traceparent`), and the span `TOPIC process` of a listener's call is its child. A call with several
messages is a span `multiple_sources receive` with a `TOPIC process` below it for each message,
which links to the span of its send. These names and the attributes are those of OpenTelemetry's
Java instrumentation, so a trace may cross services in both languages. Spans that a listener makes
are children of the span of its call."""
"""How traces are made."""

BAD_INPUT: Final = {
    "no name server answers": "`send` and every request raise `Unreachable` or `TimedOut`, which "
    "name all servers that were tried, unless the route is known. A known route is used until a "
    "name server returns another, however long that takes, so sends, heartbeats, consumption and "
    "commits continue as long as the brokers live. A consumer starts without a name server, and "
    "begins to consume when one answers.",
    "a name server that was restarted, or a topic that was deleted": "an answer without a route "
    "does not replace a known route, as in Java. What a broker of that route refuses is an error.",
    "no name server is given": "`BadRequest` when `MQClient` is made.",
    "a topic without a route": "`send` creates the topic if the brokers allow that (`TBW102`), "
    "and otherwise raises `NoRoute`. A consumer asks again with every rebalance.",
    "a group or topic name that is not allowed": "`BadRequest`; nothing leaves the process.",
    "a parameter out of its range, or a text for an enumeration": "`BadRequest` when the settings "
    "are made.",
    "a body that is not bytes, or a key, tag or property that is not text": "`BadRequest`; nothing "
    "leaves the process.",
    "a client in a second event loop or in a fork; a blocking call in the client's own loop": (
        "`BadRequest`: a client belongs to one loop of one process."
    ),
    "an SQL92 expression the broker cannot read": "`BrokerRefused` (23) from `start`.",
    "a listener that cannot be called with messages and a context, or is a generator": (
        "`BadRequest` when it is registered."
    ),
    "a listener that raises, or returns something that is neither None nor a status": "it is "
    "logged, and the "
    "messages come again: concurrent ones from the retry topic, orderly ones from the same queue "
    "after the pause. After `max_reconsume_times` they go to `%DLQ%group`. In broadcasting they "
    "are dropped, as in Java.",
    "a listener that raises `SystemExit` or a cancellation": "the same; it ends neither the "
    "consumer nor the process.",
    "a listener that hangs": "after `consume_timeout_min` its messages are sent back to the "
    "broker for another member, and its late result is ignored; an orderly listener keeps its "
    "queue, because nothing may overtake its messages, as in Java. A stop waits "
    "`await_termination_ms_when_shutdown` for it; its thread does not keep the process alive.",
    "a broker that takes no message back": "the message is sent to `%RETRY%group` again, on any "
    "broker. When none takes it, the consumer keeps it and tries it again after 5 s, and the "
    "offset does not pass it.",
    "a body that cannot be decompressed": "no listener gets the message; it goes to `%DLQ%group` "
    "as it is stored (in broadcasting it is dropped), and is logged. `poll`, `pull` and queries "
    "return it: its `body` raises `BadAnswer`, and its `record.body` has the bytes.",
    "a stored body that is not what was sent (CRC)": "as with one that cannot be decompressed.",
    "a pull answer with bytes that are not a record": "the messages before them are consumed. "
    "Those bytes are requested once more, alone. Then the offset passes them, with an error in "
    "the log that names broker, queue and offset, and the messages behind them are consumed.",
    "a query answer with bytes that are not a record": "`BadAnswer`.",
    "an offset outside of the queue": "logged; the consumer continues at the end that the broker "
    "names.",
    "a second member of a group in one client": "`BadRequest` from `start`; the first member goes "
    "on.",
    "a received message that is not acknowledged in time": "the group receives it again, with "
    "`reconsume_times` one higher; after `max_reconsume_times` it goes to `%DLQ%group`.",
    "a receipt handle that no broker gave": "`BadRequest`; nothing leaves the process.",
    "a broker that does not know POP": "`BrokerRefused` (3) from `receive`, `ack` and "
    "`change_invisible_time`, which names the broker.",
    "a crash, a stop or a rebalance between `poll` and the next `poll`": "the batch is delivered "
    "again, however long its owner was at work; with `auto_commit=False` so are all messages since "
    "the last `commit`.",
    "a `start` that fails or is cancelled": "the group has no such member; another consumer of the "
    "group may start.",
}
"""What the client does with bad input."""


def client() -> str:
    """Return docs/client.md."""
    lines = [
        "# The client",
        "",
        "<!-- Printed by `make docs` from the code; edit the code, not this file. -->",
        "",
        "The names are those of the Java client 4.9.7 in snake_case, so its documentation applies.",
        "`_ms`, `_s` and `_min` are the units of times. A `queue_offset` counts entries of a",
        "queue. `from mqclient import …` imports every public name.",
        "",
        "All errors are `ClientError`s with `code`, `remark`, `address`, `hint` and `retriable`.",
        "",
        "In place of Java's `sendMsgTimeout` of 3 s the client's `timeout_s` (5 s) applies unless",
        "`send_msg_timeout_ms` is set; `timeout_s` is the one limit for every request of a client.",
        "",
        "Programs that do not use `await` take `BlockingClient(namesrv)` and, made with it,",
        "`BlockingProducer`, `BlockingTransactionProducer`, `BlockingPushConsumer`,",
        "`BlockingLitePullConsumer`, `BlockingSimpleConsumer`, `BlockingPullConsumer` or",
        "`BlockingAdmin`. Each has the methods, parameters and results of the class without",
        "`Blocking`, and each call waits.",
        "Listeners that are plain functions run in threads and may make such calls. A coroutine",
        "listener runs in the client's loop, where a blocking call is refused; it awaits the",
        "methods of the object's `own` instead.",
        "",
        "Where a C compiler is, the installation compiles what a client does in bulk: it writes",
        "sends, reads their answers and decodes pulled messages in C, with the same results.",
        "",
        "An object that was shut down (or left its `with` block) refuses every call; make a new",
        "one.",
    ]
    for settings, usage in PAGES.values():
        lines += ["", f"## {settings.__name__}", "", f"For {usage}.", ""]
        lines += ["| parameter | default | meaning |", "| --- | --- | --- |"]
        meanings = parameters(settings)
        lines += [
            f"| `{item.name}` | {_default(item)} | {meanings[item.name]} |"
            for item in fields(settings)  # type: ignore[arg-type]
        ]
    lines += ["", "## Java's other parameters", "", "| parameter | here |", "| --- | --- |"]
    lines += [f"| `{name}` | {here} |" for name, here in ELSEWHERE.items()]
    lines += ["", "## Namespaces", "", *NAMESPACE.splitlines()]
    lines += ["", "## Ids of a message", "", *IDS.splitlines()]
    lines += ["", "## Sending", "", *SENDING.splitlines()]
    lines += ["", "## Polling", "", *POLLING.splitlines()]
    lines += ["", "## Typed bodies and handlers", "", *TYPED.splitlines()]
    lines += ["", "## What a listener returns", "", *LISTENERS.splitlines()]
    lines += ["", "## Where a new group begins", "", *LAST_OFFSET.splitlines()]
    lines += ["", "## Receiving and acknowledging (POP)", "", *POP.splitlines()]
    lines += ["", "## Positions in broadcasting", "", *BROADCASTING.splitlines()]
    lines += ["", "## Probes", "", *PROBES.splitlines()]
    lines += ["", "## Traces", "", *TRACES.splitlines()]
    lines += ["", "## What it does with bad input", "", "| input | behaviour |", "| --- | --- |"]
    lines += [f"| {what} | {says} |" for what, says in BAD_INPUT.items()]
    return "\n".join(lines) + "\n"


def parameters(settings: type[Settings]) -> dict[str, str]:
    """Return the meaning of each parameter, from the docstring."""
    # From Python 3.13 on the compiler takes the indentation away; this does it on older versions.
    text = inspect.getdoc(settings) or ""
    found = _ATTRIBUTE.findall(text)
    return {name: " ".join(meaning.split()).replace("``", "`") for name, meaning in found}


def _default(item: "Field[Any]") -> str:
    value = item.default
    if value is MISSING:
        return "required"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, frozenset):
        return ", ".join(f"{code.name} {code:d}" for code in sorted(value))
    if callable(value):
        return f"`{value.__name__}`"
    return f"`{value!r}`"
