"""A stored message handed to one live consumer: the row, and how it is done."""

from dataclasses import dataclass

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.findmessage import find_message
from mqadmin.rows import WOULD_CHANGE, Row

SUCCESS = ("CR_SUCCESS", "CR_COMMIT")
"""How a listener says that all is well: one that reads in parallel, and one that keeps order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed(Row):
    """What became of it; ``spent_ms`` is how long the listener took."""

    msg_id: str
    group: str
    client_id: str
    result: str
    spent_ms: int | None
    order: bool | None
    auto_commit: bool | None
    remark: str | None


async def hand_over(
    call: Call, message_id: str, *, topic: str | None, group: str, client_id: str | None
) -> Handed:
    """Run a stored message through a consumer and return what came of it.

    Raises:
        NotFound: no such message, or nobody of the group is online.
        BrokerRefused: the client is not connected, or does not answer.
    """
    admin = await call.admin()
    found = await find_message(call, message_id, topic=topic)
    address = found.store_host
    if client_id is None:
        members = await admin.consumer_ids(address, group)
        if not members:
            raise NotFound(
                f"nobody of group {group} is online at {address}", hint="start a consumer"
            )
        client_id = members[0]
    if call.dry_run:
        return Handed(
            msg_id=found.msg_id,
            group=group,
            client_id=client_id,
            result=WOULD_CHANGE,
            spent_ms=None,
            order=None,
            auto_commit=None,
            remark=None,
        )
    await call.confirm(f"let {client_id} of group {group} consume {found.msg_id} now?")
    told = await admin.consume_message_directly(address, group, client_id, found.msg_id)
    result = told.consume_result.name if told.consume_result is not None else "no answer"
    return Handed(
        msg_id=found.msg_id,
        group=group,
        client_id=client_id,
        result=result,
        spent_ms=told.spent_time_mills,
        order=told.order,
        auto_commit=told.auto_commit,
        remark=told.remark,
    )
