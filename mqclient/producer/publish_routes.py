"""The queues of a topic that a producer can send to, and the masters that have them.

    topic --> route     --> the writable queues, and the address of each master
          `-> no route  --> the queues that a broker would create from the template topic (TBW102)

``PublishInfo`` is computed once for each route. Its queues are without the namespace, as the
application sees them; topics are asked for with it.

Rule: this module neither chooses a queue nor sends.

Source: client/impl/producer/DefaultMQProducerImpl.java#tryToFindTopicPublishInfo (4.9.7).
"""

from mqclient.client import routes
from mqclient.client.instance import MQClient
from mqclient.client.routes import PublishInfo
from mqclient.errors import BadRequest, NoRoute, TimedOut, Unreachable
from mqclient.namespace import unwrap, unwrap_queue, wrap, wrap_queue
from mqclient.producer.producer_settings import ProducerSettings
from remoting.bodies import MessageQueue


class PublishRoutes:
    """The topics of one producer.

    Args:
        client: asks the name servers.
        settings: names the template topic.
        namespace: the namespace of the topics; "" when there is none.

    Attributes:
        topics: the topics that were asked for; heartbeats go to their brokers.
    """

    def __init__(
        self, client: MQClient, settings: ProducerSettings, *, namespace: str = ""
    ) -> None:
        self._client = client
        self._settings = settings
        self._namespace = namespace
        self._infos: dict[str, PublishInfo] = {}
        self.topics: set[str] = set()

    def known(self, topic: str, *, now_ms: int) -> PublishInfo | None:
        """Return the known ``PublishInfo`` of a topic; None when a name server must be asked."""
        info = self._infos.get(topic)
        if info is None or info.route is not self._client.known_route(topic, now_ms=now_ms):
            return None
        return info

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the writable queues of a topic.

        Raises:
            NoRoute: no broker has the topic, and no broker would create it.
        """
        topic = wrap(self._namespace, topic)
        self.topics.add(topic)
        return (await self._info(topic)).queues

    def checked_queue(self, queue: MessageQueue, topic: str) -> MessageQueue:
        """Return a queue that the application chose, without the namespace.

        Raises:
            BadRequest: it is a queue of another topic.
        """
        if wrap(self._namespace, queue.topic) != topic:
            raise BadRequest(
                f"a message of topic {topic} is not for a queue of topic {queue.topic}"
            )
        return unwrap_queue(self._namespace, queue)

    async def address(self, queue: MessageQueue) -> str:
        """Return the address of the master of a queue.

        Raises:
            NoRoute: no broker has the topic, or this broker has no master now.
        """
        queue = wrap_queue(self._namespace, queue)
        info = await self._info(queue.topic)
        address = info.address_of(queue)
        # This raises the right error for a broker that is not there.
        return address or await self._client.master_of(queue)

    async def _info(self, topic: str) -> PublishInfo:
        info = self._infos.get(topic)
        try:
            route = await self._client.route(topic)
        except NoRoute:
            return await self._template_info(topic)
        except (Unreachable, TimedOut):
            # The template's queues are used until a name server answers with a route.
            if info is None:
                raise
            return info
        if info is None or info.route is not route:
            info = self._infos[topic] = routes.publish_info(unwrap(self._namespace, topic), route)
        return info

    async def _template_info(self, topic: str) -> PublishInfo:
        """Return the queues that a topic will have when a broker creates it on the first send."""
        key = self._settings.create_topic_key
        # Heartbeats also go to the brokers that may create the topic.
        self.topics.add(key)
        try:
            template = await self._client.route(key)
        except NoRoute as error:
            raise NoRoute(topic, address=error.address, remark=error.remark) from error
        queues = routes.template_queues(
            unwrap(self._namespace, topic),
            template,
            queue_count=self._settings.default_topic_queue_nums,
        )
        info = self._infos[topic] = PublishInfo(template, queues, routes.masters(template))
        return info
