"""``broker clean …``: brokers delete what is past its age or belongs to nothing: one row a broker.

    expired-log       DELETE_EXPIRED_COMMITLOG: log files past their age now, not at the usual hour
    expired-queues    CLEAN_EXPIRED_CONSUMEQUEUE: consume queues whose messages are all gone
    unused-topics     CLEAN_UNUSED_TOPIC: the queues of topics that have no settings any more

Rule: a broker answers that it was asked, not what it removed; the result is ``done``, and
nothing here claims more.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from mqadmin.changes.write import attempt
from mqadmin.cli.command import Run
from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, to_clean
from mqadmin.cluster.brokers import masters
from mqadmin.output.rows import Outcome, Row, exit_code_of
from mqadmin.session.call import Call
from mqclient.admin.admin import Admin

DONE: Final = "done"


@dataclass(frozen=True, slots=True)
class CleanResult(Row):
    """One broker that was asked."""

    broker: str
    address: str
    result: str
    remark: str | None


def _clean(what: str, ask: Callable[[Admin, str], Awaitable[None]]) -> Run:
    """Return what asks each broker, and returns a row for each.

    Args:
        what: what it deletes, for the question.
        ask: sends the request to an address.
    """

    @to_clean
    async def clean(call: Call, *, where: Where) -> Outcome:
        admin = await call.admin()
        nodes = await masters(admin, where, every=True)
        await call.confirm(f"delete {what} on {len(nodes)} broker(s)?")
        rows = []
        for node in nodes:
            result, remark = await attempt(call, partial(ask, admin, node.address), done=DONE)
            rows.append(CleanResult(node.broker, node.address, result, remark))
        return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))

    return clean


clean_expired_log = command(
    "broker clean expired-log",
    examples=(("mqadmin broker clean expired-log -b broker-a -y", "on one broker"),),
    rows=CleanResult,
    writes=True,
)(_clean("commit log files past their age", Admin.delete_expired_log))

clean_expired_queues = command(
    "broker clean expired-queues",
    examples=(("mqadmin broker clean expired-queues -b broker-a -y", "on one broker"),),
    rows=CleanResult,
    writes=True,
)(_clean("queues without messages", Admin.clean_expired_queues))

clean_unused_topics = command(
    "broker clean unused-topics",
    examples=(("mqadmin broker clean unused-topics -b broker-a -y", "on one broker"),),
    rows=CleanResult,
    writes=True,
)(_clean("queues of topics without settings", Admin.clean_unused_topics))
