"""Requests of and about brokers: request codes 103, 104, 205, 322 and 327.

Source: namesrv/processor/DefaultRequestProcessor.java, common/MQVersion.java.
"""

import zlib
from functools import partial
from typing import Final

from mqserver.namesrv.kvconfig import ORDER_TOPIC_CONFIG
from mqserver.namesrv.namesrv_state import NamesrvState
from mqserver.namesrv.routes import Announced, BadRegistration, OldEpoch, announce
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, decoded, in_slices, large
from remoting.bodies import (
    KVTable,
    RegisterBrokerBody,
    TopicConfigSerializeWrapper,
    decode_value,
    encode_value,
)
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    AddWritePermOfBroker,
    AddWritePermOfBrokerResponse,
    HaEpoch,
    QueryDataVersion,
    QueryDataVersionResponse,
    RegisterBroker,
    RegisterBrokerResponse,
    UnRegisterBroker,
    WipeWritePermOfBroker,
    WipeWritePermOfBrokerResponse,
)
from storefmt.config.tables import DataVersion
from storefmt.formats.message import CRC_MASK

FILTER_SERVERS_VERSION: Final = 37
"""MQVersion V3_0_11; older brokers send the topics alone, without filter servers around them."""


@handles(RequestCode.REGISTER_BROKER)
@in_slices
def register_broker(state: NamesrvState, request: Request) -> Steps[Command]:
    """Register a broker and its topics; answer a slave with the address of its master.

    Raises:
        RequestRefused: a name, an address or a topic is not valid.
    """
    command = request.command
    header = command.header(RegisterBroker)
    # 0 means that the broker did not compute it.
    if header.body_crc32 and header.body_crc32 != zlib.crc32(command.body) & CRC_MASK:
        return command.response(
            ResponseCode.SYSTEM_ERROR, remark="crc32 not match", header=RegisterBrokerResponse()
        )
    try:
        filter_servers, version, announced = yield from large(
            lambda: _registration(command, compressed=header.compressed), size=len(command.body)
        )
        master = yield from state.routes.register(
            header,
            announced,
            version,
            conn_id=request.conn.id,
            now_ms=request.now_ms,
            filter_servers=filter_servers,
            epoch=command.header(HaEpoch),
            registrar=state.registrar_of(request.conn),
        )
    except BadRegistration as error:
        state.note_refusal(request.conn, str(error))
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
    except OldEpoch as error:
        refusal = command.response(ResponseCode.SYSTEM_ERROR, remark=str(error))
        return _telling_epoch(refusal, state, header.broker_name)
    state.broker_conns[request.conn.id] = request.conn
    order_topics = state.kv.namespace(ORDER_TOPIC_CONFIG)
    answer = command.response(
        header=RegisterBrokerResponse(master_addr=master.address, ha_server_addr=master.ha_address),
        body=b"" if order_topics is None else KVTable(table=dict(order_topics)).encode(),
    )
    return _telling_epoch(answer, state, header.broker_name)


@handles(RequestCode.UNREGISTER_BROKER)
def unregister_broker(state: NamesrvState, request: Request) -> Command:
    """Drop one broker address immediately.

    Raises:
        RequestRefused: another machine has registered it.
    """
    header = request.command.header(UnRegisterBroker)
    try:
        state.routes.unregister(
            header.cluster_name,
            header.broker_name,
            broker_id=header.broker_id,
            address=header.broker_addr,
            registrar=state.registrar_of(request.conn),
        )
    except BadRegistration as error:
        state.note_refusal(request.conn, str(error))
        raise RequestRefused(ResponseCode.NO_PERMISSION, str(error)) from error
    return request.command.response()


@handles(RequestCode.QUERY_DATA_VERSION)
@in_slices
def query_data_version(state: NamesrvState, request: Request) -> Steps[Command]:
    """Answer whether a broker's topics have changed; if not, count the broker as alive."""
    header = request.command.header(QueryDataVersion)
    address = header.broker_addr
    version = yield from decoded(partial(decode_value, DataVersion), request.command.body)
    changed = state.routes.is_changed(address, version)
    if not changed:
        state.routes.touch(address, request.now_ms, registrar=state.registrar_of(request.conn))
    data_version = state.routes.data_version(address)
    answer = request.command.response(
        header=QueryDataVersionResponse(changed=changed),
        body=b"" if data_version is None else encode_value(data_version),
    )
    return _telling_epoch(answer, state, header.broker_name)


@handles(RequestCode.WIPE_WRITE_PERM_OF_BROKER)
@in_slices
def wipe_write_perm(state: NamesrvState, request: Request) -> Steps[Command]:
    """Forbid writes to a broker's topics until it registers changed topics."""
    header = request.command.header(WipeWritePermOfBroker)
    count = yield from state.routes.wipe_write_perm(header.broker_name)
    return request.command.response(header=WipeWritePermOfBrokerResponse(wipe_topic_count=count))


@handles(RequestCode.ADD_WRITE_PERM_OF_BROKER)
@in_slices
def add_write_perm(state: NamesrvState, request: Request) -> Steps[Command]:
    """Allow reads and writes of a broker's topics again."""
    header = request.command.header(AddWritePermOfBroker)
    count = yield from state.routes.add_write_perm(header.broker_name)
    return request.command.response(header=AddWritePermOfBrokerResponse(add_topic_count=count))


def _telling_epoch(answer: Command, state: NamesrvState, broker_name: str) -> Command:
    """Add the epoch of a broker name to an answer if a broker of this name was ever promoted."""
    epoch = state.routes.epoch(broker_name)
    if epoch.ha_epoch:
        answer.ext |= epoch.to_ext()
        answer.ext_written = True
    return answer


def _registration(
    command: Command, *, compressed: bool
) -> tuple[tuple[str, ...], DataVersion, Announced]:
    """Return filter servers, data version and topics; the rest of the body is freed here."""
    body = _body(command, compressed=compressed)
    topics = body.topic_config_serialize_wrapper
    filter_servers = tuple(body.filter_server_list)
    return filter_servers, topics.data_version, announce(topics.topic_config_table)


def _body(command: Command, *, compressed: bool) -> RegisterBrokerBody:
    if not command.body:
        return RegisterBrokerBody()
    if command.version < FILTER_SERVERS_VERSION:
        return RegisterBrokerBody(
            topic_config_serialize_wrapper=TopicConfigSerializeWrapper.decode(command.body)
        )
    if compressed:
        return RegisterBrokerBody.decode_compressed(command.body)
    return RegisterBrokerBody.decode(command.body)
