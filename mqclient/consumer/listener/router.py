"""The router: a listener that calls a handler by topic and tag, with the body as a typed value.

    router = Router()

    @router.handler("orders", "new || paid")
    async def order_came(order: Order) -> None: ...

    router.register(consumer)                subscribes to all topics, and sets the listener

A handler is a coroutine function, or a plain function, which runs in a thread. Its parameters are
found by their annotations: one of ``MessageExt``, one of ``ConsumeConcurrentlyContext``, and one of
any other type, which gets the body. Each may be left out.

    its handler raises, returns a status       as with any listener
    the body does not have the type            the message goes to the dead letter queue at once,
                                               because it would fail each time
    no handler for the topic and the tag       NoHandler: it comes again, as after any error

Rule: what can be wrong with a handler is an error when it is declared, not at the first message.
"""

import asyncio
import inspect
import logging
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import (
    ConcurrentListener,
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
)
from mqclient.consumer.subscription import ALL, Subscription
from mqclient.errors import BadRequest, UnexpectedBody
from mqclient.json_body import Deserializer, from_json
from mqclient.message import MessageExt

LOG = logging.getLogger(__name__)

_F = TypeVar("_F", bound=Callable[..., Any])
_TO_DEAD_LETTERS: Final = -1


class Routed(Protocol):
    """A push consumer, asynchronous or blocking, that a router can register with."""

    @property
    def settings(self) -> PushSettings:
        """The settings of the consumer."""

    def subscribe(self, topic: str, expression: str = ALL) -> None:
        """Subscribe to a topic; see ``GroupConsumer.subscribe``."""

    def register_message_listener(self, listener: ConcurrentListener) -> None:
        """Set the listener; see ``PushConsumer.register_message_listener``."""


class NoHandler(LookupError):
    """A message came whose topic and tag have no handler."""


@dataclass(frozen=True, slots=True)
class _Handler:
    """A function, and which of its parameters gets what; None where it has no such parameter."""

    call: Callable[..., Any]
    is_coroutine: bool
    body: tuple[str, Any] | None
    message: str | None
    context: str | None


class Router:
    """Calls the handler of each message.

    Args:
        deserializer: returns the value of a body; None means ``from_json``.
    """

    def __init__(self, deserializer: Deserializer | None = None) -> None:
        self._deserialize: Deserializer = deserializer or from_json
        self._handlers: dict[str, dict[str, _Handler]] = {}

    def handler(self, topic: str, tags: str = ALL) -> Callable[[_F], _F]:
        """Decorate the handler of a topic.

        Args:
            topic: the topic, as messages name it: without the namespace of the client.
            tags: ``TagA || TagB``; ``*`` means every tag that has no handler of its own, and
                messages without a tag.

        Raises:
            BadRequest: ``tags`` names no tag, a tag has a handler already, or the parameters of the
                function are ambiguous.
        """
        names = Subscription.parse(tags).tags or {ALL}

        def declare(function: _F) -> _F:
            handler = _handler_of(function)
            handlers = self._handlers.setdefault(topic, {})
            for name in names:
                if name in handlers:
                    raise BadRequest(f"topic {topic}, tag {name} has a handler already")
            handlers.update(dict.fromkeys(names, handler))
            return function

        return declare

    def subscriptions(self) -> dict[str, str]:
        """Return the expression to subscribe with, by topic."""
        return {
            topic: ALL if ALL in handlers else " || ".join(sorted(handlers))
            for topic, handlers in self._handlers.items()
        }

    def register(self, consumer: Routed) -> None:
        """Subscribe a push consumer to the topics of all handlers, and be its listener.

        Raises:
            BadRequest: there is no handler, the consumer has started, or its listener gets more
                than one message at a time.
        """
        size = consumer.settings.consume_message_batch_max_size
        if size != 1:
            raise BadRequest(
                f"consume_message_batch_max_size is {size}, and a router takes single messages",
                hint="leave it at 1",
            )
        if not self._handlers:
            raise BadRequest("the router has no handler", hint="declare one with @router.handler")
        for topic, expression in self.subscriptions().items():
            consumer.subscribe(topic, expression)
        consumer.register_message_listener(self)

    async def __call__(
        self, messages: list[MessageExt], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus | None:
        """Call the handler of one message; this is the listener.

        Raises:
            NoHandler: no handler has the topic and the tag.
        """
        (message,) = messages
        handler = self._handler(message)
        arguments: dict[str, object] = {}
        if handler.body is not None:
            name, kind = handler.body
            try:
                arguments[name] = self._deserialize(message.body, kind)
            except UnexpectedBody as error:
                LOG.error("%r goes to the dead letter queue: %s", message, error)
                context.delay_level = _TO_DEAD_LETTERS
                return ConsumeConcurrentlyStatus.RECONSUME_LATER
        if handler.message is not None:
            arguments[handler.message] = message
        if handler.context is not None:
            arguments[handler.context] = context
        result: ConsumeConcurrentlyStatus | None
        if handler.is_coroutine:
            result = await handler.call(**arguments)
        else:
            result = await asyncio.to_thread(handler.call, **arguments)
        return result

    def _handler(self, message: MessageExt) -> _Handler:
        handlers = self._handlers.get(message.topic, {})
        handler = handlers.get(message.tags or ALL) or handlers.get(ALL)
        if handler is None:
            raise NoHandler(f"no handler for topic {message.topic}, tag {message.tags}")
        return handler


def _handler_of(function: Callable[..., Any]) -> _Handler:
    """Return a function with the uses of its parameters.

    Raises:
        BadRequest: it has a parameter without an annotation or by position only, or two of one use.
    """
    what = getattr(function, "__qualname__", repr(function))
    call = function if inspect.isroutine(function) else type(function).__call__
    try:
        hints = typing.get_type_hints(call)
    except NameError as error:
        raise BadRequest(
            f"an annotation of handler {what} cannot be read: {error}",
            hint="define the type at the top of its module",
        ) from error
    uses: dict[str, tuple[str, Any]] = {}
    for parameter in inspect.signature(function).parameters.values():
        kind = hints.get(parameter.name)
        if kind is None or parameter.kind not in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            raise BadRequest(
                f"parameter {parameter.name} of handler {what} needs an annotation and a name",
                hint="annotate it with MessageExt, or with the type of the body",
            )
        use = {MessageExt: "message", ConsumeConcurrentlyContext: "context"}.get(kind, "body")
        if use in uses:
            raise BadRequest(
                f"parameters {uses[use][0]} and {parameter.name} of handler {what} are both for "
                f"the {use}"
            )
        uses[use] = parameter.name, kind
    message, context = uses.get("message"), uses.get("context")
    return _Handler(
        function,
        inspect.iscoroutinefunction(call),
        uses.get("body"),
        message and message[0],
        context and context[0],
    )
