"""What each request does to the record of a group: the state machine of a controller.

    request of a broker, record, who is alive ──> Ruling(code, remark, new record or None)

Rule: nothing here waits, reads a clock or writes. The caller first makes the new record durable and
answers after that. When another controller has changed the record meanwhile, the caller reads it
again and applies the rule once more.

The checks of each request stand in Java's order, since the first one that fails decides the code.

Source: controller/impl/manager/ReplicasInfoManager.java (5.4.0).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from mqserver.controller.elections import elect, longest_log
from mqserver.controller.group_record import FIRST_BROKER_ID, GroupRecord, Replica
from mqserver.controller.live_brokers import LiveBroker
from remoting.codes import LaterResponseCode as Code
from remoting.codes import ResponseCode


@dataclass(frozen=True, slots=True)
class Ruling:
    """The outcome of a request."""

    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    record: GroupRecord | None = None
    """The new record; None if the request changes nothing."""
    removes: bool = False
    """Whether the whole record is to be removed."""


GRANTED = Ruling()
_REJECTING = "Rejecting alter syncStateSet request because"


def rule_apply_id(
    record: GroupRecord | None,
    *,
    cluster_name: str,
    broker_name: str,
    broker_id: int,
    check_code: str,
) -> Ruling:
    """Assign the id that a broker asks for (request code 1013)."""
    replica = Replica(check_code.split(";")[0], check_code)
    if record is None:
        if broker_id != FIRST_BROKER_ID:
            return Ruling(
                Code.CONTROLLER_BROKER_ID_INVALID,
                f"Broker-set: {broker_name} hasn't been registered in controller, but broker try "
                f"to apply brokerId: {broker_id}",
            )
        record = GroupRecord(cluster_name=cluster_name, broker_name=broker_name)
    holder = record.replicas.get(broker_id)
    if holder is not None:
        if holder.check_code == check_code:
            return GRANTED
        return _invalid_id(broker_id, broker_name)
    # Java assigns any free id. An id below the next one belonged to a broker that was removed and
    # whose disk may come back; one above it would leave a gap that is never filled.
    if broker_id != record.next_broker_id:
        return _invalid_id(broker_id, broker_name)
    return Ruling(
        record=replace(
            record,
            replicas=MappingProxyType({**record.replicas, broker_id: replica}),
            next_broker_id=broker_id + 1,
        )
    )


def _invalid_id(broker_id: int, broker_name: str) -> Ruling:
    return Ruling(
        Code.CONTROLLER_BROKER_ID_INVALID,
        f"Fail to apply brokerId: {broker_id} in broker-set: {broker_name}",
    )


def rule_register(
    record: GroupRecord | None, *, broker_name: str, broker_id: int, address: str
) -> Ruling:
    """Record the address of a broker that has started (request code 1003).

    If this broker is the master, the group has no master afterwards and an election follows: the
    process that led is gone, and messages that its disk lost must not be lost on the others as
    well. (Java answers such a broker that it leads, with the old epoch.)
    """
    if record is None:
        return Ruling(
            Code.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED,
            f"Broker-set: {broker_name} hasn't been registered in controller",
        )
    replica = record.replicas.get(broker_id)
    if replica is None:
        return Ruling(
            Code.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED,
            f"BrokerId: {broker_id} hasn't been registered in broker-set: {broker_name}",
        )
    changed = record
    if replica.address != address:
        replicas = {**record.replicas, broker_id: replace(replica, address=address)}
        changed = replace(changed, replicas=MappingProxyType(replicas))
    if record.master_id == broker_id:
        changed = replace(changed, master_id=None)
    return GRANTED if changed is record else Ruling(record=changed)


def rule_alter_in_sync_set(
    record: GroupRecord | None,
    *,
    master_id: int,
    master_epoch: int,
    in_sync_set: frozenset[int],
    in_sync_set_epoch: int,
    alive: Collection[int],
) -> Ruling:
    """Replace the in-sync set, as its master asks (request code 1001).

    Args:
        record: the group.
        master_id: who asks.
        master_epoch: the epoch under which it leads.
        in_sync_set: the new set.
        in_sync_set_epoch: the epoch of the set that it replaces.
        alive: ids of the brokers that are alive.
    """
    if record is None:
        return _alter_failed("Broker metadata is not existed")
    if in_sync_set == record.in_sync_set:
        return _alter_failed(
            "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet"
        )
    if record.master_id != master_id:
        leader = "null" if record.master_id is None else record.master_id
        return Ruling(
            Code.CONTROLLER_INVALID_MASTER,
            f"{_REJECTING} the current leader is:{{{leader}}}, not {{{master_id}}}",
        )
    if record.master_epoch != master_epoch:
        return Ruling(
            Code.CONTROLLER_FENCED_MASTER_EPOCH,
            f"{_REJECTING} the current master epoch is:{{{record.master_epoch}}}, "
            f"not {{{master_epoch}}}",
        )
    if record.in_sync_set_epoch != in_sync_set_epoch:
        return Ruling(
            Code.CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH,
            f"{_REJECTING} the current syncStateSet epoch is:{{{record.in_sync_set_epoch}}}, "
            f"not {{{in_sync_set_epoch}}}",
        )
    refusal = _refuse_members(record, in_sync_set, alive)
    if refusal is not None:
        return refusal
    if master_id not in in_sync_set:
        return _alter_failed(
            f"{_REJECTING} the newSyncStateSet don't contains origin leader {{{master_id}}}"
        )
    return Ruling(
        record=replace(
            record, in_sync_set=in_sync_set, in_sync_set_epoch=record.in_sync_set_epoch + 1
        )
    )


def _refuse_members(
    record: GroupRecord, in_sync_set: frozenset[int], alive: Collection[int]
) -> Ruling | None:
    """Return the refusal of the first member that is unknown or dead, or None."""
    for broker_id in sorted(in_sync_set):
        if broker_id not in record.replicas:
            return Ruling(
                Code.CONTROLLER_INVALID_REPLICAS,
                f"{_REJECTING} the replicas {{{broker_id}}} don't exist",
            )
        if broker_id not in alive:
            return Ruling(
                Code.CONTROLLER_BROKER_NOT_ALIVE,
                f"{_REJECTING} the replicas {{{broker_id}}} don't alive",
            )
    return None


def _alter_failed(remark: str) -> Ruling:
    return Ruling(Code.CONTROLLER_ALTER_SYNC_STATE_SET_FAILED, remark)


def rule_elect(
    record: GroupRecord | None,
    *,
    alive: Mapping[int, LiveBroker],
    by_broker: int | None = None,
    designated: int | None = None,
    is_unclean: bool = False,
) -> Ruling:
    """Elect a master (request code 1002, or the controller itself).

    Args:
        record: the group.
        alive: the brokers of the group that are alive, by id.
        by_broker: the broker that asks; None if the controller or an operator does.
        designated: the broker that an operator wants as the master.
        is_unclean: whether the operator accepts a master outside the in-sync set, and with it the
            loss of messages that were acknowledged.
    """
    if record is None:
        return Ruling(Code.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED, "Broker hasn't been registered")
    if record.master_epoch == 0 and designated is None:
        elected = longest_log(alive)
    elif designated is not None:
        allowed = alive.keys() if is_unclean else record.in_sync_set & alive.keys()
        elected = designated if designated in allowed else None
    else:
        elected = elect(alive, in_sync_set=record.in_sync_set, old_master_id=record.master_id)
    if elected is None:
        if by_broker is None and designated is None and record.master_id is not None:
            return Ruling(
                Code.CONTROLLER_MASTER_NOT_AVAILABLE,
                "Old master has down and failed to elect a new broker master",
                replace(record, master_id=None, master_epoch=record.master_epoch + 1),
            )
        return Ruling(Code.CONTROLLER_ELECT_MASTER_FAILED, "Failed to elect a new master")
    if elected == record.master_id:
        return Ruling(
            Code.CONTROLLER_MASTER_STILL_EXIST,
            f"The old master {elected} is still alive, not need to elect new master for broker "
            f"{record.broker_name}",
        )
    return Ruling(
        record=replace(
            record,
            master_id=elected,
            master_epoch=record.master_epoch + 1,
            in_sync_set=frozenset({elected}),
            in_sync_set_epoch=record.in_sync_set_epoch + 1,
        )
    )


def rule_clean(
    record: GroupRecord | None,
    *,
    broker_name: str,
    broker_ids: frozenset[int] | None,
    cleans_living: bool,
    alive: Collection[int],
) -> Ruling:
    """Forget brokers of a group, or the whole group (request code 1011).

    Args:
        record: the group.
        broker_name: its name.
        broker_ids: the brokers to forget; None for the group.
        cleans_living: whether brokers that are alive may be forgotten as well.
        alive: ids of the brokers that are alive.
    """
    if not cleans_living:
        if broker_ids is None and record is not None and record.master_id is not None:
            return _invalid_clean(f"Broker {broker_name} is still alive, clean up failure")
        for broker_id in sorted(broker_ids or ()):
            if broker_id in alive:
                return _invalid_clean(
                    f"Broker [{broker_name},  {broker_id}] is still alive, clean up failure"
                )
    if record is None:
        return _invalid_clean(f"Broker {broker_name} is not existed,clean broker data failure.")
    if broker_ids is None:
        return Ruling(removes=True)
    replicas = {key: kept for key, kept in record.replicas.items() if key not in broker_ids}
    if not replicas:
        return Ruling(removes=True)
    loses_master = record.master_id in broker_ids
    changes_set = not record.in_sync_set.isdisjoint(broker_ids)
    return Ruling(
        record=replace(
            record,
            replicas=MappingProxyType(replicas),
            master_id=None if loses_master else record.master_id,
            in_sync_set=record.in_sync_set - broker_ids,
            in_sync_set_epoch=record.in_sync_set_epoch + changes_set,
        )
    )


def _invalid_clean(remark: str) -> Ruling:
    return Ruling(Code.CONTROLLER_INVALID_CLEAN_BROKER_METADATA, remark)
