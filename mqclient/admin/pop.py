"""Admin calls about POP and timers: what brokers of RocketMQ 5, and ours, have beside 4.9.

Source: tools/admin/DefaultMQAdminExtImpl.java, client/impl/MQClientAPIImpl.java (5.4.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mqclient.admin.calls import AdminCalls
from mqclient.client import responses, routes
from mqclient.errors import BadRequest, BrokerRefused, NoRoute
from remoting import bodies, headers
from remoting.codes import LaterCode, ResponseCode
from remoting.errors import BadHeader
from remoting.recall import decode_recall

if TYPE_CHECKING:
    from remoting.command import Command
    from remoting.header import Header

_HINT: Final = "this needs a broker of RocketMQ 5, or one of this project"


class PopCalls(AdminCalls):
    """The requests of RocketMQ 5 about consumption by POP, and about timer messages."""

    async def message_request_modes(
        self, address: str
    ) -> dict[tuple[str, str], bodies.SetMessageRequestModeRequestBody]:
        """Return how groups consume topics at a broker, by group and topic, where that was set.

        A group pulls from every other topic, unless its members pop by themselves, as a
        ``SimpleConsumer`` does.

        Raises:
            BrokerRefused: the broker does not know POP.
        """
        answer = await self._later(
            address, LaterCode.GET_ALL_MESSAGE_REQUEST_MODE, what="consume modes"
        )
        modes = responses.body(
            answer, bodies.MessageRequestModeSerializeWrapper, address=address
        ).message_request_mode_map
        return {
            (group, topic): mode
            for topic, groups in modes.items()
            for group, mode in groups.items()
        }

    async def set_message_request_mode(
        self, address: str, wanted: bodies.SetMessageRequestModeRequestBody
    ) -> None:
        """Set how a group consumes a topic at a broker.

        Args:
            wanted: the group, the topic and the mode; a retry topic is refused.

        Raises:
            NotFound: the broker does not have the topic.
            BrokerRefused: the broker does not know POP, or refuses the change.
        """
        await self._later(
            address,
            LaterCode.SET_MESSAGE_REQUEST_MODE,
            what=f"consume mode of group {wanted.consumer_group} for topic {wanted.topic}",
            body=wanted.encode(),
        )

    async def timer_metrics(self, address: str) -> dict[str, int]:
        """Return how many messages wait in the timer wheel of a broker, by their topic.

        Raises:
            BrokerRefused: the broker has no timer wheel.
        """
        answer = await self._later(address, LaterCode.GET_TIMER_METRICS, what="timer messages")
        metrics = responses.body(answer, bodies.TimerMetrics, address=address)
        return {topic: metric.count for topic, metric in metrics.timing_count.items()}

    async def recall_message(self, recall_handle: str, *, producer_group: str | None = None) -> str:
        """Take back a message that a timer has not delivered yet, and return its unique key.

        The answer does not say whether the message still waited: a broker answers when it has
        stored the recall, and only then looks for the message.

        Args:
            recall_handle: what the broker answered when the message was sent.
            producer_group: the group of its producer; None leaves it out.

        Raises:
            BadRequest: the text is not a handle.
            NoRoute: the broker of the message is not known.
            BrokerRefused: the broker does not know timers, or the time of the message is over.
        """
        try:
            handle = decode_recall(recall_handle)
        except BadHeader as error:
            raise BadRequest(str(error), hint="give what `message send` answered") from error
        masters = routes.masters(await self._client.route(handle.topic))
        address = masters.get(handle.broker_name)
        if address is None:
            raise NoRoute(handle.topic, address=f"broker {handle.broker_name}")
        header = headers.RecallMessage(
            producer_group=producer_group,
            topic=handle.topic,
            recall_handle=recall_handle,
            broker_name=handle.broker_name,
        )
        answer = await self._later(
            address,
            LaterCode.RECALL_MESSAGE,
            header,
            what=f"recall of message {handle.unique_key} of topic {handle.topic}",
        )
        return responses.header(answer, headers.RecallMessageResponse, address=address).msg_id

    async def _later(
        self,
        address: str,
        code: LaterCode,
        header: Header | None = None,
        *,
        what: str,
        body: bytes = b"",
    ) -> Command:
        try:
            return await self._broker(address, code, header, what=what, body=body)
        except BrokerRefused as error:
            if error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                error.advise(_HINT)
            elif (code, error.code) == (LaterCode.RECALL_MESSAGE, ResponseCode.NO_PERMISSION):
                error.advise("the broker takes messages back with recallMessageEnable=true only")
            raise
