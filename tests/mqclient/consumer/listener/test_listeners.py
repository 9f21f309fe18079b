"""Listeners that are coroutine functions run in the loop, plain ones in threads."""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable

import pytest

from mqclient.consumer.listener.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ListenerBroke,
    ListenerCaller,
    checked_listener,
)
from mqclient.errors import BadRequest
from mqclient.message import MessageExt
from tests.mqclient.consuming import QUEUE

OK = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
Context = ConsumeConcurrentlyContext


def called(listener: Callable[[list[MessageExt], Context], object], *, times: int = 1) -> object:
    async def go() -> object:
        listening: ListenerCaller[Context, ConsumeConcurrentlyStatus]
        listening = ListenerCaller(listener, thread_count=2)  # type: ignore[arg-type]
        try:
            answers = await asyncio.gather(
                *(listening.call([], Context(QUEUE)) for _ in range(times))
            )
        finally:
            listening.close()
        return answers[0]

    return asyncio.run(go())


def where(messages: list[MessageExt], context: Context) -> str:
    return threading.current_thread().name


async def where_async(messages: list[MessageExt], context: Context) -> str:
    return threading.current_thread().name


class Listener:
    def __call__(self, messages: list[MessageExt], context: Context) -> str:
        return where(messages, context)


class AsyncListener:
    async def __call__(self, messages: list[MessageExt], context: Context) -> str:
        return where(messages, context)


@pytest.mark.parametrize("listener", [where, Listener(), lambda m, c: where(m, c)])
def test_a_plain_function_runs_in_a_thread(
    listener: Callable[[list[MessageExt], Context], object],
) -> None:
    assert str(called(listener)).startswith("ConsumeMessageThread_")


@pytest.mark.parametrize("listener", [where_async, AsyncListener(), functools.partial(where_async)])
def test_a_coroutine_function_runs_in_the_loop(
    listener: Callable[[list[MessageExt], Context], object],
) -> None:
    assert called(listener) == threading.main_thread().name


def test_as_many_plain_calls_run_at_a_time_as_there_are_threads() -> None:
    both = threading.Barrier(2, timeout=60)

    def listen(messages: list[MessageExt], context: Context) -> ConsumeConcurrentlyStatus:
        both.wait()
        return OK

    assert called(listen, times=2) is OK


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_what_would_end_the_process_is_an_error_of_the_listener(error: BaseException) -> None:
    def listen(messages: list[MessageExt], context: Context) -> ConsumeConcurrentlyStatus:
        raise error

    with pytest.raises(ListenerBroke, match=type(error).__name__):
        called(listen)


def test_a_plain_function_that_raises_stopiteration_is_an_error_too() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        called(lambda messages, context: next(iter(())))


async def test_cancelling_the_caller_cancels_and_breaks_nothing() -> None:
    started = asyncio.Event()

    async def listen(messages: list[MessageExt], context: Context) -> ConsumeConcurrentlyStatus:
        started.set()
        await asyncio.Event().wait()
        return OK

    listening: ListenerCaller[Context, ConsumeConcurrentlyStatus] = ListenerCaller(
        listen, thread_count=1
    )
    task = asyncio.create_task(listening.call([], Context(QUEUE)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class ListenerWithoutContext:
    def __call__(self, messages: list[MessageExt]) -> None:
        """Take too few arguments."""


async def generator(messages: list[MessageExt], context: Context) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize(
    ("listener", "text"),
    [
        (None, "cannot be called"),
        (lambda: None, "messages and a context"),
        (lambda messages: None, "messages and a context"),
        (lambda messages, context, more: None, "messages and a context"),
        (lambda *, messages, context: None, "messages and a context"),
        (functools.partial(where, [], Context(QUEUE)), "messages and a context"),
        (functools.partial(lambda first, messages, context: None, 1), None),
        (ListenerWithoutContext(), "messages and a context"),
        (generator, "not yield"),
        (Listener(), None),
        (AsyncListener().__call__, None),
        (lambda messages, context=None: None, None),
        (lambda *both: None, None),
    ],
)
def test_a_listener_with_other_parameters_is_refused(listener: object, text: str | None) -> None:
    if text is None:
        checked_listener(listener)
        return
    with pytest.raises(BadRequest, match=text):
        checked_listener(listener)
