"""Admin calls about static topics of RocketMQ 5.

Source: client/impl/MQClientAPIImpl.java (5.4.0).
"""

from __future__ import annotations

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses
from mqclient.errors import NotFound
from remoting import bodies, headers
from remoting.codes import JavaOnlyCode, LaterCode, ResponseCode
from storefmt.names import AUTO_CREATE_TOPIC


class StaticTopicCalls(AdminCalls):
    """The requests about static topics."""

    async def topic_mapping(
        self, address: str, topic: str
    ) -> bodies.TopicConfigAndQueueMapping | None:
        """Return settings and mapping of a topic on one broker; None where it has none.

        A topic that is not static has no ``mapping_detail``.
        """
        # Only this request needs the class.
        from remoting.headers.topic import GetTopicConfig

        header = GetTopicConfig(topic=topic, is_logical=True)
        try:
            answer = await self._broker(
                address, LaterCode.GET_TOPIC_CONFIG, header, what="topic mapping"
            )
        except NotFound as error:
            if error.code == ResponseCode.TOPIC_NOT_EXIST:
                return None
            raise
        return responses.body(answer, bodies.TopicConfigAndQueueMapping, address=address)

    async def update_static_topic(
        self, address: str, config: bodies.TopicConfigAndQueueMapping, *, is_forced: bool = False
    ) -> None:
        """Create or change one broker's part of a static topic.

        Args:
            address: the broker.
            config: its settings and its mapping, which must be there.
            is_forced: let the broker take a mapping that is older than its own.
        """
        detail = config.mapping_detail or bodies.TopicQueueMappingDetail(topic=config.topic_name)
        await self._broker(
            address,
            JavaOnlyCode.UPDATE_AND_CREATE_STATIC_TOPIC,
            headers.CreateStaticTopic(
                topic=config.topic_name,
                default_topic=AUTO_CREATE_TOPIC,
                read_queue_nums=config.read_queue_nums,
                write_queue_nums=config.write_queue_nums,
                perm=config.perm,
                topic_filter_type=config.topic_filter_type,
                topic_sys_flag=config.topic_sys_flag,
                order=config.order,
                force=is_forced,
            ),
            what=f"static topic {config.topic_name}",
            body=detail.encode(),
        )
