"""``topic order-conf``: how many queues of an ordered topic each broker has for good.

An ordered topic keeps its queues on their brokers, also while one of them is down; the name
servers hold that as BROKER:QUEUES;BROKER:QUEUES in their key-value table.

Requests on each name server: GET_KV_CONFIG, and PUT_KV_CONFIG or DELETE_KV_CONFIG.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from mqadmin.call import Call
from mqadmin.errors import NotFound, Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import NOT_FOUND, UNCHANGED, Outcome, Row, exit_code_of
from mqadmin.topicorder import order_entries
from mqadmin.writes import Declined, Done, carry_out, plan
from storefmt.paths import check_topic_name

CONF: Final = re.compile(r"[^:;\s]+:[1-9][0-9]*(;[^:;\s]+:[1-9][0-9]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The topic, and its configuration where one is set."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    conf: Annotated[
        str | None, argument("the new one", metavar="BROKER:QUEUES[;BROKER:QUEUES...]")
    ] = None
    method: Annotated[
        Literal["get", "put", "delete"] | None,
        option("get, put or delete; put where a new one is given, else get"),
    ] = None


@dataclass(frozen=True, slots=True)
class OrderConf(Row):
    """A topic's order configuration at one name server, before and after the call."""

    topic: str
    namesrv: str
    order_conf: str | None
    was: str | None
    result: str
    remark: str | None


@command(
    "topic order-conf",
    "show or set how many queues of an ordered topic each broker has",
    examples=(
        ("mqadmin topic order-conf orders", "what the name servers have"),
        ("mqadmin topic order-conf orders 'broker-a:4;broker-b:4'", "set it"),
        ("mqadmin topic order-conf orders --method delete -y", "remove it"),
    ),
    rows=OrderConf,
    columns=("namesrv", "order_conf", "was", "result", "remark"),
    writes=True,
    java=(
        Java(
            "updateOrderConf",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("v", "orderConf", "conf"),
                JavaOption("m", "method", "method", required=True),
            ),
        ),
    ),
)
async def order_conf(call: Call, args: Arguments) -> Outcome:
    """Return one row a name server.

    Raises:
        Usage: the configuration is missing or is none.
        NotFound: no name server has one.
    """
    check_topic_name(args.topic)
    method = args.method or ("get" if args.conf is None else "put")
    if method == "put" and (args.conf is None or not CONF.fullmatch(args.conf)):
        raise Usage(f"{args.conf!r} is no order configuration", hint="as broker-a:4;broker-b:4")
    if method != "put" and args.conf is not None:
        raise Usage(f"a configuration {args.conf!r} and --method {method}", hint="give one")

    def choose(old: str | None) -> str | None:
        if method != "put" and old is None:
            raise Declined(NOT_FOUND)
        return {"put": args.conf, "get": old, "delete": None}[method]

    done = await carry_out(
        call,
        await plan(await order_entries(call, args.topic), choose),
        title=f"topic order-conf {args.topic}",
        question=f"delete the order configuration of topic {args.topic}?"
        if method == "delete"
        else None,
    )
    if method == "get" and all(one.result == NOT_FOUND for one in done):
        raise NotFound(
            f"topic {args.topic} has no order configuration", hint="`topic order-conf -h`"
        )
    rows = [_row(args.topic, one) for one in done]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _row(topic: str, done: Done[str]) -> OrderConf:
    was = None if done.result == UNCHANGED else done.step.old
    return OrderConf(
        topic, done.step.thing.place.address, done.value, was, done.result, done.remark
    )
