"""Requests of the broker to its clients, with a clock moved by hand."""

from functools import partial

from mqserver.broker.clients.client_requests import ClientCalls
from remoting.command import Command
from tests.server.doubles import FakeConn


def test_answer_reaches_who_asked_by_connection_and_opaque() -> None:
    calls, first, second = ClientCalls(), FakeConn(1), FakeConn(2)
    told: list[tuple[str, Command | None]] = []
    for name, conn in (("first", first), ("second", second)):
        tell = partial(lambda name, answer: told.append((name, answer)), name)
        calls.call(conn, Command.request(307), deadline_ms=100, answered=tell)

    answer = second.sent[0].response(remark="mine")
    calls.on_response(second, answer)  # type: ignore[arg-type]
    calls.on_response(second, answer)  # type: ignore[arg-type]

    assert first.sent[0].opaque == second.sent[0].opaque == 0
    assert told == [("second", answer)]


def test_call_ends_at_its_deadline_or_with_its_connection() -> None:
    calls, first, second, gone = ClientCalls(), FakeConn(1), FakeConn(2), FakeConn(3)
    gone.close()
    told: list[str] = []
    for name, conn in (("late", first), ("lost", second), ("gone", gone)):
        tell = partial(lambda name, answer: told.append(f"{name} {answer}"), name)
        calls.call(conn, Command.request(307), deadline_ms=100, answered=tell)

    calls.expire(99)
    calls.drop(second)  # type: ignore[arg-type]
    calls.expire(100)
    calls.drop(first)  # type: ignore[arg-type]

    assert told == ["gone None", "lost None", "late None"]


def test_oneway_is_marked_and_not_waited_for() -> None:
    calls, conn, gone = ClientCalls(), FakeConn(), FakeConn(2)
    gone.close()

    calls.oneway(conn, Command.request(40))  # type: ignore[arg-type]
    calls.oneway(conn, Command.request(40))  # type: ignore[arg-type]
    calls.oneway(gone, Command.request(40))  # type: ignore[arg-type]
    calls.on_response(conn, Command(code=0))  # type: ignore[arg-type]

    assert [(one.is_oneway, one.opaque) for one in conn.sent] == [(True, 0), (True, 1)]
    assert gone.sent == []
