"""Admin calls about topics: routes, offsets and settings; creating and deleting them.

Source: tools/admin/DefaultMQAdminExtImpl.java (4.9.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses, routes
from mqclient.errors import BadAnswer, ClientError, TimedOut, Unreachable
from remoting import bodies, headers
from remoting.bodies import MessageQueue
from remoting.codes import LaterCode, RequestCode, ResponseCode
from storefmt.errors import StoreError
from storefmt.names import AUTO_CREATE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from remoting.header import Header
    from storefmt.config.tables import TopicConfig, TopicTable

_NO_ATTRIBUTES = (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, ResponseCode.TOPIC_NOT_EXIST)


class TopicCalls(AdminCalls):
    """The requests about topics."""

    async def cluster_info(self, *, address: str | None = None) -> bodies.ClusterInfo:
        """Return the clusters, brokers and addresses that a name server knows."""
        return await self._namesrv_body(
            RequestCode.GET_BROKER_CLUSTER_INFO,
            bodies.ClusterInfo,
            what="cluster info",
            address=address,
        )

    async def topic_list(self, *, address: str | None = None) -> list[str]:
        """Return all topic names, sorted; retry and system topics are among them."""
        return await self._names(
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, what="topic list", address=address
        )

    async def topics_by_cluster(self, cluster: str) -> list[str]:
        """Return the topics that have a queue in a cluster, sorted; an unknown cluster has none."""
        header = headers.GetTopicsByCluster(cluster=cluster)
        what = f"topics of cluster {cluster}"
        return await self._names(RequestCode.GET_TOPICS_BY_CLUSTER, header, what=what)

    async def system_topics(self, address: str) -> list[str]:
        """Return the names that a broker treats as system topics, sorted."""
        topics = await self._body(
            address,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,
            bodies.TopicList,
            what="system topics",
        )
        return sorted(topics.topic_list)

    async def cluster_names(self, *, address: str | None = None) -> tuple[list[str], str]:
        """Return cluster and broker names, which are also topics, and the address of a broker.

        That broker knows the other system topics; the address is "" when there is no broker.
        """
        code = RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS
        names = await self._namesrv_body(
            code, bodies.TopicList, what="cluster names", address=address
        )
        return sorted(names.topic_list), names.broker_addr or ""

    async def unit_topics(self, *, address: str | None = None) -> list[str]:
        """Return the topics that belong to a unit, sorted."""
        code = RequestCode.GET_UNIT_TOPIC_LIST
        return await self._names(code, what="topics of units", address=address)

    async def unit_sub_topics(self, *, address: str | None = None) -> list[str]:
        """Return the topics that groups of a unit subscribe to, sorted."""
        code = RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST
        return await self._names(code, what="topics of units", address=address)

    async def unit_sub_ununit_topics(self, *, address: str | None = None) -> list[str]:
        """Return the topics of ``unit_sub_topics`` that belong to no unit themselves, sorted."""
        code = RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST
        return await self._names(code, what="topics of units", address=address)

    async def topic_route(self, topic: str) -> bodies.TopicRouteData:
        """Return the brokers and queues of a topic from a name server.

        Raises:
            NoRoute: no broker has the topic.
        """
        return await self._client.route(topic, fresh=True)

    async def topic_route_at(self, address: str, topic: str) -> bodies.TopicRouteData:
        """Return the route of a topic from one name server.

        Raises:
            NotFound: the name server does not know the topic.
        """
        header = headers.GetRouteInfo(topic=topic, accept_standard_json_only=True)
        code, what = RequestCode.GET_ROUTEINFO_BY_TOPIC, f"route of topic {topic}"
        return await self._body(address, code, bodies.TopicRouteData, header, what=what)

    async def topic_stats(
        self, topic: str, *, on_silent: Callable[[ClientError], None] | None = None
    ) -> dict[MessageQueue, bodies.TopicOffset]:
        """Return the min offset, max offset and last store time of each queue.

        Each broker's master is asked, or a slave while the name servers have no master of it.

        Args:
            on_silent: gets the error of each broker that does not answer, whose queues are left
                out. When it is None, or when no broker answers, the error is raised.

        Raises:
            NoRoute: no broker has the topic.
            ClientError: a broker did not answer, see ``on_silent``.
        """
        readers = routes.readers(await self.topic_route(topic))
        offsets: dict[MessageQueue, bodies.TopicOffset] = {}
        silent: list[ClientError] = []
        for address in readers.values():
            try:
                offsets |= await self.topic_stats_at(address, topic)
            except (TimedOut, Unreachable) as error:
                silent.append(error)
        responses.report_silent(silent, on_silent, of=len(readers))
        return dict(sorted(offsets.items()))

    async def topic_stats_at(
        self, address: str, topic: str
    ) -> dict[MessageQueue, bodies.TopicOffset]:
        """Return the min offset, max offset and last store time of each queue of one broker."""
        stats = await self._body(
            address,
            RequestCode.GET_TOPIC_STATS_INFO,
            bodies.TopicStatsTable,
            headers.GetTopicStatsInfo(topic=topic),
            what=f"status of topic {topic}",
        )
        return stats.offset_table

    async def topic_configs(self, address: str) -> TopicTable:
        """Return the settings of all topics of a broker."""
        # This is imported here, because most commands about topics do not need the settings.
        from storefmt.config.tables import TopicTable

        return await self._body(
            address, RequestCode.GET_ALL_TOPIC_CONFIG, TopicTable, what="topic settings"
        )

    async def topic_attributes(self, address: str, topic: str) -> dict[str, str] | None:
        """Return the attributes that a broker of RocketMQ 5, or ours, keeps for a topic.

        Returns:
            Values by name, such as ``message.type``; None where the broker does not know the
            topic, or what attributes are.

        Raises:
            Unreachable, TimedOut: the broker does not answer.
            BadAnswer: it answers something else.
        """
        from remoting.headers.topic import GetTopicConfig
        from storefmt.config import fastjson
        from storefmt.config.tables import TopicConfig

        header = GetTopicConfig(topic=topic)
        try:
            answer = await self._broker(
                address, LaterCode.GET_TOPIC_CONFIG, header, what="topic settings"
            )
        except ClientError as error:
            if error.code in _NO_ATTRIBUTES:
                return None
            raise
        try:
            return TopicConfig.from_json(fastjson.loads(answer.body), name=topic).attributes
        except StoreError as error:
            raise BadAnswer(f"{address} answered with no settings of a topic: {error}") from error

    async def create_topic(
        self, address: str, config: TopicConfig, *, attributes: str | None = None
    ) -> None:
        """Create a topic on a broker, or replace all its settings.

        Args:
            config: the settings, of which the attributes are not sent.
            attributes: ``+name=value,-name``: what to set and to remove of the attributes of
                RocketMQ 5, such as ``+message.type=FIFO``; None leaves them as they are.

        Raises:
            BrokerRefused: the broker does not take a setting or an attribute.
            Unreachable, TimedOut: whether it has them is not known.
        """
        await self._broker(
            address,
            RequestCode.UPDATE_AND_CREATE_TOPIC,
            headers.CreateTopic(
                topic=config.topic_name,
                default_topic=AUTO_CREATE_TOPIC,
                read_queue_nums=config.read_queue_nums,
                write_queue_nums=config.write_queue_nums,
                perm=config.perm,
                topic_filter_type=config.topic_filter_type,
                topic_sys_flag=config.topic_sys_flag,
                order=config.order,
                attributes=attributes,
            ),
            what=f"topic {config.topic_name}",
        )
        self._client.forget_route(config.topic_name)

    async def delete_topic_in_broker(self, address: str, topic: str) -> None:
        """Delete a topic and its queues on a broker, but not its route."""
        await self._broker(
            address,
            RequestCode.DELETE_TOPIC_IN_BROKER,
            headers.DeleteTopic(topic=topic),
            what=f"topic {topic}",
        )
        self._client.forget_route(topic)

    async def delete_topic_in_namesrv(
        self, address: str, topic: str, *, cluster: str | None = None
    ) -> None:
        """Delete a topic on one name server, or only its queues in one cluster."""
        await self._broker(
            address,
            RequestCode.DELETE_TOPIC_IN_NAMESRV,
            headers.DeleteTopicFromNamesrv(topic=topic, cluster_name=cluster),
            what=f"route of topic {topic}",
        )
        self._client.forget_route(topic)

    async def groups_of_topic(self, address: str, topic: str) -> list[str]:
        """Return the groups that subscribe to a topic, or have offsets in it, sorted."""
        groups = await self._body(
            address,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
            bodies.GroupList,
            headers.QueryTopicConsumeByWho(topic=topic),
            what=f"groups of topic {topic}",
        )
        return sorted(groups.group_list)

    async def _names(
        self,
        code: RequestCode,
        header: Header | None = None,
        *,
        what: str,
        address: str | None = None,
    ) -> list[str]:
        topics = await self._namesrv_body(
            code, bodies.TopicList, header, what=what, address=address
        )
        return sorted(topics.topic_list)
