"""``broker clean …``: have brokers delete what is too old or no longer used.

    expired-log       DELETE_EXPIRED_COMMITLOG: log files past their age now, not at the usual hour
    expired-queues    CLEAN_EXPIRED_CONSUMEQUEUE: consume queues whose messages are all gone
    unused-topics     CLEAN_UNUSED_TOPIC: the queues of topics that no longer have settings

Rule: a broker confirms the request but does not say what it removed, so the result is ``done``, and
nothing here claims more.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from mqadmin.changes.write import attempt
from mqadmin.cli.declare import Call, Command, Outcome, Row, command, exit_code_of
from mqadmin.cli.decorators import Where, to_clean
from mqadmin.cluster.brokers import masters
from mqclient.admin.admin import Admin

DONE: Final = "done"


@dataclass(frozen=True, slots=True)
class CleanResult(Row):
    """One broker that was asked."""

    broker: str
    address: str
    result: str
    remark: str | None


def _clean(verb: str, what: str, ask: Callable[[Admin, str], Awaitable[None]]) -> Command:
    """Declare a command that asks each broker, and returns a row for each.

    Args:
        what: what it deletes, for the question.
        ask: sends the request to an address.
    """

    @command(
        f"broker clean {verb}",
        examples=((f"mqadmin broker clean {verb} -b broker-a -y", "on one broker"),),
        rows=CleanResult,
        writes=True,
    )
    @to_clean
    async def clean(call: Call, *, where: Where) -> Outcome:
        admin = await call.admin()
        nodes = await masters(admin, where, every=True)
        await call.confirm(f"delete {what} on {len(nodes)} broker(s)?")
        rows = []
        for node in nodes:
            result, remark = await attempt(call, partial(ask, admin, node.address), success=DONE)
            rows.append(CleanResult(node.broker, node.address, result, remark))
        return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))

    return clean


clean_expired_log = _clean("expired-log", "expired commit log files", Admin.delete_expired_log)
clean_expired_queues = _clean(
    "expired-queues", "queues without messages", Admin.clean_expired_queues
)
clean_unused_topics = _clean(
    "unused-topics", "queues of topics that have no settings", Admin.clean_unused_topics
)
