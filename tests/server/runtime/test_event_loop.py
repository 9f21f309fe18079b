"""The event loop of a server."""

import asyncio
import selectors
import socket

from server.runtime.event_loop import ServerLoop, TurnSelector


def test_a_poll_right_after_a_find_is_left_out_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, TurnSelector() as selector:
        selector.register(ours, selectors.EVENT_READ)
        theirs.send(b"1")

        assert len(selector.select(0)) == 1
        assert selector.select(0) == []
        assert len(selector.select(0)) == 1


def test_a_socket_that_waits_is_told_of_and_still_found() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, TurnSelector() as selector:
        selector.register(ours, selectors.EVENT_READ)
        assert not selector.is_waited_for()

        theirs.send(b"1")
        assert selector.is_waited_for()
        assert selector.is_waited_for()

        assert len(selector.select(0)) == 1
        ours.recv(1)
        assert not selector.is_waited_for()


def test_a_server_loop_tells_whether_it_is_waited_for() -> None:
    async def run() -> tuple[bool, bool]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ServerLoop)
        before = loop.is_waited_for()
        # As a thread does that has something for the loop.
        loop.call_soon_threadsafe(lambda: None)
        return before, loop.is_waited_for()

    with asyncio.Runner(loop_factory=ServerLoop) as runner:
        assert runner.run(run()) == (False, True)
