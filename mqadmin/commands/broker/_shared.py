"""What ``broker promote`` and ``broker demote`` share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mqadmin.changes.write import attempt
from mqadmin.cli.declare import Call, Outcome, Row, exit_code_of
from mqadmin.cluster.brokers import ServerNode


@dataclass(frozen=True, slots=True)
class RoleChange(Row):
    """One broker; ``log_end`` is where its log ended before."""

    broker: str
    broker_id: int
    address: str
    log_end: int
    result: str
    remark: str | None


async def change_role(
    call: Call, node: ServerNode, ask: Callable[[], Awaitable[str | None]], *, log_end: int
) -> Outcome:
    """Send the request and return one row."""
    result, remark = await attempt(call, ask)
    row = RoleChange.of(node, log_end=log_end, result=result, remark=remark)
    return Outcome([row], exit_code=exit_code_of([result]))
