"""A method that awaits, made into one that waits: what the blocking face consists of.

    class BlockingPullConsumer(Blocking[PullConsumer]):
        pull = waits(PullConsumer.pull)

Rule: a face adds nothing to what it stands for. Parameters, result, errors and documentation
are those of the method that is named, for readers and for type checkers; each call runs in the
loop of the client, plain methods as well, because they change what the loop works with.
"""

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
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
    """Base of the faces: a ``with`` block does what ``async with`` does.

    Args:
        client: in whose loop everything runs.
        own: what this stands for.

    Attributes:
        own: the same, for ``BlockingClient.run``.
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
    """Return the method of a face that does this and waits for the result."""
    awaits = iscoroutinefunction(method)

    @wraps(method)
    def call(face: BlockingProxy[_O], *args: _P.args, **kwargs: _P.kwargs) -> object:
        # By its name, for a subclass of what has the method may have its own.
        does = getattr(face.own, method.__name__)
        if awaits:
            return face._client.run(does(*args, **kwargs))
        return face._client.call(does, *args, **kwargs)

    return cast("Callable[Concatenate[BlockingProxy[_O], _P], object]", call)


def future_call(
    method: "Callable[Concatenate[_O, _P], asyncio.Future[_T]]",
) -> "Callable[Concatenate[BlockingProxy[_O], _P], Future[_T]]":
    """Return the method of a face that gives a ``concurrent.futures.Future`` at once.

    Its callbacks run in the loop and may not wait there; all errors are the future's.
    """

    @wraps(method)
    def call(face: BlockingProxy[_O], *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T]":
        return face._client.begin(getattr(face.own, method.__name__), *args, **kwargs)

    return cast("Callable[Concatenate[BlockingProxy[_O], _P], Future[_T]]", call)
