"""How a consumer answers the requests that brokers send to it.

    40  NOTIFY_CONSUMER_IDS_CHANGED     rebalance as soon as possible
    220 RESET_CONSUMER_CLIENT_OFFSET    drop the queues, wait, set their offsets, begin again
    221 GET_CONSUMER_STATUS_FROM_CLIENT the offsets in memory
    307 GET_CONSUMER_RUNNING_INFO       queues, subscriptions, rates, thread stacks on demand
    309 CONSUME_MESSAGE_DIRECTLY        the listener gets one message, its result is the answer

``Members`` chooses the consumer: it is the one whose group the request names.

Source: client/impl/ClientRemotingProcessor.java,
client/impl/factory/MQClientInstance.java#resetOffset, #consumerRunningInfo (4.9.7).
"""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from mqclient.client.members import RequestHandler
from mqclient.consumer.pull.pull_message_service import PullMessageService
from mqclient.consumer.state.consumer_state import ConsumerState, ConsumeService
from mqclient.errors import ClientError
from mqclient.message import read_messages
from remoting.bodies import ConsumerRunningInfo, MessageQueue
from remoting.bodies.offsets import GetConsumerStatusBody, ResetOffsetBody
from remoting.codes import VERSION_NAME, RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    ConsumeMessageDirectly,
    GetConsumerRunningInfo,
    GetConsumerStatus,
    ResetOffset,
)
from storefmt.names import camel_case

LOG = logging.getLogger(__name__)

RESET_PAUSE_S: Final = 10.0
"""Time that running listeners get before offsets are set (MQClientInstance#resetOffset)."""


class BrokerRequests:
    """Answers the requests of brokers for one consumer.

    Args:
        state: the consumer's tables and offsets.
        service: consumes the message of request 309.
        pulls: reads the queues that a reset drops.
        started_ms: when the consumer was started, in ms since 1970.
    """

    def __init__(
        self,
        state: ConsumerState,
        service: ConsumeService,
        *,
        pulls: PullMessageService,
        started_ms: int,
    ) -> None:
        self._state = state
        self._service = service
        self._subscriptions = state.subscriptions
        self._process_queues = state.process_queues
        self._pulls = pulls
        self._started_ms = started_ms
        self._reset_offsets: dict[MessageQueue, int] = {}

    def table(self) -> dict[int, RequestHandler]:
        """Return the method that answers each request code."""
        return {
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: self.members_changed,
            RequestCode.RESET_CONSUMER_CLIENT_OFFSET: self.reset,
            RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: self.positions,
            RequestCode.GET_CONSUMER_RUNNING_INFO: self.running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self.consume_directly,
        }

    async def members_changed(self, address: str, request: Command) -> Command | None:
        """Rebalance as soon as possible, because the members of the group changed."""
        self._state.rebalance_now.set()
        return None

    async def reset(self, address: str, request: Command) -> Command | None:
        """Set the offsets of queues of a topic, even if they were consumed beyond these offsets."""
        header = request.header(ResetOffset)
        reset_offsets = ResetOffsetBody.decode(request.body).offset_table
        LOG.info("%s asks %s to reset its offsets in %s", address, header.group, header.topic)
        work = asyncio.get_running_loop().create_task(self._reset(header.topic, reset_offsets))
        self._state.tasks.add(work)
        return None

    async def positions(self, address: str, request: Command) -> Command | None:
        """Return the offsets that this consumer has in memory."""
        topic = request.header(GetConsumerStatus).topic
        body = GetConsumerStatusBody(message_queue_table=self._state.offsets.table(topic))
        return request.response(body=body.encode())

    async def running_info(self, address: str, request: Command) -> Command | None:
        """Return subscriptions, queues, rates and, on demand, the stacks of all threads."""
        header = request.header(GetConsumerRunningInfo)
        now_ms = self._state.client.now_ms()
        offsets = self._state.offsets
        info = ConsumerRunningInfo(
            properties=self._properties(),
            subscription_set=sorted(
                (each.data for each in self._subscriptions.values()), key=lambda data: data.topic
            ),
            mq_table={
                queue: each.info(commit_offset=offsets.known(queue) or 0)
                for queue, each in sorted(self._process_queues.items())
            },
            status_table={
                topic: self._state.stats[topic].status(now_ms)
                for topic in sorted(self._subscriptions)
            },
            jstack=_stacks() if header.jstack_enable else None,
        )
        return request.response(body=info.encode())

    async def consume_directly(self, address: str, request: Command) -> Command | None:
        """Call the listener with one message, and return how the call ended."""
        header = request.header(ConsumeMessageDirectly)
        messages = read_messages(
            request.body, broker_name=header.broker_name or "", address=address
        )
        if not messages:
            return request.response(ResponseCode.SYSTEM_ERROR, remark="the request has no message")
        result = await self._service.consume_directly(messages[0])
        return request.response(body=result.encode())

    async def _reset(self, topic: str, reset_offsets: Mapping[MessageQueue, int]) -> None:
        pulls, offsets = self._pulls, self._state.offsets
        resets = [
            each
            for queue, each in self._process_queues.items()
            if queue.topic == topic and queue in reset_offsets
        ]
        # A second reset during the pause of the first one wins.
        self._reset_offsets |= {each.queue: reset_offsets[each.queue] for each in resets}
        for process_queue in resets:
            process_queue.dropped = True
            process_queue.clear()
            pulls.end(process_queue.queue)
        if resets:
            await asyncio.sleep(RESET_PAUSE_S)
        for process_queue in resets:
            if self._process_queues.get(process_queue.queue) is not process_queue:
                continue
            offset = self._reset_offsets.pop(process_queue.queue)
            offsets.update(process_queue.queue, offset, increase_only=False)
            try:
                await offsets.persist([process_queue.queue], sure=True)
            except ClientError as error:
                LOG.warning(
                    "the reset offset of %s was not persisted: %s", process_queue.queue, error
                )
            del self._process_queues[process_queue.queue]
            offsets.remove(process_queue.queue)
        self._state.rebalance_now.set()

    def _properties(self) -> dict[str, str]:
        settings = self._state.settings
        shown = {
            camel_case(item.name): str(getattr(settings, item.name)) for item in fields(settings)
        }
        shown.pop("roomOf", None)
        return shown | {
            "consumerGroup": self._state.group,
            "messageModel": settings.message_model.name,
            "consumeFromWhere": settings.consume_from_where.name,
            "PROP_CONSUMER_START_TIMESTAMP": str(self._started_ms),
            "PROP_CONSUMEORDERLY": str(self._service.orderly).lower(),
            "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
            "PROP_THREADPOOL_CORE_SIZE": str(settings.consume_thread_min),
            "PROP_NAMESERVER_ADDR": ";".join(self._state.client.namesrv_addresses) + ";",
            "PROP_CLIENT_VERSION": VERSION_NAME,
        }


def _stacks() -> str:
    """Return every thread's stack as text."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():
        stack = "".join(traceback.format_stack(frame))
        parts.append(f"{names.get(ident, 'thread')} ({ident})\n{stack}")
    return "\n".join(parts)
