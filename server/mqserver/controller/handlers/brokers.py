"""Requests of brokers: heartbeats, ids, registration, elections, in-sync sets.

Source: controller/processor/ControllerRequestProcessor.java (5.4.0).
"""

import logging
from typing import Final

from mqserver.controller.broker_groups import GroupOutcome
from mqserver.controller.controller_state import ControllerState
from mqserver.controller.group_rules import (
    rule_alter_in_sync_set,
    rule_apply_id,
    rule_register,
)
from mqserver.controller.live_brokers import (
    PRIORITY_MAX,
    TIMEOUT_MS,
    TIMEOUT_MS_MAX,
    BrokerKey,
    LiveBroker,
)
from mqserver.controller.notices import in_sync_set_body
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from remoting.bodies.controller import BrokerMemberGroup, ElectMasterResponseBody, SyncStateSet
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.headers.controller import (
    AlterSyncStateSet,
    AlterSyncStateSetResponse,
    ApplyBrokerId,
    ApplyBrokerIdResponse,
    BrokerHeartbeat,
    ElectMaster,
    ElectMasterResponse,
    GetNextBrokerId,
    GetNextBrokerIdResponse,
    GetReplicaInfo,
    GetReplicaInfoResponse,
    RegisterBrokerToController,
    RegisterBrokerToControllerResponse,
)

LOG = logging.getLogger(__name__)

NAME_SIZE_MAX: Final = 255
"""Longest name of a cluster or a broker; topics have the same limit."""
ADDRESS_SIZE_MAX: Final = 255


@handles(LaterCode.BROKER_HEARTBEAT)
def accept_heartbeat(state: ControllerState, request: Request) -> Command:
    """Record that a broker is alive, and how far its log reaches."""
    header = request.command.header(BrokerHeartbeat)
    if header.broker_id is None:
        raise RequestRefused(
            LaterResponseCode.CONTROLLER_INVALID_REQUEST, "Heart beat with empty brokerId"
        )
    _check_names(header.cluster_name, header.broker_name, header.broker_addr)
    timeout_ms = TIMEOUT_MS if header.heartbeat_timeout_ms is None else header.heartbeat_timeout_ms
    broker = LiveBroker(
        key=BrokerKey(header.cluster_name, header.broker_name, header.broker_id),
        address=header.broker_addr,
        heard_ms=state.clock.steady_ms(),
        timeout_ms=min(max(timeout_ms, 0), TIMEOUT_MS_MAX),
        conn_id=request.conn.id,
        epoch=-1 if header.epoch is None else header.epoch,
        max_offset=-1 if header.max_offset is None else header.max_offset,
        confirm_offset=-1 if header.confirm_offset is None else header.confirm_offset,
        priority=PRIORITY_MAX if header.election_priority is None else header.election_priority,
    )
    if not state.groups.live.accept_heartbeat(broker):
        raise RequestRefused(ResponseCode.SYSTEM_BUSY, "too many brokers send heartbeats")
    return request.command.response(remark="Heart beat success")


@handles(LaterCode.CONTROLLER_GET_NEXT_BROKER_ID)
def get_next_broker_id(state: ControllerState, request: Request) -> None:
    """Answer with the next free id of a group."""
    header = request.command.header(GetNextBrokerId)

    async def answer() -> Command:
        record = await state.groups.read(header.broker_name)
        return request.command.response(
            header=GetNextBrokerIdResponse(
                cluster_name=header.cluster_name,
                broker_name=header.broker_name,
                next_broker_id=1 if record is None else record.next_broker_id,
            )
        )

    state.answer_as_leader(request, answer)


@handles(LaterCode.CONTROLLER_APPLY_BROKER_ID)
def apply_broker_id(state: ControllerState, request: Request) -> None:
    """Assign the id that a broker asks for."""
    header = request.command.header(ApplyBrokerId)
    _check_names(header.cluster_name, header.broker_name, header.register_check_code)

    async def answer() -> Command:
        outcome = await state.groups.change(
            header.broker_name,
            lambda record: rule_apply_id(
                record,
                cluster_name=header.cluster_name,
                broker_name=header.broker_name,
                broker_id=header.applied_broker_id,
                check_code=header.register_check_code,
            ),
        )
        response_header = ApplyBrokerIdResponse(
            cluster_name=header.cluster_name, broker_name=header.broker_name
        )
        return request.command.response(
            outcome.ruling.code, remark=outcome.ruling.remark, header=response_header
        )

    state.answer_as_leader(request, answer)


@handles(LaterCode.CONTROLLER_REGISTER_BROKER)
def register_broker(state: ControllerState, request: Request) -> None:
    """Record the address of a broker that has started, and answer with the living master."""
    header = request.command.header(RegisterBrokerToController)
    _check_names(header.cluster_name, header.broker_name, header.broker_address)
    state.groups.live.forget(BrokerKey(header.cluster_name, header.broker_name, header.broker_id))

    async def answer() -> Command:
        outcome = await state.groups.change(
            header.broker_name,
            lambda record: rule_register(
                record,
                broker_name=header.broker_name,
                broker_id=header.broker_id,
                address=header.broker_address,
            ),
        )
        record = outcome.record
        has_master = record is not None and record.master_id in state.groups.alive(record)
        master = record if has_master else None
        response_header = RegisterBrokerToControllerResponse(
            cluster_name=header.cluster_name,
            broker_name=header.broker_name,
            master_broker_id=None if master is None else master.master_id,
            master_address=None if master is None else master.master_address,
            master_epoch=None if master is None else master.master_epoch,
            sync_state_set_epoch=None if master is None else master.in_sync_set_epoch,
        )
        body = b"" if record is None or not outcome.is_granted else in_sync_set_body(record)
        return request.command.response(
            outcome.ruling.code, remark=outcome.ruling.remark, header=response_header, body=body
        )

    state.answer_as_leader(request, answer)


@handles(LaterCode.CONTROLLER_ELECT_MASTER)
def elect_master(state: ControllerState, request: Request) -> None:
    """Elect a master, or make the broker that an operator names the master."""
    header = request.command.header(ElectMaster)
    is_designated = header.designate_elect
    broker_id = None if header.broker_id == -1 else header.broker_id

    async def answer() -> Command:
        outcome = await state.groups.elect(
            header.broker_name,
            by_broker=None if is_designated else broker_id,
            designated=broker_id if is_designated else None,
            is_unclean=is_designated and bool(header.is_unclean),
        )
        return election_answer(request, outcome)

    state.answer_as_leader(request, answer)


def election_answer(request: Request, outcome: GroupOutcome) -> Command:
    """Return the answer to a request for an election."""
    record = outcome.record
    ruling = outcome.ruling
    if record is None or ruling.code not in (
        ResponseCode.SUCCESS,
        LaterResponseCode.CONTROLLER_MASTER_STILL_EXIST,
    ):
        return request.command.response(
            ruling.code, remark=ruling.remark, header=ElectMasterResponse()
        )
    members = None
    if ruling.code == ResponseCode.SUCCESS:
        members = BrokerMemberGroup(
            cluster=record.cluster_name,
            broker_name=record.broker_name,
            broker_addrs={key: record.replicas[key].address for key in sorted(record.replicas)},
        )
    return request.command.response(
        ruling.code,
        remark=ruling.remark,
        header=ElectMasterResponse(
            master_broker_id=record.master_id,
            master_address=record.master_address,
            master_epoch=record.master_epoch,
            sync_state_set_epoch=record.in_sync_set_epoch,
        ),
        body=ElectMasterResponseBody(
            broker_member_group=members, sync_state_set=sorted(record.in_sync_set)
        ).encode(),
    )


@handles(LaterCode.CONTROLLER_GET_REPLICA_INFO)
def get_replica_info(state: ControllerState, request: Request) -> None:
    """Answer with the master and the in-sync set of a group."""
    header = request.command.header(GetReplicaInfo)

    async def answer() -> Command:
        record = await state.groups.read(header.broker_name)
        if record is None:
            return request.command.response(
                LaterResponseCode.CONTROLLER_BROKER_METADATA_NOT_EXIST,
                remark="Broker metadata is not existed",
                header=GetReplicaInfoResponse(),
            )
        response_header = GetReplicaInfoResponse(
            master_broker_id=record.master_id,
            master_address=record.master_address,
            master_epoch=record.master_epoch,
        )
        return request.command.response(header=response_header, body=in_sync_set_body(record))

    state.answer_as_leader(request, answer)


@handles(LaterCode.CONTROLLER_ALTER_SYNC_STATE_SET)
def alter_sync_state_set(state: ControllerState, request: Request) -> None:
    """Replace the in-sync set of a group by the one in the body."""
    header = request.command.header(AlterSyncStateSet)
    proposed = SyncStateSet.decode(request.command.body)

    async def answer() -> Command:
        outcome = await state.groups.change(
            header.broker_name,
            lambda record: rule_alter_in_sync_set(
                record,
                master_id=header.master_broker_id,
                master_epoch=header.master_epoch,
                in_sync_set=frozenset(proposed.sync_state_set),
                in_sync_set_epoch=proposed.sync_state_set_epoch,
                alive=state.groups.alive(record),
            ),
        )
        record, ruling = outcome.record, outcome.ruling
        if record is None or not outcome.is_granted:
            return request.command.response(ruling.code, remark=ruling.remark)
        return request.command.response(
            header=AlterSyncStateSetResponse(new_sync_state_set_epoch=record.in_sync_set_epoch),
            body=in_sync_set_body(record),
        )

    state.answer_as_leader(request, answer)


def _check_names(cluster_name: str, broker_name: str, address: str) -> None:
    for kind, text, size_max in (
        ("clusterName", cluster_name, NAME_SIZE_MAX),
        ("brokerName", broker_name, NAME_SIZE_MAX),
        ("address", address, ADDRESS_SIZE_MAX),
    ):
        if not 0 < len(text.encode()) <= size_max:
            raise RequestRefused(
                LaterResponseCode.CONTROLLER_INVALID_REQUEST,
                f"{kind} has {len(text.encode())} bytes, expected 1 to {size_max}",
            )
