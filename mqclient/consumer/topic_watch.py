"""Looking for changed queues of a topic, for who consumes queues by their own choice.

Source: client/impl/consumer/DefaultLitePullConsumerImpl.java#fetchTopicMessageQueuesAndCompare.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from mqclient.client import routes
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqclient.namespace import wrap
from remoting.bodies import MessageQueue

LOG = logging.getLogger(__name__)

QueuesChanged = Callable[[str, list[MessageQueue]], Awaitable[None] | None]
"""Told of a topic and its queues now."""


async def watch(client: MQClient, topic: str, listener: QueuesChanged, *, every_s: float) -> None:
    """Tell ``listener`` of each change, until cancelled; a name server that is away is logged."""
    before: list[MessageQueue] | None = None
    while True:
        try:
            route = await client.route(wrap(client.namespace, topic), fresh=True)
            now = routes.subscribe_queues(topic, route)
        except ClientError as error:
            LOG.warning("queues of topic %s: %s", topic, error)
        else:
            if before is not None and now != before:
                told = listener(topic, now)
                if told is not None:
                    await told
            before = now
        await asyncio.sleep(every_s)
