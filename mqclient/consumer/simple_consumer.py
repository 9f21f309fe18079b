"""The simple consumer: it receives messages, and acknowledges each of them (POP, RocketMQ 5).

    async with SimpleConsumer(client, "group") as consumer:
        consumer.subscribe("Topic", "TagA || TagB")
        async for message in consumer.messages(invisible_ms=30_000):
            async with consumer.consuming(message):     # acknowledges at the end of the block
                ...

    receive --> hidden --ack--> consumed
                  |  `-- change_invisible_time --> hidden, from now on
                  `-- the time is over --> the group receives it again, reconsume_times + 1

There is no rebalance: any number of members receives from every queue, and the broker keeps the
offsets of the group. Where there are several brokers or topics, each is asked in turn; when none
has a message, all are asked to report the next one (NOTIFICATION), which hides nothing.

Rule: nothing that happens here loses a message. A message that the application did not get, because
its call was cancelled or a connection broke, comes again after its invisible time. Every request
carries the subscription, so the consumer needs neither start nor heartbeat.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#processPopResult (5.4.0), which
acknowledges messages with another tag of the same hash, and ends messages that failed too often.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mqclient.admin.queries import Queries
from mqclient.argument_checks import check_range, check_text
from mqclient.client import responses, routes
from mqclient.client.instance import MQClient
from mqclient.consumer.pop.pop_request import (
    FROM_MAX,
    FROM_MIN,
    PopApi,
    PopPlace,
    PopRequest,
)
from mqclient.consumer.state.consume_hooks import ConsumeHook, observed
from mqclient.consumer.state.send_back import SendBack
from mqclient.consumer.subscription import (
    ALL,
    TAG,
    MessageSelector,
    Subscription,
    TopicSubscription,
)
from mqclient.errors import BadRequest, ClientError, NoRoute
from mqclient.message import MessageExt
from mqclient.namespace import checked_group, unwrap_message, wrap
from remoting.bodies import ConsumeFromWhere

LOG = logging.getLogger(__name__)

COUNT_MAX: Final = 32
"""The limit of brokers on the messages of one pop."""
INVISIBLE_MS_MIN: Final = 1_000
"""Brokers look once a second for messages whose time is over."""
INVISIBLE_MS_MAX: Final = 12 * 3_600_000
"""The limit of the 5.x proxy (maxInvisibleTimeMills)."""
INVISIBLE_MS: Final = 60_000
"""How long ``messages`` hides what it receives by default."""
WAIT_MS: Final = 15_000
"""How long ``receive`` waits by default, and how long a broker is asked to hold one request."""
RECONSUME_TIMES_MAX: Final = 16
_ROUND_S: Final = 0.1
"""The least time of one round: a broker answers at once, and without messages, when it holds too
many requests already, or while another member receives from the same queue."""
_STARTS: Final = {
    ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET: FROM_MIN,
    ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET: FROM_MAX,
}


class SimpleConsumer(Queries):
    """A member of a consumer group that receives messages and acknowledges each.

    Args:
        client: the connections.
        group: the consumer group.
        order: receive the messages of a queue in order: while some of them are hidden, the group
            does not receive others of that queue.
        consume_from_where: where a group without an offset begins: CONSUME_FROM_LAST_OFFSET or
            CONSUME_FROM_FIRST_OFFSET.
        max_reconsume_times: how often a message may come again; it then goes to the dead letter
            queue of the group.

    Attributes:
        last_poll_ms: when a broker last answered ``receive``, in ms since 1970; None before.

    Raises:
        BadRequest: the group name or ``consume_from_where`` is not allowed.
    """

    def __init__(
        self,
        client: MQClient,
        group: str,
        *,
        order: bool = False,
        consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        max_reconsume_times: int = RECONSUME_TIMES_MAX,
    ) -> None:
        self.group = group = checked_group(group, client.namespace)
        super().__init__(client, f"consumer of group {group}")
        if consume_from_where not in _STARTS:
            raise BadRequest(
                f"a simple consumer cannot begin at {consume_from_where}",
                hint="CONSUME_FROM_FIRST_OFFSET or CONSUME_FROM_LAST_OFFSET",
            )
        self._init_mode = _STARTS[consume_from_where]
        self._order = order
        self._reconsume_times_max = max_reconsume_times
        self._pop_api = PopApi(client, group)
        self._send_back = SendBack(
            client, group, reconsume_count_max=max_reconsume_times, unit_mode=False
        )
        self._subscriptions: dict[str, Subscription] = {}
        self._hooks: list[ConsumeHook] = []
        self.last_poll_ms: int | None = None
        self._turn = 0

    def subscribe(
        self, topic: str, expression: str | MessageSelector = ALL, *, kind: str = TAG
    ) -> None:
        """Receive the messages of a topic from now on; a second call replaces the expression.

        Args:
            topic: with the namespace or without.
            expression: ``*``, ``TagA || TagB``, with ``kind`` SQL92 an SQL expression, or a
                ``MessageSelector``, which has both. A broker skips the other messages.
            kind: TAG or SQL92, the kind of an expression that is a text.

        Raises:
            BadRequest: the topic name or the expression is not allowed.
        """
        check_text("topic", topic)
        topic = wrap(self._client.namespace, topic)
        parsed = Subscription.parse(expression, kind=kind)
        TopicSubscription.of(topic, parsed, version=0)  # checks the name
        self._subscriptions[topic] = parsed

    def unsubscribe(self, topic: str) -> None:
        """Receive no more messages of a topic; those that were received may be acknowledged."""
        self._subscriptions.pop(wrap(self._client.namespace, topic), None)

    async def receive(
        self, count_max: int = COUNT_MAX, *, invisible_ms: int, wait_ms: int = WAIT_MS
    ) -> list[MessageExt]:
        """Receive messages and hide them from the rest of the group.

        Args:
            count_max: the limit on the messages, 1 to 32; there may be fewer although more wait.
            invisible_ms: how long they are hidden, in ms: 1 s to 12 h. A message that is not
                acknowledged by then is received again.
            wait_ms: how long to wait for the first message, in ms; 0 asks every broker once.

        Returns:
            The messages of one topic and broker; empty when none came in time. The property POP_CK
            of each is its receipt handle.

        Raises:
            BadRequest: a number is out of its range, or nothing is subscribed to.
            BrokerRefused: a broker does not know POP, cannot read the expression, or does not let
                this client read.
            NotFound: a topic or the group does not exist.
            Unreachable, TimedOut: no broker answered; messages that were on their way come again.
        """
        self._check_alive()
        check_range("count_max", count_max, low=1, high=COUNT_MAX)
        _check_invisible(invisible_ms)
        check_range("wait_ms", wait_ms, low=0, high=INVISIBLE_MS_MAX)
        if not self._subscriptions:
            raise BadRequest(f"consumer of {self.group} has no topic", hint="call subscribe first")
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + wait_ms / 1000
        self._turn += 1
        while True:
            began_s = loop.time()
            places = await self._places()
            hold_ms = min(max(0, int((deadline_s - began_s) * 1000)), WAIT_MS)
            alone = len(places) == 1
            messages = await self._receive_once(
                places,
                count_max=count_max,
                invisible_ms=invisible_ms,
                poll_ms=hold_ms if alone else 0,
            )
            if messages or loop.time() >= deadline_s:
                return messages
            if not alone:
                await self._wait_for_any(places, poll_ms=hold_ms)
            early_s = min(began_s + _ROUND_S, deadline_s) - loop.time()
            if early_s > 0:
                await asyncio.sleep(early_s)

    async def messages(
        self, *, invisible_ms: int = INVISIBLE_MS, count_max: int = 1
    ) -> AsyncIterator[MessageExt]:
        """Receive messages one after another until the shutdown.

        Args:
            invisible_ms: see ``receive``; a message that waits here uses up its own time.
            count_max: how many messages one request asks for, 1 to 32. More than one is faster,
                and needs an ``invisible_ms`` that is enough for all of them.

        Raises the same errors as ``receive``.
        """
        while True:
            try:
                received = await self.receive(count_max, invisible_ms=invisible_ms)
            except BadRequest:
                if self._is_over:
                    return
                raise
            for message in received:
                yield message

    def __aiter__(self) -> AsyncIterator[MessageExt]:
        """Return ``messages()``."""
        return self.messages()

    @asynccontextmanager
    async def consuming(
        self, message: MessageExt, *, again_ms: int | None = None
    ) -> AsyncIterator[MessageExt]:
        """Acknowledge a message at the end of the block.

        After an error in the block the message is not acknowledged, so it comes again.

        Args:
            message: a message of ``receive`` or ``messages``.
            again_ms: when it comes again after an error, in ms from then; None means when its
                invisible time is over.

        Raises the same errors as ``ack``.
        """
        with observed(self._hooks, self.group, [message], now_ms=self._connections.now_ms):
            try:
                yield message
            except Exception:
                if again_ms is not None:
                    try:
                        await self.change_invisible_time(message, again_ms)
                    except ClientError as error:
                        LOG.warning("%s: %r comes again later: %s", self.group, message, error)
                raise
            topic, receipt = self._named(message, None)
            await self._pop_api.ack(topic, receipt)

    async def ack(self, message: MessageExt | str, *, topic: str | None = None) -> None:
        """Acknowledge a message, so that the group does not receive it again.

        Args:
            message: a message of ``receive``, or the receipt handle of one.
            topic: the topic that was received, where only the handle is given.

        Raises:
            BadRequest: the message was not received by a simple consumer, or the topic is missing.
            NotFound, BrokerRefused: the broker has no such message.
            NoRoute, Unreachable, TimedOut: whether it is acknowledged is not known.
        """
        topic, receipt = self._named(message, topic)
        messages = [message] if isinstance(message, MessageExt) else []
        with observed(self._hooks, self.group, messages, now_ms=self._client.now_ms):
            await self._pop_api.ack(topic, receipt)

    def register_consume_hook(self, hook: ConsumeHook) -> None:
        """Call a hook around ``consuming`` blocks, and for messages that ``ack`` acknowledges."""
        self._hooks.append(hook)

    async def change_invisible_time(
        self, message: MessageExt | str, invisible_ms: int, *, topic: str | None = None
    ) -> str:
        """Hide a message for another while from now on; a short one gives it back early.

        Args:
            message: a message of ``receive``, which then carries its new receipt handle; or the
                receipt handle of one, which is of no use afterwards.
            invisible_ms: how long the message is hidden from now on, in ms: 1 s to 12 h.
            topic: the topic that was received, where only the handle is given.

        Returns:
            The new receipt handle.

        Raises the same errors as ``ack``.
        """
        _check_invisible(invisible_ms)
        topic, receipt = self._named(message, topic)
        fresh = await self._pop_api.change_invisible_time(topic, receipt, invisible_ms=invisible_ms)
        if isinstance(message, MessageExt):
            message.renew_receipt(fresh)
        return fresh

    # Only this class uses the following methods.

    def _named(self, message: MessageExt | str, topic: str | None) -> tuple[str, str]:
        """Return the topic that was popped, with its namespace, and the handle."""
        namespace = self._client.namespace
        if isinstance(message, str):
            if topic is None:
                raise BadRequest("a receipt handle does not name its topic", hint="give the topic")
            return wrap(namespace, topic), message
        if message.receipt is None:
            raise BadRequest(
                f"{message!r} has no receipt handle", hint="acknowledge what `receive` returned"
            )
        return wrap(namespace, topic or message.topic), message.receipt

    async def _places(self) -> list[PopPlace]:
        """Return every broker of every topic, beginning with another one at each call."""
        places: list[PopPlace] = []
        missing: list[NoRoute] = []
        for topic in self._subscriptions:
            try:
                route = await self._client.route(topic)
            except NoRoute as error:
                missing.append(error)
                continue
            if route.topic_queue_mapping_by_broker:
                raise BadRequest(
                    f"topic {topic} is static, and its logical queues cannot be popped",
                    hint="use a push or pull consumer",
                )
            masters = routes.masters(route)
            names = {queue.broker_name for queue in routes.subscribe_queues(topic, route)}
            places += [
                PopPlace(topic, name, masters[name]) for name in sorted(names & masters.keys())
            ]
        if not places:
            raise (
                missing[0]
                if missing
                else NoRoute(
                    ", ".join(self._subscriptions), address="any master that lets it be read"
                )
            )
        first = self._turn % len(places)
        return places[first:] + places[:first]

    async def _receive_once(
        self, places: list[PopPlace], *, count_max: int, invisible_ms: int, poll_ms: int
    ) -> list[MessageExt]:
        """Return the messages of the first place that has any."""
        failures: list[ClientError] = []
        for place in places:
            asked = PopRequest(
                place,
                self._subscriptions[place.topic],
                count_max,
                invisible_ms,
                poll_ms=poll_ms,
                init_mode=self._init_mode,
                order=self._order,
            )
            try:
                popped = await self._pop_api.pop(asked)
                self.last_poll_ms = self._client.now_ms()
            except ClientError as error:
                self._client.doubt_route(place.topic)
                if not error.retriable:
                    raise
                failures.append(error)
                continue
            messages = await self._deliverable(place, popped)
            if messages:
                return messages
        responses.report_silent(failures, self._log, of=len(places))
        return []

    async def _deliverable(self, place: PopPlace, popped: list[MessageExt]) -> list[MessageExt]:
        """Return the messages for the application; end the others, or they would come again."""
        subscription = self._subscriptions[place.topic]
        deliverable = []
        for message in popped:
            if not subscription.accepts(message):
                await self._end(place, message)
            elif message.reconsume_times > self._reconsume_times_max:
                LOG.warning(
                    "%s: %r came %d times and goes to the dead letter queue",
                    self.group,
                    message,
                    message.reconsume_times,
                )
                await self._send_back.give_back(
                    message, delay_level=-1, broker_name=message.broker_name
                )
                await self._end(place, message)
            else:
                deliverable.append(unwrap_message(self._client.namespace, message))
        return deliverable

    def _log(self, error: ClientError) -> None:
        LOG.log(self._client.log_level(error), "%s: %s", self.group, error)

    async def _end(self, place: PopPlace, message: MessageExt) -> None:
        try:
            await self._pop_api.ack(place.topic, message.receipt or "")
        except ClientError as error:
            LOG.warning("%s: %r comes again: %s", self.group, message, error)

    async def _wait_for_any(self, places: list[PopPlace], *, poll_ms: int) -> None:
        """Return when one place has a message, or when the time is over."""
        waits = [
            asyncio.ensure_future(
                self._pop_api.wait_for_message(place, poll_ms=poll_ms, order=self._order)
            )
            for place in places
        ]
        failures: list[ClientError] = []
        try:
            for wait in asyncio.as_completed(waits):
                try:
                    if await wait:
                        return
                except ClientError as error:
                    if not error.retriable:
                        raise
                    failures.append(error)
            responses.report_silent(failures, self._log, of=len(places))
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)


def _check_invisible(invisible_ms: int) -> None:
    check_range("invisible_ms", invisible_ms, low=INVISIBLE_MS_MIN, high=INVISIBLE_MS_MAX)
