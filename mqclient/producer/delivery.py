"""How a packed message, or a batch, gets to a broker, and when it is sent again.

    next queue ── its address ──┬── an open connection: write the frame, a future gets the answer
                                └── ``invoke``: no connection yet, or requests are signed or watched
    no answer, or a retry code ── the next broker, while time and attempts last

``Producer`` says which sends are tried again. Send hooks and latency faults see every attempt.

Source: client/impl/producer/DefaultMQProducerImpl.java#sendDefaultImpl, #sendKernelImpl,
client/impl/MQClientAPIImpl.java#processSendResponse, #onExceptionImpl (4.9.7).
"""

import asyncio
import random
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial

from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.hooks import SendEvent, SendHook, call_hooks
from mqclient.producer.publish_routes import PublishRoutes
from mqclient.producer.queue_selector import LatencyFaults, RoundRobin
from mqclient.producer.send_attempt import SendAttempt
from mqclient.producer.send_request import PackedMessage, SendCommands
from mqclient.producer.send_result import SendResult, SendStatus, result_of
from mqclient.producer.settings import ProducerSettings
from remoting.bodies import MessageQueue


@dataclass(slots=True)
class _Attempts:
    """The attempts and the time that a message, or a batch, has left.

    Attributes:
        left: attempts after the current one.
        timeout_s: time for the current attempt and all after it.
        deadline_s: when that time ends, by the clock of the event loop.
        is_async: True for the rules of ``send_async``.
        avoid: the broker of the attempt before.
    """

    left: int
    timeout_s: float
    deadline_s: float
    is_async: bool
    avoid: str | None = None


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
        timeout_s: float | None = None,
    ) -> Coroutine[object, object, SendResult]:
        """Send with the attempts of ``Producer.send``; the caller awaits the result at once.

        Args:
            out: the packed message or batch.
            messages: the same as the application gave them, for hooks.
            queue: the queue to send to; None means the next one in turn.
            timeout_s: the limit for all attempts together, in seconds; None means the setting.

        Raises the same errors as ``Producer.send``.
        """
        count = self._settings.retry_times_when_send_failed if queue is None else 0
        return self._deliver(out, messages, queue, self._tries(timeout_s, count))

    def send_async(
        self,
        out: PackedMessage,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        timeout_s: float | None = None,
    ) -> "asyncio.Future[SendResult]":
        """Send with the attempts of ``Producer.send_async``; ``shutdown`` waits for the result.

        Args:
            out: the packed message.
            message: the same as the application gave it, for hooks.
            queue: the queue to send to; None means the next one in turn.
            timeout_s: the limit for all attempts together, in seconds; None means the setting.

        Raises:
            BadRequest: it cannot be sent; the future raises every other error.
        """
        if queue is not None:
            queue = self._publish_routes.checked_queue(queue, out.topic)
        tries = self._tries(timeout_s)
        future = self._posted(out, message, queue, tries)
        if future is None:
            work = self._deliver(out, [message], queue, tries)
            future = asyncio.get_running_loop().create_task(work)
        return self._track(future)

    def send_async_to_choice(
        self,
        out: PackedMessage,
        message: Message,
        *,
        choice: Awaitable[MessageQueue | None],
        timeout_s: float | None = None,
    ) -> "asyncio.Future[SendResult]":
        """Send as ``send_async`` does, to the queue that ``choice`` returns.

        Args:
            out: the packed message.
            message: the same as the application gave it, for hooks.
            choice: chooses the queue.
            timeout_s: the limit for all attempts together, in seconds; None means the setting.
        """
        tries = self._tries(timeout_s)

        async def deliver() -> SendResult:
            return await self._deliver(out, [message], await choice, tries)

        return self._track(asyncio.get_running_loop().create_task(deliver()))

    def _track(self, future: "asyncio.Future[SendResult]") -> "asyncio.Future[SendResult]":
        self._in_flight.add(future)
        future.add_done_callback(self._in_flight.discard)
        return future

    async def shutdown(self) -> None:
        """Wait for the sends of ``send_async`` that are under way."""
        if self._in_flight:
            await asyncio.wait(self._in_flight)

    def _tries(self, timeout_s: float | None, attended_count: int | None = None) -> _Attempts:
        if timeout_s is None:
            limit_ms = self._settings.send_msg_timeout_ms
            timeout_s = self._client.timeout_s if limit_ms is None else limit_ms / 1000
        now_s = asyncio.get_running_loop().time()
        if attended_count is not None:
            return _Attempts(attended_count, timeout_s, now_s + timeout_s, is_async=False)
        count = self._settings.retry_times_when_send_async_failed
        return _Attempts(count, timeout_s, now_s + timeout_s, is_async=True)

    async def _deliver(
        self,
        out: PackedMessage,
        messages: Sequence[Message],
        queue: MessageQueue | None,
        tries: _Attempts,
    ) -> SendResult:
        if queue is not None:
            queue = self._publish_routes.checked_queue(queue, out.topic)
        while True:
            now_ms = self._client.now_ms()
            # Nearly every send finds a known route here, without a request.
            info = self._publish_routes.known(out.topic, now_ms=now_ms)
            if queue is not None:
                target = queue
            elif info is not None:
                target = self._pick(info.queues, tries.avoid, now_ms)
            else:
                target = self._pick(
                    await self._publish_routes.queues(out.topic), tries.avoid, now_ms
                )
            try:
                address = None if info is None else info.masters.get(target.broker_name)
                if address is None:
                    address = await self._publish_routes.address(target)
                if self._is_watched:
                    result = await self._watched(out, messages, target, address, tries)
                else:
                    result = await self._try(out, target, address, tries, now_ms)
            except ClientError as error:
                if not self._is_tried_again(error, tries):
                    raise
                self._client.doubt_route(out.topic)
            else:
                again = self._settings.retry_another_broker_when_not_store_ok
                if result.status is SendStatus.SEND_OK or not again or tries.is_async:
                    return result
                if not tries.left:
                    return result
            self._next(tries, target)

    def _posted(
        self, out: PackedMessage, message: Message, queue: MessageQueue | None, tries: _Attempts
    ) -> "asyncio.Future[SendResult] | None":
        """Begin an async send without a task; return None where something must be awaited first."""
        now_ms = self._client.now_ms()
        info = self._publish_routes.known(out.topic, now_ms=now_ms)
        if info is None or not info.queues or self._is_watched:
            return None
        target = self._pick(info.queues, None, now_ms) if queue is None else queue
        address = info.masters.get(target.broker_name)
        channel = None if address is None else self._client.open_channel(address)
        if address is None or channel is None:
            return None
        future: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        again = partial(self._try_again, future, out, message, queue, target, tries)
        sending = SendAttempt(future, out, target, address, tries.timeout_s, again)
        sending.post(channel, self.requests, now_ms=now_ms, deadline_s=tries.deadline_s)
        return future

    def _try_again(
        self,
        future: "asyncio.Future[SendResult]",
        out: PackedMessage,
        message: Message,
        queue: MessageQueue | None,
        failed: MessageQueue,
        tries: _Attempts,
        error: ClientError,
    ) -> None:
        """Try an async send again in a task, or end it with the error."""
        if not self._is_tried_again(error, tries):
            future.set_exception(error)
            return
        self._client.doubt_route(out.topic)
        self._next(tries, failed)
        work = self._deliver(out, [message], queue, tries)
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(partial(_hand_over, future))
        future.add_done_callback(lambda _: task.cancel())

    def _pick(self, queues: Sequence[MessageQueue], avoid: str | None, now_ms: int) -> MessageQueue:
        if self._settings.send_latency_fault_enable:
            return self._latency_faults.pick(self.round_robin, queues, now_ms=now_ms)
        return self.round_robin.pick(queues, avoid=avoid)

    def _is_tried_again(self, error: ClientError, tries: _Attempts) -> bool:
        if not tries.left or asyncio.get_running_loop().time() >= tries.deadline_s:
            return False
        if error.code is None:
            return error.retriable
        return not tries.is_async and error.code in self._settings.retry_response_codes

    def _next(self, tries: _Attempts, failed: MessageQueue) -> None:
        tries.left -= 1
        tries.timeout_s = tries.deadline_s - asyncio.get_running_loop().time()
        tries.avoid = failed.broker_name

    @property
    def _is_watched(self) -> bool:
        return bool(self.hooks) or self._settings.send_latency_fault_enable

    async def _watched(
        self,
        out: PackedMessage,
        messages: Sequence[Message],
        queue: MessageQueue,
        address: str,
        tries: _Attempts,
    ) -> SendResult:
        started_ms = self._client.now_ms()
        event = SendEvent(self._group, queue, messages, out, address, started_ms)
        what = f"a send to {queue}"
        call_hooks(self.hooks, lambda hook: hook.send_before(event), f"before {what}")
        try:
            event.result = await self._try(event.out, queue, address, tries, started_ms)
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
        self, out: PackedMessage, queue: MessageQueue, address: str, tries: _Attempts, now_ms: int
    ) -> Awaitable[SendResult]:
        channel = self._client.open_channel(address)
        if channel is None:
            return self._invoke(out, queue, address, tries, now_ms)
        future: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        sending = SendAttempt(future, out, queue, address, tries.timeout_s, None)
        sending.post(channel, self.requests, now_ms=now_ms, deadline_s=tries.deadline_s)
        return future

    async def _invoke(
        self, out: PackedMessage, queue: MessageQueue, address: str, tries: _Attempts, now_ms: int
    ) -> SendResult:
        command = self.requests.command(out, queue, now_ms=now_ms)
        left_s = tries.deadline_s - asyncio.get_running_loop().time()
        answer = await self._client.invoke(address, command, timeout_s=left_s)
        return result_of(answer, queue, unique_key=out.unique_key, address=address)


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
