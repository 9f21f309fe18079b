"""Work in the loop's thread, and Ctrl-C at every step of the thread that waits for it."""

import asyncio
import gc
import sys
import warnings
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import pytest

from mqadmin.session import loop_thread as loopthread
from mqadmin.session.loop_thread import LoopThread


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    made = LoopThread()
    yield made
    made.stop(asyncio.sleep(0))


@contextmanager
def interrupted_after(steps: int) -> Iterator[None]:
    """Raise KeyboardInterrupt in this thread after so many steps of the loop's thread."""
    left = steps

    def trace(frame: FrameType, event: str, _argument: object) -> object:
        nonlocal left
        if frame.f_code.co_filename != loopthread.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def test_ctrl_c_at_any_step_leaves_nothing_running_and_nothing_unawaited(
    thread: LoopThread,
) -> None:
    running = 0

    async def work() -> str:
        nonlocal running
        running += 1
        try:
            await asyncio.sleep(0.001)
        finally:
            running -= 1
        return "done"

    steps, ended = 0, False
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        while not ended:
            steps += 1
            with suppress(KeyboardInterrupt), interrupted_after(steps):
                assert thread.run_coroutine(work) == "done"
                ended = True
        gc.collect()

    assert steps > 20
    assert running == 0
    assert [str(one.message) for one in warned] == []


def test_an_error_of_the_work_comes_out_as_it_is(thread: LoopThread) -> None:
    async def work() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        thread.run_coroutine(work)


def test_an_error_before_there_is_a_coroutine_comes_out_too(thread: LoopThread) -> None:
    def refuse() -> Coroutine[None, None, None]:
        raise LookupError("no such work")

    with pytest.raises(LookupError, match="no such work"):
        thread.run_coroutine(refuse)


def test_a_question_is_asked_in_the_thread_that_waits(thread: LoopThread) -> None:
    async def work() -> bool:
        return await thread.ask_in_main_thread(lambda: sys.gettrace() is not None)

    with interrupted_after(10**9):
        assert thread.run_coroutine(work)
    assert not thread.run_coroutine(work)
