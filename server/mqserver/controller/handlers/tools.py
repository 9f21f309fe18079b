"""Requests of tools: who leads, the groups, settings, removal of brokers.

Source: controller/processor/ControllerRequestProcessor.java (5.4.0).
"""

import json
from typing import Final

from mqserver.controller.controller_config import CHANGEABLE, FIXED
from mqserver.controller.controller_state import ControllerState
from mqserver.controller.group_rules import rule_clean
from mqserver.runtime.properties import format_properties
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.setting_changes import change_settings
from remoting.bodies.controller import BrokerReplicasInfo
from remoting.codes import LaterCode, LaterResponseCode
from remoting.command import Command
from remoting.headers.controller import CleanBrokerData, GetMetaDataResponse

GROUPS_MAX: Final = 10_000
"""How many groups one request may ask for."""


@handles(LaterCode.CONTROLLER_GET_METADATA_INFO)
def get_metadata_info(state: ControllerState, request: Request) -> Command:
    """Answer with the address of the leading controller."""
    leader = state.leadership.leader_address
    peers = "" if leader is None else f"{leader};"
    header = GetMetaDataResponse(
        group=state.config.controller_dleger_group,
        controller_leader_id=leader,
        controller_leader_address=leader,
        is_leader=state.leadership.is_leader,
        peers=peers,
    )
    return request.command.response(header=header)


@handles(LaterCode.CONTROLLER_GET_SYNC_STATE_DATA)
def get_sync_state_data(state: ControllerState, request: Request) -> None:
    """Answer with masters and in-sync sets of the groups that the body names."""
    names = _names(request.command.body)

    async def answer() -> Command:
        table = {}
        for name in names:
            record = await state.groups.read(name)
            if record is not None:
                table[name] = state.groups.describe(record)
        return request.command.response(body=BrokerReplicasInfo(replicas_info_table=table).encode())

    state.answer_as_leader(request, answer)


@handles(LaterCode.CLEAN_BROKER_DATA)
def clean_broker_data(state: ControllerState, request: Request) -> None:
    """Forget brokers of a group, or the whole group."""
    header = request.command.header(CleanBrokerData)
    broker_ids = _broker_ids(header.broker_controller_ids_to_clean)

    async def answer() -> Command:
        outcome = await state.groups.change(
            header.broker_name,
            lambda record: rule_clean(
                record,
                broker_name=header.broker_name,
                broker_ids=broker_ids,
                cleans_living=header.is_clean_living_broker,
                alive=state.groups.alive(record),
            ),
        )
        return request.command.response(outcome.ruling.code, remark=outcome.ruling.remark)

    state.answer_as_leader(request, answer)


@handles(LaterCode.GET_CONTROLLER_CONFIG)
def get_controller_config(state: ControllerState, request: Request) -> Command:
    """Answer with every setting, as ``key=value`` lines."""
    body = format_properties(state.config.all_settings().items()).encode()
    return request.command.response(body=body)


@handles(LaterCode.UPDATE_CONTROLLER_CONFIG)
def update_controller_config(state: ControllerState, request: Request) -> Command:
    """Change the settings given as ``key=value`` lines, all of them or none.

    Raises:
        RequestRefused: a key may not be changed, or a value is not valid.
    """
    change_settings(
        request,
        state.config,
        changeable=CHANGEABLE,
        fixed=FIXED,
        fixed_remark="Can not update config in black list.",
        server="controller",
    )
    return request.command.response()


def _names(body: bytes) -> list[str]:
    try:
        names = json.loads(body) if body else []
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RequestRefused(
            LaterResponseCode.CONTROLLER_INVALID_REQUEST, "the body is not a list of broker names"
        )
    if len(names) > GROUPS_MAX:
        raise RequestRefused(
            LaterResponseCode.CONTROLLER_INVALID_REQUEST,
            f"{len(names)} groups in one request; ask for at most {GROUPS_MAX}",
        )
    return list(dict.fromkeys(names))


def _broker_ids(text: str | None) -> frozenset[int] | None:
    if text is None or not text.strip():
        return None
    try:
        return frozenset(int(part) for part in text.split(";") if len(part) < 20)
    except ValueError:
        raise RequestRefused(
            LaterResponseCode.CONTROLLER_INVALID_CLEAN_BROKER_METADATA,
            "Please set the option <brokerControllerIdsToClean> according to the format, "
            f"exception: {text!r} is not a list of ids with semicolons",
        ) from None
