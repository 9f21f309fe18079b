"""``broker write-perm …``: whether name servers let producers write to a broker.

Requests on each name server: GET_ROUTEINFO_BY_TOPIC, ADD_WRITE_PERM_OF_BROKER or
WIPE_WRITE_PERM_OF_BROKER, and GET_ROUTEINFO_BY_TOPIC again to read it back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mqadmin.changes.targets.writeperm import WritePerm
from mqadmin.changes.write import Declined, carry_out, plan
from mqadmin.cli.declare import Call, Command, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import Where
from mqadmin.cli.types import BROKER
from mqadmin.cluster.brokers import masters, namesrvs
from mqadmin.output.rows import NOT_FOUND, UNCHANGED, WOULD_CHANGE
from mqclient.errors import ClientError

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

UNTIL: Final = "The change lasts until the broker registers with other topic settings or restarts."


@dataclass(frozen=True, slots=True)
class WritePermChange(Row):
    """A broker at one name server; ``writable`` is the present answer to producers.

    ``topics`` is how many the name server went through, or with ``--dry-run`` would go through; 0
    where nothing is to be sent.
    """

    broker: str
    namesrv: str
    was_writable: bool | None
    writable: bool | None
    result: str
    remark: str | None
    topics: int


async def change_write_perm(call: Call, broker: str, *, writable: bool) -> Outcome:
    """Grant or revoke the permission everywhere and return a row for each name server.

    The exit code is 3 if no name server knows the broker.
    """

    def choose(old: bool | None) -> bool:
        if old is None:
            raise Declined(NOT_FOUND, f"it does not know broker {broker}")
        return writable

    admin = await call.admin()
    changed: dict[str, int] = {}
    targets = [WritePerm(admin, node, (broker,), changed) for node in await namesrvs(call)]
    verb = "add" if writable else "wipe"
    results = await carry_out(
        call,
        await plan(targets, choose),
        title=f"broker write-perm {verb} {broker}",
        question=None if writable else f"stop producers from writing to broker {broker}?",
    )
    if call.settings.compat and not call.dry_run:
        # Java's tool prints the number of topics, which only the answer to a write contains.
        for result in results:
            if result.result == UNCHANGED:
                await result.target.write(writable)
    if call.dry_run and any(result.result == WOULD_CHANGE for result in results):
        changed |= await _topic_counts(admin, broker, [result.address for result in results])
    rows = [
        WritePermChange.of(
            result,
            broker=broker,
            namesrv=result.address,
            was_writable=result.step.old,
            writable=result.value,
            topics=changed.get(result.address, 0),
        )
        for result in results
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


async def _topic_counts(admin: "Admin", broker: str, namesrvs: Sequence[str]) -> dict[str, int]:
    """Return how many topics each name server has on a broker: those that a change goes through.

    The broker registers all of its topics. If it does not answer, no topics are counted.
    """
    for node in await masters(admin, Where(broker=broker), every=True):
        try:
            count = len((await admin.topic_configs(node.address)).topics)
        except ClientError:
            return {}
        return dict.fromkeys(namesrvs, count)
    return {}


def _declare(verb: str, when: str, *, writable: bool) -> Command:
    @command(
        f"broker write-perm {verb}",
        examples=((f"mqadmin broker write-perm {verb} broker-a -y", when),),
        details=UNTIL,
        rows=WritePermChange,
        writes=True,
    )
    @argument("broker", type=BROKER, help="name of the broker")
    async def write_perm(call: Call, *, broker: str) -> Outcome:
        return await change_write_perm(call, broker, writable=writable)

    return write_perm


add_write_perm = _declare("add", "after write-perm wipe", writable=True)
wipe_write_perm = _declare("wipe", "before it is stopped", writable=False)
