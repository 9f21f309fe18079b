"""Admin calls about groups: their settings, their members, and the state of a member.

Source: tools/admin/DefaultMQAdminExtImpl.java (4.9.7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses
from mqclient.errors import BrokerRefused
from remoting import bodies, headers
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from storefmt.config import fastjson
from storefmt.config.fastjson import Json, Key
from storefmt.config.tables import GroupTable, SubscriptionGroup

_RUNNING_INFO_TIMEOUT_S = 12.0
"""The broker waits 10 s for the client, so the answer may take longer than usual."""


class GroupCalls(AdminCalls):
    """The requests about producer and consumer groups."""

    async def subscription_groups(self, address: str) -> GroupTable:
        """Return the settings of all consumer groups of a broker."""
        return await self._body(
            address, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GroupTable, what="group settings"
        )

    async def create_group(
        self, address: str, group: SubscriptionGroup, *, removed: Iterable[str] = ()
    ) -> None:
        """Create a consumer group on a broker, or replace all its settings.

        Args:
            removed: attributes that a broker of 5.x removes; it keeps those that are not named.
        """
        await self._broker(
            address,
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
            what=f"group {group.group_name}",
            body=fastjson.dumps(_as_request(group, removed)).encode(),
        )

    async def delete_group(self, address: str, group: str, *, remove_offset: bool = False) -> None:
        """Delete the settings of a consumer group, and with ``remove_offset`` its offsets."""
        header = headers.DeleteSubscriptionGroup(group_name=group, remove_offset=remove_offset)
        command = Command.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, header)
        # A broker of 5.x has another name for the same field.
        command.ext["cleanOffset"] = command.ext["removeOffset"]
        answer = await self._client.invoke(address, command)
        responses.check(answer, address=address, what=f"group {group}")

    async def consumer_ids(self, address: str, group: str) -> list[str]:
        """Return the client ids of a consumer group on a broker, sorted; the list may be empty."""
        header = headers.GetConsumerListByGroup(consumer_group=group)
        try:
            answer = await self._broker(
                address, RequestCode.GET_CONSUMER_LIST_BY_GROUP, header, what=f"group {group}"
            )
        except BrokerRefused as error:
            # Brokers answer "system error" when the group has no members.
            if error.code == ResponseCode.SYSTEM_ERROR:
                return []
            raise
        body = responses.body(answer, bodies.GetConsumerListByGroupResponseBody, address=address)
        return sorted(body.consumer_id_list)

    async def consumer_connection(self, address: str, group: str) -> bodies.ConsumerConnection:
        """Return connections, subscriptions and modes of a consumer group on a broker.

        Raises:
            BrokerRefused: code 206 when no consumer of the group is connected.
        """
        return await self._body(
            address,
            RequestCode.GET_CONSUMER_CONNECTION_LIST,
            bodies.ConsumerConnection,
            headers.GetConsumerConnectionList(consumer_group=group),
            what=f"group {group}",
        )

    async def producer_connection(self, address: str, group: str) -> bodies.ProducerConnection:
        """Return the connections of a producer group on a broker.

        Raises:
            BrokerRefused: code 1 when the broker has no such group.
        """
        return await self._body(
            address,
            RequestCode.GET_PRODUCER_CONNECTION_LIST,
            bodies.ProducerConnection,
            headers.GetProducerConnectionList(producer_group=group),
            what=f"producer group {group}",
        )

    async def producers(self, address: str) -> bodies.ProducerTableInfo:
        """Return every producer group of a broker with its connections."""
        return await self._body(
            address,
            RequestCode.GET_ALL_PRODUCER_INFO,
            bodies.ProducerTableInfo,
            headers.GetAllProducerInfo(),
            what="producers",
        )

    async def consumer_running_info(
        self, address: str, group: str, client_id: str, *, jstack: bool = False
    ) -> bodies.ConsumerRunningInfo:
        """Return the state of a connected consumer: queues, cached messages, locks and rates.

        The broker passes the request on to the client.

        Args:
            jstack: True also returns the stacks of its threads.

        Raises:
            BrokerRefused: code 1 when the client is not connected, 207 when it does not answer.
        """
        header = headers.GetConsumerRunningInfo(
            consumer_group=group, client_id=client_id, jstack_enable=jstack
        )
        return await self._body(
            address,
            RequestCode.GET_CONSUMER_RUNNING_INFO,
            bodies.ConsumerRunningInfo,
            header,
            what=f"client {client_id} of group {group}",
            timeout_s=max(self._client.timeout_s, _RUNNING_INFO_TIMEOUT_S),
        )

    async def consume_stats(
        self, address: str, group: str, topic: str | None = None
    ) -> bodies.ConsumeStats:
        """Return the broker offset and the consumer offset by queue; an unknown group has none."""
        return await self._body(
            address,
            RequestCode.GET_CONSUME_STATS,
            bodies.ConsumeStats,
            headers.GetConsumeStats(consumer_group=group, topic=topic),
            what=f"progress of group {group}",
        )


def _as_request(group: SubscriptionGroup, removed: Iterable[str]) -> dict[Key, Json]:
    """Return a group as brokers take it: those of 5.x read its attributes as changes, ``+name``."""
    value = group.to_json()
    attributes = group.extra.get("attributes")
    if isinstance(attributes, Mapping):
        changes: dict[Key, Json] = {f"+{name}": text for name, text in attributes.items()}
        value["attributes"] = changes | {f"-{name}": "" for name in removed}
    return value
