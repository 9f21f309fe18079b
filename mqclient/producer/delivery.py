"""How a packed message, or a batch, gets to a broker, and when it is sent again.

    next queue ── its address ──┬── an open connection: write the frame, a future gets the answer
                                └── ``invoke``: no connection yet, or requests are signed or watched
    no answer, or a retry code ── the next broker, or the same one after a pause (``attempts``)

Every further attempt asks for a fresh route, because the master may be another one by now. Send
hooks and latency faults see every attempt.

Source: client/impl/producer/DefaultMQProducerImpl.java#sendDefaultImpl, #sendKernelImpl,
client/impl/MQClientAPIImpl.java#processSendResponse, #onExceptionImpl (4.9.7).
"""

import asyncio
import random
from collections.abc import Awaitable, Coroutine, Sequence
from functools import partial

from mqclient.client.instance import MQClient
from mqclient.errors import ClientError, NoRoute
from mqclient.message import Message
from mqclient.producer.attempts import Attempts
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.publish_routes import PublishRoutes
from mqclient.producer.queue_selector import Choose, LatencyFaults, RoundRobin
from mqclient.producer.send_attempt import SendAttempt
from mqclient.producer.send_hooks import SendEvent, SendHook, call_hooks
from mqclient.producer.send_request import PackedMessage, SendCommands, compressed
from mqclient.producer.send_result import SendResult, SendStatus, result_of
from remoting.bodies import MessageQueue


class Delivery:
    """Sends the packed messages of one producer.

    Args:
        client: the connections.
        group: the producer group.
        settings: the producer's settings.
        publishing: the queues and masters of topics.

    Attributes:
        hooks: called before and after every attempt.
        requests: builds the requests.
        round_robin: chooses queues in turn.
    """

    def __init__(
        self, client: MQClient, group: str, settings: ProducerSettings, publishing: PublishRoutes
    ) -> None:
        self._client = client
        self._group = group
        self._settings = settings
        self._publish_routes = publishing
        self._latency_faults = LatencyFaults()
        self._in_flight: set[asyncio.Future[SendResult]] = set()
        self.hooks: list[SendHook] = []
        self.requests = SendCommands(settings, group)
        # The random start spreads the first messages of many producers over the queues.
        self.round_robin = RoundRobin(random.randrange(1 << 16))

    def send(
        self,
        out: PackedMessage,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        choose: Choose | None = None,
        timeout_s: float | None = None,
    ) -> Coroutine[object, object, SendResult]:
        """Send with the attempts of ``Producer.send``; the caller awaits the result at once.

        Args:
            out: the packed message or batch.
            messages: the same as the application gave them, for hooks.
            queue: the queue to send to; None means the next one in turn.
            choose: chooses the queue, once; None means ``queue``.
            timeout_s: the limit for all attempts together, in seconds; None means the setting.

        Raises the same errors as ``Producer.send``.
        """
        is_bound = queue is not None or choose is not None
        attempts = self._attempts(timeout_s, is_async=False, is_bound=is_bound)
        return self._deliver(out, messages, queue, choose, attempts)

    def send_async(
        self,
        out: PackedMessage,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        choose: Choose | None = None,
        timeout_s: float | None = None,
    ) -> "asyncio.Future[SendResult]":
        """Send with the attempts of ``Producer.send_async``; ``shutdown`` waits for the result.

        Args:
            out: the packed message.
            message: the same as the application gave it, for hooks.
            queue, choose: see ``send``.
            timeout_s: the limit for all attempts together, in seconds; None means the setting.

        Raises:
            BadRequest: it cannot be sent; the future raises every other error.
        """
        if queue is not None:
            queue = self._publish_routes.checked_queue(queue, out.topic)
        is_bound = queue is not None or choose is not None
        attempts = self._attempts(timeout_s, is_async=True, is_bound=is_bound)
        future = self._posted(out, message, queue, attempts) if choose is None else None
        if future is None:
            work = self._deliver(out, [message], queue, choose, attempts)
            future = asyncio.get_running_loop().create_task(work)
        self._in_flight.add(future)
        future.add_done_callback(self._in_flight.discard)
        return future

    async def compressed(self, out: PackedMessage) -> PackedMessage:
        """Return a packed message as it is sent; a large body is compressed in a thread."""
        if not out.is_to_compress:
            return out
        return await asyncio.to_thread(compressed, out, self._settings)

    async def shutdown(self) -> None:
        """Wait for the sends of ``send_async`` that are under way."""
        if self._in_flight:
            await asyncio.wait(self._in_flight)

    def _attempts(self, timeout_s: float | None, *, is_async: bool, is_bound: bool) -> Attempts:
        if timeout_s is None:
            limit_ms = self._settings.send_msg_timeout_ms
            timeout_s = self._client.timeout_s if limit_ms is None else limit_ms / 1000
        now_s = asyncio.get_running_loop().time()
        return Attempts(self._settings, timeout_s, now_s + timeout_s, is_async, is_bound)

    async def _deliver(
        self,
        out: PackedMessage,
        messages: Sequence[Message],
        queue: MessageQueue | None,
        choose: Choose | None,
        attempts: Attempts,
    ) -> SendResult:
        if queue is not None:
            queue = self._publish_routes.checked_queue(queue, out.topic)
        if out.is_to_compress:
            out = await self.compressed(out)
        queues: Sequence[MessageQueue] = ()
        while True:
            now_ms = self._client.now_ms()
            # Nearly every send finds a known route here, without a request.
            info = self._publish_routes.known(out.topic, now_ms=now_ms)
            if info is not None:
                queues = info.queues
            elif queue is None:
                queues = await self._publish_routes.queues(out.topic)
            target = queue
            try:
                if target is None:
                    if not queues:
                        raise NoRoute(out.topic, address="any master that takes writes")
                    if choose is None:
                        target = self._pick(queues, attempts.avoid, now_ms)
                    else:
                        chosen = choose(queues)
                        target = queue = self._publish_routes.checked_queue(chosen, out.topic)
                address = None if info is None else info.address_of(target)
                if address is None:
                    address = await self._publish_routes.address(target)
                if self._is_watched:
                    result = await self._watched(out, messages, target, address, attempts)
                else:
                    result = await self._try(out, target, address, attempts, now_ms)
            except ClientError as error:
                pause_s = self._pause_s(error, queues, attempts)
                if pause_s is None:
                    self._doubt_route(out.topic, error)
                    raise
            else:
                if result.status is SendStatus.SEND_OK or not attempts.not_safe_is_tried_again:
                    return result
                pause_s = 0.0
            await self._prepare_again(out, target, pause_s, attempts)

    def _posted(
        self,
        out: PackedMessage,
        message: Message,
        queue: MessageQueue | None,
        attempts: Attempts,
    ) -> "asyncio.Future[SendResult] | None":
        """Begin an async send without a task; return None where something must be awaited first."""
        now_ms = self._client.now_ms()
        info = self._publish_routes.known(out.topic, now_ms=now_ms)
        if info is None or not info.queues or self._is_watched or out.is_to_compress:
            return None
        target = self._pick(info.queues, None, now_ms) if queue is None else queue
        address = info.address_of(target)
        channel = None if address is None else self._client.open_channel(address)
        if address is None or channel is None:
            return None
        future: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        again = partial(self._try_again, future, out, message, queue, target, info.queues, attempts)
        sending = SendAttempt(future, out, target, address, attempts.timeout_s, again)
        sending.post(channel, self.requests, now_ms=now_ms, deadline_s=attempts.deadline_s)
        return future

    def _try_again(
        self,
        future: "asyncio.Future[SendResult]",
        out: PackedMessage,
        message: Message,
        queue: MessageQueue | None,
        failed: MessageQueue,
        queues: Sequence[MessageQueue],
        attempts: Attempts,
        error: ClientError,
    ) -> None:
        """Try an async send again in a task, or end it with the error."""
        pause_s = self._pause_s(error, queues, attempts)
        if pause_s is None:
            self._doubt_route(out.topic, error)
            future.set_exception(error)
            return

        async def deliver_again() -> SendResult:
            await self._prepare_again(out, failed, pause_s, attempts)
            return await self._deliver(out, [message], queue, None, attempts)

        task = asyncio.get_running_loop().create_task(deliver_again())
        task.add_done_callback(partial(_hand_over, future))
        future.add_done_callback(lambda _: task.cancel())

    async def _prepare_again(
        self, out: PackedMessage, failed: MessageQueue | None, pause_s: float, attempts: Attempts
    ) -> None:
        """Wait until the next attempt, which asks for a fresh route."""
        attempts.failed(None if failed is None else failed.broker_name)
        if pause_s:
            await asyncio.sleep(pause_s)
        attempts.timeout_s = round(_left_s(attempts), 2)
        self._client.doubt_route(out.topic)

    def _doubt_route(self, topic: str, error: ClientError) -> None:
        """Let the next send ask for a fresh route, if another broker may be the master by now."""
        if error.code is None or error.retriable:
            self._client.doubt_route(topic)

    def _pick(self, queues: Sequence[MessageQueue], avoid: str | None, now_ms: int) -> MessageQueue:
        if self._settings.send_latency_fault_enable:
            return self._latency_faults.pick(self.round_robin, queues, now_ms=now_ms)
        return self.round_robin.pick(queues, avoid=avoid)

    def _pause_s(
        self, error: ClientError, queues: Sequence[MessageQueue], attempts: Attempts
    ) -> float | None:
        broker_count = len({queue.broker_name for queue in queues})
        now_s = asyncio.get_running_loop().time()
        return attempts.pause_s(error, broker_count=broker_count, now_s=now_s)

    @property
    def _is_watched(self) -> bool:
        return bool(self.hooks) or self._settings.send_latency_fault_enable

    async def _watched(
        self,
        out: PackedMessage,
        messages: Sequence[Message],
        queue: MessageQueue,
        address: str,
        attempts: Attempts,
    ) -> SendResult:
        started_ms = self._client.now_ms()
        event = SendEvent(self._group, queue, messages, out, address, started_ms)
        what = f"a send to {queue}"
        call_hooks(self.hooks, lambda hook: hook.send_before(event), f"before {what}")
        try:
            event.result = await self._try(event.out, queue, address, attempts, started_ms)
            return event.result
        except ClientError as error:
            event.error = error
            raise
        finally:
            now_ms = self._client.now_ms()
            event.elapsed_ms = now_ms - started_ms
            self._latency_faults.sent(
                queue.broker_name,
                elapsed_ms=event.elapsed_ms,
                failed=event.error is not None and event.error.code is None,
                now_ms=now_ms,
            )
            call_hooks(self.hooks, lambda hook: hook.send_after(event), f"after {what}")

    def _try(
        self, out: PackedMessage, queue: MessageQueue, address: str, attempts: Attempts, now_ms: int
    ) -> Awaitable[SendResult]:
        channel = self._client.open_channel(address)
        if channel is None:
            return self._invoke(out, queue, address, attempts, now_ms)
        future: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        sending = SendAttempt(future, out, queue, address, attempts.timeout_s, None)
        sending.post(channel, self.requests, now_ms=now_ms, deadline_s=attempts.deadline_s)
        return future

    async def _invoke(
        self, out: PackedMessage, queue: MessageQueue, address: str, attempts: Attempts, now_ms: int
    ) -> SendResult:
        command = self.requests.command(out, queue, now_ms=now_ms)
        answer = await self._client.invoke(address, command, timeout_s=_left_s(attempts))
        return result_of(answer, queue, unique_key=out.unique_key, address=address)


def _left_s(attempts: Attempts) -> float:
    return attempts.deadline_s - asyncio.get_running_loop().time()


def _hand_over(future: "asyncio.Future[SendResult]", task: "asyncio.Task[SendResult]") -> None:
    """Copy the result or the error of a task to a future."""
    if task.cancelled():
        future.cancel()
        return
    error = task.exception()
    if future.done():
        return
    if error is None:
        future.set_result(task.result())
    else:
        future.set_exception(error)
