"""The three requests that have brokers delete what is expired: one row a broker.

Rule: a broker answers that it was asked, not what it removed; the result is ``done``, and
nothing here claims more.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from mqadmin.changes.write import attempt
from mqadmin.cli.decorators import Where
from mqadmin.cluster.brokers import masters
from mqadmin.output.rows import Outcome, Row, exit_code_of
from mqadmin.session.call import Call

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

DONE: Final = "done"


@dataclass(frozen=True, slots=True)
class Cleaned(Row):
    """One broker that was asked."""

    broker: str
    address: str
    result: str
    remark: str | None


async def clean(
    call: Call,
    what: str,
    ask: "Callable[[Admin, str], Awaitable[None]]",
    *,
    where: Where,
) -> Outcome:
    """Ask each broker and return a row for each.

    Args:
        what: what it deletes, for the question.
        ask: sends the request to an address.

    Raises:
        NotFound: there is no such cluster or broker.
    """
    admin = await call.admin()
    places = await masters(admin, where, every=True)
    await call.confirm(f"delete {what} on {len(places)} broker(s)?")
    rows = []
    for place in places:
        result, remark = await attempt(call, partial(ask, admin, place.address), done=DONE)
        rows.append(Cleaned(place.broker, place.address, result, remark))
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
