"""The event loop of a server."""

import asyncio
import selectors
import socket
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from mqserver.runtime.program import event_loop
from mqserver.runtime.program.event_loop import (
    ServerLoop,
    TurnSelector,
    loop_name,
    new_loop,
    run,
    waits_of,
)
from storefmt.kernels import PURE

NewLoop = Callable[[], asyncio.AbstractEventLoop]


@pytest.fixture(params=["asyncio", "uvloop"])
def any_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> NewLoop:
    """Return what makes a loop of each kind."""
    monkeypatch.delenv(PURE, raising=False)
    if request.param == "asyncio":
        monkeypatch.setattr(event_loop, "uvloop", None)
    elif find_spec("uvloop") is None:
        pytest.skip("uvloop is not installed")
    return new_loop


def test_a_poll_right_after_a_find_is_left_out_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, TurnSelector() as selector:
        selector.register(ours, selectors.EVENT_READ)
        theirs.send(b"1")

        assert len(selector.select(0)) == 1
        assert selector.select(0) == []
        assert len(selector.select(0)) == 1


def test_a_socket_that_waits_is_told_of_and_still_read(any_loop: NewLoop) -> None:
    async def told() -> list[bool]:
        loop = asyncio.get_running_loop()
        is_waited_for = waits_of(loop)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            reading = loop.create_task(loop.sock_recv(ours, 1))
            await asyncio.to_thread(int)
            before = is_waited_for()
            theirs.send(b"1")
            meanwhile = [is_waited_for(), is_waited_for()]
            assert await reading == b"1"
            return [before, *meanwhile, is_waited_for()]

    with asyncio.Runner(loop_factory=any_loop) as runner:
        assert runner.run(told()) == [False, True, True, False]


def test_a_thread_that_waits_for_the_loop_is_told_of(any_loop: NewLoop) -> None:
    async def told() -> tuple[bool, bool]:
        loop = asyncio.get_running_loop()
        is_waited_for = waits_of(loop)
        # uvloop's first poll registers what wakes it.
        await asyncio.to_thread(int)
        before = is_waited_for()
        # As a thread does that has something for the loop.
        loop.call_soon_threadsafe(lambda: None)
        return before, is_waited_for()

    with asyncio.Runner(loop_factory=any_loop) as runner:
        assert runner.run(told()) == (False, True)


def test_the_commit_of_a_turn_runs_before_anything_else_is_read(any_loop: NewLoop) -> None:
    steps = []

    async def two_reads() -> None:
        loop = asyncio.get_running_loop()
        first, second = socket.socketpair(), socket.socketpair()
        done = asyncio.Event()

        def read(name: str, sock: socket.socket) -> None:
            sock.recv(1)
            steps.append(f"{name} is read")
            loop.call_soon(steps.append, f"{name} is committed")
            if name == "first":
                second[1].send(b"1")
            else:
                loop.call_soon(done.set)

        for name, pair in (("first", first), ("second", second)):
            pair[0].setblocking(False)
            loop.add_reader(pair[0], read, name, pair[0])
        first[1].send(b"1")
        await done.wait()
        for pair in (first, second):
            loop.remove_reader(pair[0])
            pair[0].close()
            pair[1].close()

    with asyncio.Runner(loop_factory=any_loop) as runner:
        runner.run(two_reads())

    assert steps == ["first is read", "first is committed", "second is read", "second is committed"]


def test_uvloop_is_chosen_where_it_is_and_may_be(
    any_loop: NewLoop, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    async def name() -> str:
        return loop_name(asyncio.get_running_loop())

    kind = request.node.callspec.params["any_loop"]
    assert run(name()).startswith(kind)
    assert loop_name().startswith(kind)

    monkeypatch.setenv(PURE, "1")
    assert run(name()) == loop_name() == "asyncio"


def test_of_a_loop_of_others_nothing_is_known() -> None:
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        loop = runner.get_loop()
        loop.call_soon_threadsafe(lambda: None)

        assert not waits_of(loop)()
        assert loop_name(loop) == "asyncio"


def test_a_loop_without_uvloop_is_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "uvloop", None)
    loop = new_loop()
    loop.close()

    assert isinstance(loop, ServerLoop)
