"""Asking anew for routes that are known: a route is used until there is a newer one.

    asked for less than 30 s ago   as it is (pollNameServerInterval)
    less than twice as long ago    as it is; asked for meanwhile
    longer ago, or doubted         asked for; the old one when no answer comes within 3 s

Rule: only an answer with a route replaces a route. A name server that is away, or was just
started and knows no topic yet, takes nothing from a client whose brokers live; neither does a
topic that was deleted, as in Java. Who sends or pulls all the time never waits here.

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
    """Keeps the known routes of one client new.

    Args:
        known: the routes; what is asked for is put there.
        ask: asks the name servers for the route of a topic, and puts it there.
        clock_ms: gives the time.
    """

    def __init__(
        self,
        known: RouteCache,
        ask: Callable[[str], Awaitable[TopicRouteData]],
        *,
        clock_ms: Callable[[], int],
    ) -> None:
        self._known = known
        self._ask = ask
        self._now_ms = clock_ms
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def route(self, topic: str) -> TopicRouteData | None:
        """Return the newest route that can be had soon, None for a topic without one."""
        old = self._known.last(topic)
        if old is None:
            return None
        is_stale = self._known.is_doubtful(topic, now_ms=self._now_ms())
        task = self._begin(topic)
        if is_stale:
            await asyncio.wait({task}, timeout=WAIT_S)
        return self._known.last(topic) or old

    def forget(self, topic: str) -> None:
        """Let no question that is on its way bring the route of a topic back."""
        task = self._asking.pop(topic, None)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Ask for nothing any more."""
        for topic in list(self._asking):
            self.forget(topic)

    def _begin(self, topic: str) -> "asyncio.Task[None]":
        """Ask for a topic, once at a time."""
        task = self._asking.get(topic)
        if task is None:
            # From here on it counts as asked for: nobody else needs to think of it.
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
                "no new route of topic %s, the known one is used on: %s",
                topic,
                error,
            )
        finally:
            if self._asking.get(topic) is asyncio.current_task():
                del self._asking[topic]
