"""Clients: heartbeats and lists of the members of groups; filter servers.

Codes 34 (heartbeat), 35 (unregister), 38 (members of a consumer group), 46 (check of a
subscription's expression), 203, 204, 328 (connections); 301 (a filter server registers) and 302
(it asks whether a consumer may upload a filter; only filter servers of 4.2 answered this one).

Source: broker/processor/ClientManageProcessor.java, ConsumerManageProcessor.java,
AdminBrokerProcessor.java#registerFilterServer.
"""

from contextlib import suppress
from functools import partial

from mqserver.broker import names
from mqserver.broker.acl.gate import require_group
from mqserver.broker.clients.members import GroupMember
from mqserver.broker.filters.lexer import BadExpression
from mqserver.broker.filters.table import compile_filter
from mqserver.broker.filters.tags import is_tag_type
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, chunks, in_slices, large
from remoting.acl import ACCESS_KEY
from remoting.bodies import (
    CheckClientRequestBody,
    Connection,
    ConsumerConnection,
    ConsumerData,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    ProducerConnection,
    ProducerInfo,
    ProducerTableInfo,
)
from remoting.codes import LanguageCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    GetConsumerConnectionList,
    GetConsumerListByGroup,
    GetConsumerListByGroupResponse,
    GetProducerConnectionList,
    RegisterFilterServer,
    RegisterFilterServerResponse,
    RegisterMessageFilterClass,
    UnregisterClient,
    UnregisterClientResponse,
)
from storefmt.config.tables import UNIT_SUB_FLAG

FILTERS_MAX = 64
"""SQL92 expressions that one heartbeat may contain, because all of them are compiled."""
SUBSCRIPTIONS_MAX = 4_096
"""Topics to which one group may subscribe, because all are compared with the old ones at once."""
SUBSCRIPTIONS_PER_SLICE = 256
_GROUP_COST = 16
"""Cost of registering a group, counted in subscriptions."""


@handles(RequestCode.HEART_BEAT)
@in_slices
def heartbeat(broker: Broker, request: Request) -> Steps[Command]:
    """Register the connection in its groups, and notify the other members of a new one."""
    command = request.command
    strict, body = broker.config.strict_filters, command.body
    data, fault = yield from large(lambda: _read(body, strict=strict), size=len(body))
    if fault is not None:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, fault)
    client_id, left = data.client_id or "", SUBSCRIPTIONS_PER_SLICE
    for consumer in data.consumer_data_set:
        _join(broker, request, client_id, consumer)
        left -= _GROUP_COST + len(consumer.subscription_data_set)
        if left <= 0:
            left = SUBSCRIPTIONS_PER_SLICE
            yield None
    for producers in chunks(data.producer_data_set, SUBSCRIPTIONS_PER_SLICE):
        for producer in producers:
            broker.producers.register(producer.group_name, member=_member(request, client_id))
        if len(producers) == SUBSCRIPTIONS_PER_SLICE:
            yield None
    return command.response()


def _read(body: bytes, *, strict: bool) -> tuple[HeartbeatData, str | None]:
    """Return a heartbeat after compiling its expressions, or an empty one and its fault."""
    data = HeartbeatData.decode(body)
    fault = _fault(data)
    expressions = [
        subscription
        for consumer in data.consumer_data_set
        for subscription in consumer.subscription_data_set
        if not is_tag_type(subscription.expression_type)
    ]
    if fault is None and len(expressions) > FILTERS_MAX:
        fault = (
            f"the heartbeat has {len(expressions)} SQL92 expressions, the limit is {FILTERS_MAX}"
        )
    if fault is None:
        for expression in expressions:
            # The result is cached, so registering the filter does not compile it again.
            with suppress(BadExpression):
                compile_filter(expression.sub_string, expression.expression_type, strict=strict)
    # A refused heartbeat is freed here, in the thread, because that can take longer than a slice.
    return (data, None) if fault is None else (HeartbeatData(), fault)


def _fault(data: HeartbeatData) -> str | None:
    if not data.client_id:
        return "heartbeat without a clientID"
    for consumer in data.consumer_data_set:
        fault = names.group_fault(consumer.group_name)
        count = len(consumer.subscription_data_set)
        if fault is None and count > SUBSCRIPTIONS_MAX:
            fault = (
                f"group {consumer.group_name} subscribes to {count} topics, the limit is "
                f"{SUBSCRIPTIONS_MAX}"
            )
        for subscription in consumer.subscription_data_set:
            fault = fault or names.topic_fault(subscription.topic)
        if fault is not None:
            return fault
    for producer in data.producer_data_set:
        fault = names.group_fault(producer.group_name)
        if fault is not None:
            return fault
    return None


def _member(request: Request, client_id: str) -> GroupMember:
    command = request.command
    return GroupMember(
        request.conn,
        client_id,
        command.language,
        command.version,
        request.now_ms,
        command.ext.get(ACCESS_KEY),
    )


def _join(broker: Broker, request: Request, client_id: str, data: ConsumerData) -> None:
    group = broker.groups.find(data.group_name, now_ms=request.now_ms)
    if group is not None and group.retry_queue_nums > 0:
        broker.topics.create_for_group(
            names.retry_topic(data.group_name),
            queue_count=group.retry_queue_nums,
            sys_flag=UNIT_SUB_FLAG if data.unit_mode else 0,
            now_ms=request.now_ms,
        )
    size = broker.consumers.subscriptions_size(data.group_name)
    changed = broker.consumers.register(data, member=_member(request, client_id))
    grown_size = broker.consumers.subscriptions_size(data.group_name) - size
    if grown_size > 0:
        request.conn.count_held(grown_size)
    broker.filters.register(data.group_name, data.subscription_data_set, now_ms=request.now_ms)
    if changed and (group is None or group.notify_consumer_ids_changed_enable):
        broker.notify_members(data.group_name)


@handles(RequestCode.UNREGISTER_CLIENT)
def unregister_client(broker: Broker, request: Request) -> Command:
    """Remove the connection from a producer or consumer group.

    With ACL enabled, a client that is not in the producer group needs permission for that group.
    """
    fields = request.command.header(UnregisterClient)
    if fields.producer_group is not None:
        if not broker.producers.has(fields.producer_group, request.conn):
            require_group(broker.access, request, fields.producer_group)
        broker.producers.unregister(fields.producer_group, request.conn)
    if fields.consumer_group is not None:
        name = fields.consumer_group
        left = broker.consumers.unregister(name, request.conn)
        broker.group_left(name)
        group = broker.groups.find(name, now_ms=request.now_ms)
        if left and (group is None or group.notify_consumer_ids_changed_enable):
            broker.notify_members(name)
    return request.command.response(header=UnregisterClientResponse())


@handles(RequestCode.GET_CONSUMER_LIST_BY_GROUP)
@in_slices
def get_consumer_list(broker: Broker, request: Request) -> Steps[Command]:
    """Return the client ids of a group's members."""
    name = request.command.header(GetConsumerListByGroup).consumer_group
    group = broker.consumers.group(name)
    header = GetConsumerListByGroupResponse()
    if group is None:
        return request.command.response(
            ResponseCode.SYSTEM_ERROR,
            remark=f"no consumer for this group, {name}",
            header=header,
        )
    body = GetConsumerListByGroupResponseBody(consumer_id_list=group.client_ids())
    text = yield from large(body.encode, count=len(group.members))
    return request.command.response(header=header, body=text)


@handles(RequestCode.CHECK_CLIENT_CONFIG)
def check_client_config(broker: Broker, request: Request) -> Command:
    """Check whether a subscription's expression can be compiled."""
    subscription = CheckClientRequestBody.decode(request.command.body).subscription_data
    if subscription is None or is_tag_type(subscription.expression_type):
        return request.command.response()
    kind = subscription.expression_type
    if not broker.config.enable_property_filter:
        remark = names.filter_unsupported(kind)
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
    try:
        compile_filter(subscription.sub_string, kind, strict=broker.config.strict_filters)
    except BadExpression as error:
        raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, str(error)) from error
    return request.command.response()


@handles(RequestCode.GET_CONSUMER_CONNECTION_LIST)
@in_slices
def get_consumer_connections(broker: Broker, request: Request) -> Steps[Command]:
    """Return a consumer group's members and subscriptions."""
    name = request.command.header(GetConsumerConnectionList).consumer_group
    group = broker.consumers.group(name)
    if group is None:
        raise RequestRefused(
            ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{name}] not online"
        )
    members, subscriptions = list(group.members.values()), dict(group.subscriptions)

    def encode() -> bytes:
        return ConsumerConnection(
            connection_set=[_connection(member) for member in members],
            subscription_table=subscriptions,
            consume_type=group.consume_type,
            message_model=group.message_model,
            consume_from_where=group.consume_from_where,
        ).encode()

    count = len(members) + len(subscriptions)
    return request.command.response(body=(yield from large(encode, count=count)))


@handles(RequestCode.GET_PRODUCER_CONNECTION_LIST)
@in_slices
def get_producer_connections(broker: Broker, request: Request) -> Steps[Command]:
    """Return a producer group's members."""
    name = request.command.header(GetProducerConnectionList).producer_group
    members = broker.producers.members(name)
    if members is None:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"the producer group[{name}] not exist")

    def encode() -> bytes:
        return ProducerConnection(
            connection_set=[_connection(member) for member in members]
        ).encode()

    return request.command.response(body=(yield from large(encode, count=len(members))))


@handles(RequestCode.GET_ALL_PRODUCER_INFO)
@in_slices
def get_all_producers(broker: Broker, request: Request) -> Steps[Command]:
    """Return every producer group and its members."""
    groups, count = {}, 0
    for group, members in broker.producers.groups().items():
        groups[group] = list(members.values())
        count += len(members)
    text = yield from large(partial(_producer_table, groups), count=count)
    return request.command.response(body=text)


def _producer_table(groups: dict[str, list[GroupMember]]) -> bytes:
    data = {
        group: [
            ProducerInfo(
                client_id=member.client_id,
                remote_ip=f"/{member.conn.address}",
                language=_language(member),
                version=member.version,
                last_update_timestamp=member.seen_ms,
            )
            for member in members
        ]
        for group, members in groups.items()
    }
    return ProducerTableInfo(data=data).encode()


def _connection(member: GroupMember) -> Connection:
    return Connection(
        client_id=member.client_id,
        client_addr=member.conn.address,
        language=_language(member),
        version=member.version,
    )


def _language(member: GroupMember) -> LanguageCode:
    try:
        return LanguageCode(member.language)
    except ValueError:
        return LanguageCode.OTHER


@handles(RequestCode.REGISTER_FILTER_SERVER)
def register_filter_server(broker: Broker, request: Request) -> Command:
    """Register a filter server, which routes of this broker's topics then list."""
    address = request.command.header(RegisterFilterServer).filter_server_addr
    if broker.filter_servers.register(request.conn, address, now_ms=request.now_ms):
        broker.register_soon()
    config = broker.config
    header = RegisterFilterServerResponse(
        broker_name=config.broker_name, broker_id=config.broker_id
    )
    return request.command.response(header=header)


@handles(RequestCode.REGISTER_MESSAGE_FILTER_CLASS)
def may_upload(broker: Broker, request: Request) -> Command:
    """Tell a filter server that a consumer may upload; permissions were checked before this."""
    request.command.header(RegisterMessageFilterClass)
    return request.command.response()
