"""``topic order-conf``: show and set how many queues of an ordered topic each broker keeps.

An ordered topic keeps its queues on their brokers, also while one of them is down; the name
servers hold that as BROKER:QUEUES;BROKER:QUEUES in their key-value table.

Requests on each name server: GET_KV_CONFIG, and PUT_KV_CONFIG or DELETE_KV_CONFIG.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

import click

from mqadmin.changes.topic_order import order_entries
from mqadmin.changes.write import Declined, carry_out, plan
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import topic_argument
from mqadmin.cli.types import Choice
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.output.rows import NOT_FOUND, UNCHANGED
from storefmt.paths import check_topic_name

CONF: Final = re.compile(r"[^:;\s]+:[1-9][0-9]*(;[^:;\s]+:[1-9][0-9]*)*")


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
    examples=(
        ("mqadmin topic order-conf orders", "show the configuration"),
        ("mqadmin topic order-conf orders broker-a:4,broker-b:4", "set it"),
        ("mqadmin topic order-conf orders --method delete -y", "delete the configuration"),
    ),
    rows=OrderConf,
    columns=("namesrv", "order_conf", "was", "result", "remark"),
    writes=True,
)
@topic_argument()
@argument(
    "conf",
    required=False,
    metavar="BROKER:QUEUES[,BROKER:QUEUES...]",
    help="the new order configuration",
)
@click.option(
    "--method",
    type=Choice(["get", "put", "delete"]),
    help="get, put or delete; by default put if a configuration is given, else get",
)
async def order_conf(
    call: Call, *, topic: str, conf: str | None, method: Literal["get", "put", "delete"] | None
) -> Outcome:
    """Return one row for each name server.

    Raises:
        Usage: the configuration is missing or invalid.
        ItemNotFound: no name server has one.
    """
    check_topic_name(topic)
    # A shell ends a command at the `;` that the name server keeps.
    conf = conf.replace(",", ";") if conf is not None else None
    method = method or ("get" if conf is None else "put")
    if method == "put" and (conf is None or not CONF.fullmatch(conf)):
        raise Usage(f"{conf!r} is not an order configuration", hint="such as broker-a:4,broker-b:4")
    if method != "put" and conf is not None:
        raise Usage(f"CONF {conf!r} excludes --method {method}", hint="give one")

    def choose(old: str | None) -> str | None:
        if method != "put" and old is None:
            raise Declined(NOT_FOUND)
        return {"put": conf, "get": old, "delete": None}[method]

    results = await carry_out(
        call,
        await plan(await order_entries(call, topic), choose),
        title=f"topic order-conf {topic}",
        question=f"delete the order configuration of topic {topic}?"
        if method == "delete"
        else None,
    )
    if method == "get" and all(result.result == NOT_FOUND for result in results):
        raise ItemNotFound(
            f"topic {topic} has no order configuration", hint="`topic order-conf -h`"
        )
    rows = [
        OrderConf.of(
            result,
            topic=topic,
            namesrv=result.address,
            order_conf=result.value,
            was=None if result.result == UNCHANGED else result.step.old,
        )
        for result in results
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
