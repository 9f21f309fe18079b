"""Proxies, which are the blocking form of an async class with one line for each method.

    class BlockingPullConsumer(BlockingProxy[PullConsumer]):
        pull = blocking_call(PullConsumer.pull)

Rule: a proxy adds nothing of its own. Parameters, result, errors and documentation are those of the
async method, for readers and for type checkers. Every call runs in the event loop of the client,
even that of a plain method, because it may change what the loop works with.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from mqclient.blocking.loop import BlockingLoop

if TYPE_CHECKING:
    import asyncio

_P = ParamSpec("_P")
_T = TypeVar("_T")
_O = TypeVar("_O", bound=AbstractAsyncContextManager[object, None])
_O_co = TypeVar("_O_co", bound=AbstractAsyncContextManager[object, None], covariant=True)


class BlockingProxy(Generic[_O_co]):
    """Base of the proxies; a ``with`` block does what ``async with`` does.

    Args:
        client: every call runs in its event loop.
        own: the async object.

    Attributes:
        own: the same object, for coroutines that ``BlockingClient.run`` runs.
    """

    def __init__(self, client: BlockingLoop, own: _O_co) -> None:
        self._client = client
        self.own = own

    def __enter__(self) -> Self:
        self._client.run(self.own.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.run(self.own.__aexit__(kind, error, trace))


@overload
def blocking_call(
    method: Callable[Concatenate[_O, _P], Coroutine[object, object, _T]],
) -> Callable[Concatenate[BlockingProxy[_O], _P], _T]: ...
@overload
def blocking_call(
    method: Callable[Concatenate[_O, _P], _T],
) -> Callable[Concatenate[BlockingProxy[_O], _P], _T]: ...
def blocking_call(
    method: Callable[Concatenate[_O, _P], object],
) -> Callable[Concatenate[BlockingProxy[_O], _P], object]:
    """Return a method that runs the same method of ``own`` and waits for the result."""
    awaits = iscoroutinefunction(method)

    @wraps(method)
    def call(face: BlockingProxy[_O], *args: _P.args, **kwargs: _P.kwargs) -> object:
        # The method is looked up by name, because a subclass may override it.
        does = getattr(face.own, method.__name__)
        if awaits:
            return face._client.run(does(*args, **kwargs))
        return face._client.call(does, *args, **kwargs)

    return cast("Callable[Concatenate[BlockingProxy[_O], _P], object]", call)


def blocking_block(
    method: "Callable[Concatenate[_O, _P], AbstractAsyncContextManager[_T, bool | None]]",
) -> "Callable[Concatenate[BlockingProxy[_O], _P], AbstractContextManager[_T]]":
    """Return a method whose ``with`` block is the ``async with`` block of the same method."""

    @contextmanager
    def entered(face: BlockingProxy[_O], *args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
        block = getattr(face.own, method.__name__)(*args, **kwargs)
        value = face._client.run(block.__aenter__())
        try:
            yield value
        except BaseException as error:
            if not face._client.run(block.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            face._client.run(block.__aexit__(None, None, None))

    return cast(
        "Callable[Concatenate[BlockingProxy[_O], _P], AbstractContextManager[_T]]",
        wraps(method)(entered),
    )


def blocking_iterator(
    method: "Callable[Concatenate[_O, _P], AsyncIterator[_T]]",
) -> "Callable[Concatenate[BlockingProxy[_O], _P], Iterator[_T]]":
    """Return a method that yields what the same method of ``own`` yields."""

    def yielded(face: BlockingProxy[_O], *args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
        yield from iterate(face._client, getattr(face.own, method.__name__)(*args, **kwargs))

    return cast(
        "Callable[Concatenate[BlockingProxy[_O], _P], Iterator[_T]]", wraps(method)(yielded)
    )


def iterate(client: BlockingLoop, source: AsyncIterator[_T]) -> Iterator[_T]:
    """Yield the values of an asynchronous iterator, each awaited in the client's loop."""
    while True:
        try:
            value = client.run(_next(source))
        except StopAsyncIteration:
            return
        yield value


async def _next(source: AsyncIterator[_T]) -> _T:
    return await anext(source)


def future_call(
    method: "Callable[Concatenate[_O, _P], asyncio.Future[_T]]",
) -> "Callable[Concatenate[BlockingProxy[_O], _P], Future[_T]]":
    """Return a method that returns a ``concurrent.futures.Future`` at once.

    Callbacks of the future run in the event loop and may not block there; the future raises all
    errors.
    """

    @wraps(method)
    def call(face: BlockingProxy[_O], *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T]":
        return face._client.begin(getattr(face.own, method.__name__), *args, **kwargs)

    return cast("Callable[Concatenate[BlockingProxy[_O], _P], Future[_T]]", call)


def started_call(
    method: "Callable[Concatenate[_O, _P], Coroutine[object, object, asyncio.Future[_T]]]",
) -> "Callable[Concatenate[BlockingProxy[_O], _P], Future[_T]]":
    """Return a method that waits until something begins, and returns the future of its result."""

    @wraps(method)
    def call(face: BlockingProxy[_O], *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T]":
        begun = face._client.run(getattr(face.own, method.__name__)(*args, **kwargs))
        return face._client.begin(lambda: begun)

    return cast("Callable[Concatenate[BlockingProxy[_O], _P], Future[_T]]", call)
