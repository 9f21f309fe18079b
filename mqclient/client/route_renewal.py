"""Renewal of known routes: a route is used until a name server answers with a newer one.

    asked for less than 30 s ago   used as it is (pollNameServerInterval)
    less than 60 s ago             used as it is, and asked for in the background
    longer ago, or doubted         asked for; used as it is when no answer comes within 3 s

Rule: only an answer with a route replaces a route. A client whose brokers run keeps working when
the name server is away, or was just restarted and knows no topic, or when the topic was deleted,
as in Java. A client that sends or pulls all the time never waits here.

Source: client/impl/factory/MQClientInstance.java#updateTopicRouteInfoFromNameServer,
#startScheduledTask (4.9.7).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from mqclient.client.routes import RouteCache
from mqclient.errors import ClientError
from remoting.bodies import TopicRouteData

LOG = logging.getLogger(__name__)

WAIT_S: Final = 3.0


class RouteRenewal:
    """Renews the known routes of one client.

    Args:
        known: the routes; new ones are stored there.
        ask: asks the name servers for the route of a topic, and stores it.
        clock_ms: returns the time, in ms since 1970.
    """

    def __init__(
        self,
        cache: RouteCache,
        ask: Callable[[str], Awaitable[TopicRouteData]],
        *,
        clock_ms: Callable[[], int],
    ) -> None:
        self._known = cache
        self._ask = ask
        self._now_ms = clock_ms
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def route(self, topic: str) -> TopicRouteData | None:
        """Return the route of a topic, renewed if that is quick; None when it is unknown."""
        old = self._known.last(topic)
        if old is None:
            return None
        is_stale = self._known.is_doubtful(topic, now_ms=self._now_ms())
        task = self._begin(topic)
        if is_stale:
            await asyncio.wait({task}, timeout=WAIT_S)
        return self._known.last(topic) or old

    def forget(self, topic: str) -> None:
        """Cancel a renewal that is under way, so that it does not bring the route back."""
        task = self._asking.pop(topic, None)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Cancel all renewals."""
        for topic in list(self._asking):
            self.forget(topic)

    def _begin(self, topic: str) -> "asyncio.Task[None]":
        """Begin to renew a topic, unless a renewal is under way."""
        task = self._asking.get(topic)
        if task is None:
            # The topic counts as asked for from now on, so that no other caller asks.
            self._known.asked(topic, now_ms=self._now_ms())
            task = asyncio.get_running_loop().create_task(self._renew(topic), name=f"route {topic}")
            self._asking[topic] = task
        return task

    async def _renew(self, topic: str) -> None:
        try:
            await self._ask(topic)
        except ClientError as error:
            new = self._known.failed(topic, now_ms=self._now_ms())
            LOG.log(
                logging.WARNING if new else logging.DEBUG,
                "no new route of topic %s, the known one stays in use: %s",
                topic,
                error,
            )
        finally:
            if self._asking.get(topic) is asyncio.current_task():
                del self._asking[topic]
