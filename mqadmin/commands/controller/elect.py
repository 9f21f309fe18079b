"""``controller elect``: make a broker the master of its group.

Requests: CONTROLLER_GET_METADATA_INFO, CONTROLLER_GET_SYNC_STATE_DATA and
CONTROLLER_ELECT_MASTER; with --unclean also those of ``mqadmin.cluster.replica_loss``.
"""

from dataclasses import dataclass, field

import click

from mqadmin.changes.write import attempt
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.types import Integer
from mqadmin.cluster.controllers import leader
from mqadmin.cluster.replica_loss import LossEstimate, measure_loss
from mqadmin.cluster.replicas import replica_logs
from mqadmin.errors import CommandError, ItemNotFound
from mqadmin.output.rows import EpochMs
from remoting.bodies import ReplicasInfo
from remoting.headers import ElectMasterResponse


@dataclass(frozen=True, slots=True)
class ElectionRow(Row):
    """The master of a group before and after; ``members`` has the addresses by id.

    With --unclean: ``lost_size_most`` is the size in bytes of what the broker lacks, of which
    ``lost_size_least`` was certainly acknowledged; ``lost_count`` is the number of messages, the
    first stored at ``lost_since_ms``; ``unseen`` is what could not be examined. None: unknown.
    """

    cluster: str
    broker: str
    old_master_id: int | None
    master_id: int | None
    master_address: str | None
    master_epoch: int | None
    in_sync_set_epoch: int | None
    result: str
    remark: str | None
    members: dict[int, str] = field(default_factory=dict)
    lost_size_most: int | None = None
    lost_size_least: int | None = None
    lost_count: int | None = None
    lost_since_ms: EpochMs | None = None
    unseen: tuple[str, ...] = ()


@command(
    "controller elect",
    examples=(
        ("mqadmin controller elect broker-a 2 -y", "broker 2 of the group leads from now on"),
        ("mqadmin controller elect broker-a 3 --unclean --dry-run", "estimate the loss"),
        ("mqadmin controller elect broker-a 3 --unclean", "even though it lacks messages"),
    ),
    details="A broker in the in-sync set has every acknowledged message. With --unclean, a "
    "broker outside it may lead, and the messages that it lacks are lost: the other brokers "
    "truncate their logs to match. The loss is estimated first, from the logs of the brokers that "
    "answer and from the last heartbeats of the others; the question and --dry-run show the "
    "estimate, and what it could not take into account. Only our controller supports --unclean.",
    rows=ElectionRow,
    columns=(
        "broker",
        "old_master_id",
        "master_id",
        "master_address",
        "master_epoch",
        "result",
        "remark",
    ),
    writes=True,
)
@argument("group", help="the broker name")
@argument(
    "broker_id", type=Integer(min=1), help="its id in the group, as `controller status` shows it"
)
@click.option("-a", "--controller", metavar="ADDRESS", help="HOST:PORT of a controller")
@click.option("-c", "--cluster", metavar="NAME", default="", help="the cluster of the group")
@click.option("--unclean", is_flag=True, help="accept the loss of acknowledged messages")
async def elect(
    call: Call,
    *,
    group: str,
    broker_id: int,
    controller: str | None,
    cluster: str,
    unclean: bool,
) -> Outcome:
    """Return one row.

    Raises:
        ItemNotFound: the group does not exist or does not have the broker.
        CommandError: the broker is outside the in-sync set, or it was not confirmed.
    """
    admin = await call.admin()
    address = await leader(call, controller)
    before = (await admin.sync_state_data(address, [group])).get(group)
    if before is None:
        raise ItemNotFound(f"controller {address} does not know group {group!r}")
    _check(before, group, broker_id, unclean=unclean)
    loss = await _loss(call, before, broker_id) if unclean else None
    lost = f" ({loss.text}, and that is lost)" if loss is not None else ""
    await call.confirm(f"make broker {broker_id} the master of {group}{lost}?")
    elected, members = ElectMasterResponse(), None

    async def ask() -> str | None:
        nonlocal elected, members
        elected, members = await admin.elect_master(
            address, cluster=cluster, broker_name=group, broker_id=broker_id, is_unclean=unclean
        )
        return None

    result, remark = await attempt(call, ask)
    if loss is not None:
        remark = "; ".join(filter(None, (remark, loss.text)))
    row = ElectionRow(
        cluster=cluster,
        broker=group,
        old_master_id=before.master_broker_id,
        master_id=elected.master_broker_id,
        master_address=elected.master_address,
        master_epoch=elected.master_epoch,
        in_sync_set_epoch=elected.sync_state_set_epoch,
        result=result,
        remark=remark,
        members=dict(members.broker_addrs) if members else {},
        lost_size_most=loss.most_size if loss else None,
        lost_size_least=loss.least_size if loss else None,
        lost_count=loss.message_count if loss else None,
        lost_since_ms=loss.since_ms if loss else None,
        unseen=loss.unseen if loss else (),
    )
    return Outcome([row], exit_code=exit_code_of([result]))


async def _loss(call: Call, info: ReplicasInfo, broker_id: int) -> LossEstimate | None:
    """Return what an election outside the in-sync set loses, with what could not be examined."""
    admin = await call.admin()
    logs = await replica_logs(admin, info)
    candidate = next(log for log in logs if log.broker_id == broker_id)
    if candidate.is_in_sync:
        return None
    loss = await measure_loss(admin, candidate, [log for log in logs if log is not candidate])
    for text in loss.unseen:
        call.warn(f"not seen: {text}")
    return loss


def _check(info: ReplicasInfo, group: str, broker_id: int, *, unclean: bool) -> None:
    in_sync = {replica.broker_id for replica in info.in_sync_replicas}
    behind = {replica.broker_id for replica in info.not_in_sync_replicas}
    if broker_id not in in_sync | behind:
        ids = ", ".join(map(str, sorted(filter(None, in_sync | behind))))
        raise ItemNotFound(
            f"group {group} has no broker {broker_id}", hint=f"its brokers are {ids}"
        )
    if broker_id in behind and not unclean:
        raise CommandError(
            f"broker {broker_id} is outside the in-sync set of {group}: "
            "acknowledged messages would be lost",
            hint="choose an IN_SYNC broker of `controller status`, or pass --unclean",
        )
