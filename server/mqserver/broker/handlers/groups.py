"""Subscription groups (settings of consumer groups): create (200), list (201), one (352),
delete (207).

Source: broker/processor/AdminBrokerProcessor.java.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from mqserver.broker import names
from mqserver.broker.deletions import delete_offsets
from mqserver.broker.files.saves import answer_when_saved
from mqserver.broker.state import Broker
from mqserver.broker.topics import require_master
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, decoded, in_slices, large
from remoting.bodies import SubscriptionGroupWrapper, decode_value
from remoting.codes import LaterCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import DeleteSubscriptionGroup
from remoting.headers.group import GetSubscriptionGroupConfig
from storefmt.config import fastjson
from storefmt.config.tables import SubscriptionGroup

RETRY_QUEUE_COUNT_MAX = 1_024


@handles(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP)
@in_slices
def create_group(broker: Broker, request: Request) -> Steps[None]:
    """Create a group or replace its settings; answered when subscriptionGroup.json is saved."""
    require_master(broker.config)
    decode = partial(decode_value, SubscriptionGroup)
    group = yield from decoded(decode, request.command.body)
    names.check_group(group.group_name)
    if not 0 <= group.retry_queue_nums <= RETRY_QUEUE_COUNT_MAX:
        text = f"retryQueueNums is {group.retry_queue_nums}, expected 0 to {RETRY_QUEUE_COUNT_MAX}"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
    group = _with_plain_attributes(group)
    broker.groups.put(group, now_ms=request.now_ms)
    answer_when_saved(broker.files, request, name="subscriptionGroup")


def _with_plain_attributes(group: SubscriptionGroup) -> SubscriptionGroup:
    """Return a group with the +/- signs of a 5.x request removed from its attribute names."""
    attributes = group.extra.get("attributes")
    if not isinstance(attributes, Mapping):
        return group
    kept: dict[fastjson.Key, fastjson.Json] = {
        str(name).removeprefix("+"): value
        for name, value in attributes.items()
        if not str(name).startswith("-")
    }
    return replace(group, extra={**group.extra, "attributes": kept})


@handles(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
@in_slices
def get_all_groups(broker: Broker, request: Request) -> Steps[Command]:
    """Return all subscription groups and the table's data version."""
    table = broker.groups.table()
    body = SubscriptionGroupWrapper(
        subscription_group_table=table.groups, data_version=table.data_version
    )
    text = yield from large(body.encode, count=len(table.groups))
    return request.command.response(body=text)


@handles(LaterCode.GET_SUBSCRIPTIONGROUP_CONFIG)
def get_group(broker: Broker, request: Request) -> Command:
    """Return the settings of one group, creating it if that is allowed."""
    name = request.command.header(GetSubscriptionGroupConfig).group
    group = broker.groups.find(name, now_ms=request.now_ms)
    if group is None:
        raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker")
    return request.command.response(body=fastjson.dumps(group.to_json()).encode())


@handles(RequestCode.DELETE_SUBSCRIPTIONGROUP)
def delete_group(broker: Broker, request: Request) -> None:
    """Delete a group's settings, and on request its offsets; a missing group is not an error."""
    require_master(broker.config)
    fields = request.command.header(DeleteSubscriptionGroup)
    broker.groups.delete(fields.group_name, now_ms=request.now_ms)
    if fields.remove_offset:
        delete_offsets(broker, fields.group_name, now_ms=request.now_ms)
    answer_when_saved(broker.files, request, name="subscriptionGroup")
