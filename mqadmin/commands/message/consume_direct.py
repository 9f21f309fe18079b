"""``message consume-direct``: give a stored message to a live consumer and show its answer.

Request: CONSUME_MESSAGE_DIRECTLY at the broker that has the message; the broker asks the
client, whose listener runs as for any other message. No offset moves.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Outcome, Row, argument, command
from mqadmin.cli.decorators import group_argument, topic_of_id
from mqadmin.cli.types import CLIENT
from mqadmin.errors import ItemNotFound
from mqadmin.messages.find import find_message, split_ids
from mqadmin.output.rows import PARTLY, WOULD_CHANGE

SUCCESS = ("CR_SUCCESS", "CR_COMMIT")
"""The results that mean success, of concurrent and of orderly listeners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectConsumption(Row):
    """The result; ``spent_ms`` is how long the listener took."""

    msg_id: str
    group: str
    client_id: str
    result: str
    spent_ms: int | None = None
    order: bool | None = None
    auto_commit: bool | None = None
    remark: str | None = None


@command(
    "message consume-direct",
    examples=(
        ("mqadmin message consume-direct 7F0000010000... billing", "to a member of billing"),
        ("mqadmin message consume-direct AC11... billing --topic orders", "by its unique id"),
        (
            "mqadmin message consume-direct broker-a:3:17 billing --topic orders",
            "by queue and offset",
        ),
    ),
    details="The listener runs with all its side effects. The exit code is 1 if it does not "
    "succeed.",
    rows=DirectConsumption,
    writes=True,
)
@argument(
    "message_id",
    metavar="ID|KEY|PLACE",
    help="an offset id; with --topic a unique id, a key or QUEUE:OFFSET; A,B for two",
)
@group_argument()
@click.option("--client", type=CLIENT, help="the member that gets it; the first if left out")
@topic_of_id
async def consume_direct(
    call: Call, *, message_id: str, group: str, client: str | None, topic: str | None
) -> Outcome:
    """Return one row for each message with the result of the listener.

    Raises:
        ItemNotFound: the message does not exist, or the group has no members online.
    """
    rows = [
        await _hand_over(call, each, topic=topic, group=group, client_id=client)
        for each in split_ids([message_id])
    ]
    bad = [row for row in rows if row.result not in (*SUCCESS, WOULD_CHANGE)]
    return Outcome(rows, exit_code=0 if not bad else 1 if len(bad) == len(rows) else PARTLY)


async def _hand_over(
    call: Call, message_id: str, *, topic: str | None, group: str, client_id: str | None
) -> DirectConsumption:
    """Have a consumer consume a stored message, and return the result.

    Raises:
        ItemNotFound: the message does not exist, or the group has no members online.
        BrokerRefused: the client is not connected, or does not answer.
    """
    admin = await call.admin()
    message = await find_message(call, message_id, topic=topic)
    address = message.store_host
    if client_id is None:
        members = await admin.consumer_ids(address, group)
        if not members:
            raise ItemNotFound(
                f"group {group} has no members online at {address}", hint="start a consumer"
            )
        client_id = members[0]
    if call.dry_run:
        return DirectConsumption(
            msg_id=message.offset_msg_id, group=group, client_id=client_id, result=WOULD_CHANGE
        )
    await call.confirm(f"have {client_id} of group {group} consume {message.offset_msg_id} now?")
    answer = await admin.consume_message_directly(address, group, client_id, message.offset_msg_id)
    result = answer.consume_result.name if answer.consume_result is not None else "no answer"
    return DirectConsumption(
        msg_id=message.offset_msg_id,
        group=group,
        client_id=client_id,
        result=result,
        spent_ms=answer.spent_time_mills,
        order=answer.order,
        auto_commit=answer.auto_commit,
        remark=answer.remark,
    )
