"""docs/client.md: every parameter of the client, with its default, from the settings classes.

Rule: the meaning of a parameter is written once, in the docstring of its class.
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any, ClassVar, Final, Protocol

from mqclient.client.settings import ClientSettings
from mqclient.consumer.settings import LitePullSettings, PushSettings
from mqclient.producer.settings import ProducerSettings

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
    "adjustThreadPoolNumsThreshold": "nothing: in Java it adjusts nothing any more",
    "clientCallbackExecutorThreads": "nothing: callbacks run in the event loop, not in threads",
    "consumerGroup": "`group` of the constructor",
    "consumerPullTimeoutMillis": "nothing: a pull may take `consumer_timeout_ms_when_suspend`",
    "customizedTraceTopic": "`MessageTrace(client, topic=…)`",
    "enableMsgTrace": "a `MessageTrace` that is registered as a hook",
    "enableStreamRequestType": "nothing: it adds a mark that no broker of 4.9 looks at",
    "language": "nothing: requests say `PYTHON`",
    "messageListener": "`register_message_listener`",
    "messageQueueListener": "nothing: `assignment()` tells the queues",
    "mqClientApiTimeout": "`timeout_s` of `MQClient`, for every request",
    "namesrvAddr": "`namesrv` of `MQClient`",
    "offsetStore": "`offsets` of a `PushConsumer`",
    "persistConsumerOffsetInterval": "`PushSettings` have it; who polls commits every "
    "`auto_commit_interval_ms`",
    "producerGroup": "`group` of the constructor",
    "pullThreadNums": "nothing: pulls need no threads",
    "pullTimeDelayMillsWhenException": "`PushSettings` and `LitePullSettings` have it",
    "subscription": "`subscribe`",
    "traceDispatcher": "a `MessageTrace` that is registered as a hook",
    "unitMode": "`unit_mode` of each producer and consumer",
    "useTLS": "`tls` of `MQClient`",
}
"""What became of the parameters of the Java classes that no settings of ours have."""

NAMESPACE: Final = """\
With `ClientSettings(namespace="N")` every topic and group of the producers and consumers of a
client is the tenant's own: `T` is `N%T` for brokers, name servers and tools, `G` is `N%G`, its
retry topic `%RETRY%N%G`, its dead letters `%DLQ%N%G`. System topics (`TBW102`, …) and groups
(`CID_RMQ_SYS_…`) stay as they are. Messages carry the namespace as property `INSTANCE_ID`.

Topics may be given with the namespace or without. Messages, results of sends, queues that are
fetched or shown to `select`, and traces are without it; `group`, `assignment()`, the queue of a
listener's context and hooks' groups are with it, and so are the `configured_queues` of
strategy CONFIG: all as in Java. `Admin` knows no namespace and takes names as they travel."""
"""What a namespace does."""

BROADCASTING: Final = """\
Each member keeps its positions in `~/.rocketmq_offsets/IP@INSTANCE/GROUP/offsets.json`, Java's
file: a process that is started again, or takes the place of a Java consumer, goes on where that
was. `INSTANCE` is `DEFAULT`, as in Java, unless `ClientSettings` have an `instance_name`; a
`unit_name` is appended, `IP@INSTANCE@UNIT`. `IP` is `client_ip`, or the address this machine
sends from. `local_dir` of the consumer names another directory.

Members of one group on one machine need an `instance_name` each. Without, they write one file, as
in Java: each gets every message, and after a restart all go on where the last to write was."""
"""Where positions of broadcasting consumers are."""

BAD_INPUT: Final = {
    "no name server answers": "`send` and every question raise `Unreachable` or `TimedOut` naming "
    "all that were tried, unless the route is known: a route is used until a name server gives "
    "another, however long that takes, so sends, heartbeats, consumption and positions go on as "
    "long as the brokers live. A consumer starts without, and begins once one answers.",
    "a name server that was restarted, or a topic that was deleted": "no route in an answer is no "
    "new route: the known one is used on, as in Java. What a broker of it refuses is an error.",
    "no name server is given": "`BadRequest` when `MQClient` is made.",
    "a topic without a route": "`send` makes the topic where the brokers may (`TBW102`), else "
    "raises `NoRoute`. A consumer asks again with every rebalance.",
    "a group or topic name that is not allowed": "`BadRequest`; nothing leaves the process.",
    "a parameter out of its range, or a text for an enumeration": "`BadRequest` when the settings "
    "are made.",
    "a body that is no bytes, a key, tag or property that is no text": "`BadRequest`; nothing "
    "leaves the process.",
    "a client in a second event loop or in a fork; a call that waits, in the loop it waits for": (
        "`BadRequest`: a client lives in one loop of one process."
    ),
    "an SQL92 expression the broker cannot read": "`BrokerRefused` (23) from `start`.",
    "a listener that raises, or answers what is no status": "logged; the messages come again: "
    "concurrent ones from the retry topic, orderly ones at once after the pause. After "
    "`max_reconsume_times` they go to `%DLQ%group`. In broadcasting they are dropped, as in Java.",
    "a listener that raises `SystemExit` or a cancellation": "the same; it ends neither the "
    "consumer nor the process.",
    "a listener that hangs": "after `consume_timeout_min` its messages are given back to the "
    "broker for another member, and its late answer counts for nothing; an orderly one keeps its "
    "queue, because nothing may overtake its messages, as in Java. A stop waits "
    "`await_termination_ms_when_shutdown` for it; its thread does not keep the process.",
    "a broker that takes no message back": "the message is sent to `%RETRY%group` anew, on any "
    "broker. When none takes it, it stays, is tried again here after 5 s, and the position does "
    "not pass it.",
    "a body that cannot be decompressed": "no listener gets the message; it goes to `%DLQ%group` "
    "as it is stored (broadcasting: it is dropped), and is logged. `poll`, `pull` and queries give "
    "it: its `body` raises `BadAnswer`, its `record.body` has the bytes.",
    "a stored body that is not what was sent (CRC)": "as one that cannot be decompressed.",
    "a pull answer with bytes that are no record": "what comes before them is consumed. Those "
    "bytes are asked for once more, alone; then the position passes them with an error in the log "
    "that names broker, queue and offset, and what comes behind them is consumed.",
    "a query answer with bytes that are no record": "`BadAnswer`.",
    "a position outside of the queue": "logged; the consumer goes on at the end the broker names.",
    "a second member of a group in one client": "`BadRequest` from `start`; the first goes on.",
    "a crash, a stop or a rebalance between `poll` and the next `poll`": "the batch is given "
    "again, however long its owner was at work; with `auto_commit=False` all since the last "
    "`commit`.",
    "a `start` that fails or is cancelled": "the group has no such member; another consumer of the "
    "group may start.",
}
"""What the client does with what it should not get."""


def client() -> str:
    """Return docs/client.md."""
    lines = [
        "# The client",
        "",
        "<!-- Printed by `make docs` from the code; edit the code, not this file. -->",
        "",
        "Names are those of the Java client 4.9.7 in snake_case, so its documentation applies;",
        "`_ms`, `_s` and `_min` say the unit of a time. Positions (`queue_offset`) count",
        "entries of a queue. `from mqclient import …` gives every public name.",
        "",
        "Errors are `ClientError`s with `code`, `remark`, `address`, `hint` and `retriable`.",
        "",
        "Java's `sendMsgTimeout` of 3 s is the client's `timeout_s` (5 s) here unless it is set:",
        "one limit for everything a client asks.",
        "",
        "Programs that do not await take `BlockingClient(namesrv)` and, made with it,",
        "`BlockingProducer`, `BlockingTransactionProducer`, `BlockingPushConsumer`,",
        "`BlockingLitePullConsumer`, `BlockingPullConsumer`, `BlockingAdmin` for the class of the",
        "same name: the same methods, parameters and results, the calls wait. Listeners that are",
        "plain functions run in threads and may call all of it; a coroutine listener runs in the",
        "client's loop, where a call that waits is refused: it awaits the object's `own` instead.",
        "",
        "What was shut down (or left its `with` block) refuses everything; a new one is made.",
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
    lines += ["", "## Positions in broadcasting", "", *BROADCASTING.splitlines()]
    lines += ["", "## What it does with bad input", "", "| input | behaviour |", "| --- | --- |"]
    lines += [f"| {what} | {says} |" for what, says in BAD_INPUT.items()]
    return "\n".join(lines) + "\n"


def parameters(settings: type[Settings]) -> dict[str, str]:
    """Return the meaning of each parameter, from the docstring."""
    # From Python 3.13 on the compiler takes the indentation away; this does it before, too.
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
