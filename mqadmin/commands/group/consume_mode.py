"""``group consume-mode get``, ``set``: whether the members of a group pull from a topic or pop.

get    GET_ALL_MESSAGE_REQUEST_MODE on each master (RocketMQ 5)
set    the same, SET_MESSAGE_REQUEST_MODE, and the first again to read it back
"""

from dataclasses import dataclass

import click

from mqadmin.changes.targets.consume_mode import ConsumeMode, ConsumeModeTarget
from mqadmin.changes.write import carry_out, plan
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import (
    Where,
    group_argument,
    of_masters,
    of_topic,
    on_masters,
    topic_argument,
)
from mqadmin.cli.types import GROUP, Choice, Integer
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.partial_answers import Answers


@dataclass(frozen=True, slots=True)
class ConsumeModeRow(Row):
    """A group and topic; ``share_queues`` further members read each queue, 0 means all."""

    group: str
    topic: str
    broker: str
    address: str
    mode: str
    share_queues: int


@command(
    "group consume-mode get",
    examples=(("mqadmin group consume-mode get billing", "of one group, topic by topic"),),
    details="Only modes that were set are listed; a group pulls from its other topics. The mode "
    "applies to push consumers that let the broker assign queues. Simple consumers always pop.",
    rows=ConsumeModeRow,
    columns=("group", "topic", "broker", "mode", "share_queues"),
)
@argument("group", type=GROUP, required=False, help="only of this group")
@of_topic()
@of_masters
async def get_consume_mode(
    call: Call, *, group: str | None, topic: str | None, where: Where
) -> Outcome:
    """Return one row for each group, topic and broker that a mode was set for.

    Raises:
        ItemNotFound: the broker does not exist.
    """
    admin = await call.admin()
    nodes = await masters(admin, where, every=True)
    answers = Answers(call)
    tables = await answers.each(nodes, lambda node: admin.message_request_modes(node.address))
    rows = [
        ConsumeModeRow(
            name,
            of,
            node.broker,
            node.address,
            body.mode.name if body.mode else "PULL",
            body.pop_share_queue_num,
        )
        for node, table in tables
        for (name, of), body in sorted(table.items())
        if group in (None, name) and topic in (None, of)
    ]
    return Outcome(rows, exit_code=answers.exit_code)


@dataclass(frozen=True, slots=True)
class ConsumeModeChange(Row):
    """The mode at one broker after the call; ``was`` is the one before."""

    group: str
    topic: str
    broker: str
    address: str
    mode: str | None
    share_queues: int | None
    was: str | None
    result: str
    remark: str | None


@command(
    "group consume-mode set",
    examples=(
        ("mqadmin group consume-mode set billing orders POP", "the members pop"),
        ("mqadmin group consume-mode set billing orders PULL", "the members pull again"),
    ),
    rows=ConsumeModeChange,
    columns=("group", "topic", "broker", "mode", "share_queues", "was", "result", "remark"),
    writes=True,
)
@group_argument()
@topic_argument()
@argument("mode", type=Choice(["PULL", "POP"]), help="PULL or POP")
@click.option(
    "--share-queues",
    type=Integer(min=0),
    default=0,
    help="with POP: how many additional members share each queue; 0 for all",
)
@on_masters
async def set_consume_mode(
    call: Call, *, group: str, topic: str, mode: str, share_queues: int, where: Where
) -> Outcome:
    """Return one row for each broker.

    Raises:
        ItemNotFound: the cluster or broker does not exist.
    """
    admin = await call.admin()
    nodes = await masters(admin, where)
    consume_mode = ConsumeMode(mode, share_queues)
    steps = await plan(
        [ConsumeModeTarget(admin, node, (group, topic)) for node in nodes], lambda _: consume_mode
    )
    results = await carry_out(call, steps, title=f"group consume-mode set {group} {topic}")
    rows = [
        ConsumeModeChange.of(
            result,
            group=group,
            topic=topic,
            mode=result.value.mode if result.value else None,
            share_queues=result.value.share_queues if result.value else None,
            was=result.step.old.mode if result.step.old else None,
        )
        for result in results
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
