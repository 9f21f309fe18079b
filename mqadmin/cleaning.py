"""The three requests that have brokers delete what is expired: one row a broker.

Rule: a broker answers that it was asked, not what it removed; the result is ``done``, and
nothing here claims more.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.places import masters
from mqadmin.registry import JavaOption
from mqadmin.rows import WOULD_CHANGE, Outcome, Row, exit_code_of
from mqadmin.writes import result_of
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

DONE: Final = "done"
JAVA_OPTIONS: Final = (
    JavaOption("b", "brokerAddr", "broker"),
    JavaOption("c", "cluster", "cluster"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which brokers; every one where neither is given."""

    broker: Annotated[
        str | None, option("on this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("on the masters of a cluster", kind=Kind.CLUSTER)] = None


@dataclass(frozen=True, slots=True)
class Cleaned(Row):
    """One broker that was asked."""

    broker: str
    address: str
    result: str
    remark: str | None


async def clean(
    call: Call,
    args: Arguments,
    what: str,
    ask: "Callable[[Admin, str], Awaitable[None]]",
) -> Outcome:
    """Ask each broker and return a row for each.

    Args:
        what: what it deletes, for the question.
        ask: sends the request to an address.

    Raises:
        NotFound: there is no such cluster or broker.
    """
    admin = await call.admin()
    places = await masters(admin, broker=args.broker, cluster=args.cluster, every=True)
    await call.confirm(f"delete {what} on {len(places)} broker(s)?")
    rows = []
    for place in places:
        result, remark = DONE, None
        if call.dry_run:
            result = WOULD_CHANGE
        else:
            try:
                await ask(admin, place.address)
            except ClientError as error:
                result, remark = result_of(error)
        rows.append(Cleaned(place.broker, place.address, result, remark))
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
