"""What verbs of ``broker`` share: tables of values, changes of a role, storage of 5.x brokers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from mqadmin.changes.write import attempt, result_of
from mqadmin.cli.declare import Call, Outcome, Row, exit_code_of
from mqadmin.cli.decorators import Where
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.partial_answers import Answers
from mqadmin.cluster.server_tables import values_of
from mqadmin.output.rows import UNCHANGED
from mqclient.errors import ClientError


async def show_values(
    call: Call,
    where: Where,
    ask: Callable[[ServerNode], Awaitable[Mapping[str, str]]],
    *,
    keys: Sequence[str],
    missing: str,
) -> Outcome:
    """Return one row for each value of each master, sorted by name.

    Args:
        keys: only these, in this order; empty for all.
        missing: beginning of the error for a key that no broker has.

    Raises:
        ItemNotFound: no broker has one of the keys.
    """
    nodes = await masters(await call.admin(), where, every=True)
    answers = Answers(call)
    tables = await answers.each(nodes, ask)
    return Outcome(values_of(tables, keys, missing=missing), exit_code=answers.exit_code)


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


@dataclass(frozen=True, slots=True)
class StorageChange(Row):
    """A mode of one broker after the call; ``was`` is the one before."""

    broker: str
    address: str
    master: str | None
    mode: str | None
    was: str | None
    result: str
    remark: str | None


@dataclass(frozen=True, slots=True)
class StorageTask(Row):
    """The result of a task on one broker."""

    broker: str
    address: str
    result: str
    remark: str | None


async def give_task(
    call: Call,
    nodes: list[ServerNode],
    ask: Callable[[ServerNode], Awaitable[str | None]],
    *,
    needs: tuple[str, str],
    otherwise: str,
    question: str = "",
) -> Outcome:
    """Give a task to each broker whose settings call for it.

    Args:
        needs: a setting, and the value with which there is something to do.
        otherwise: remark on the other brokers, which are not asked.
    """
    admin = await call.admin()
    if question:
        await call.confirm(question)
    name, value = needs

    async def result_at(node: ServerNode) -> tuple[str, str | None]:
        try:
            settings = await admin.broker_config(node.address)
        except ClientError as error:
            return result_of(error)
        if settings.get(name, "").lower() != value.lower():
            return UNCHANGED, otherwise
        return await attempt(call, partial(ask, node))

    rows = [StorageTask(node.broker, node.address, *await result_at(node)) for node in nodes]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))
