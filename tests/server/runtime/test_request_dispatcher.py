"""Whatever a peer sends, the dispatcher answers, closes that connection, or stays silent."""

import logging

import pytest

from mqserver.runtime.registry import Handlers
from mqserver.runtime.request import RequestRefused
from mqserver.runtime.request_dispatcher import (
    LOG_AGAIN_MS,
    LOG_KINDS_MAX,
    RequestDispatcher,
    UnknownCode,
)
from remoting.codes import ResponseCode, SerializeType
from remoting.command import Command
from remoting.frame import RawFrame
from remoting.headers import GetRouteInfo
from tests.server.doubles import FakeClock, FakeConn, frame_of

GOOD, BROKEN, HEADER, HELD, REFUSED = 900, 901, 902, 903, 904


def good(app, request):
    app.append(request.now_ms)
    return request.command.response(remark="fine")


def broken(app, request):
    raise ZeroDivisionError("division of nothing")


def needs_topic(app, request):
    request.command.header(GetRouteInfo)


def refusing(app, request):
    raise RequestRefused(ResponseCode.NO_PERMISSION, "not from here")


def held(app, request):
    app.append(request)


def dispatcher(app: list | None = None, **options) -> RequestDispatcher:
    ordinary = {GOOD: good, BROKEN: broken, HEADER: needs_topic, HELD: held, REFUSED: refusing}
    handlers = Handlers(ordinary, options.pop("raw", {}))
    options.setdefault("clock", FakeClock())
    return RequestDispatcher(handlers, [] if app is None else app, **options)


def request(code: int, *, oneway: bool = False) -> Command:
    command = Command.request(code, oneway=oneway)
    command.opaque = 77
    return command


def answer_to(code: int, **options) -> Command:
    """Return the only answer to a request."""
    conn = FakeConn()
    dispatcher(**options).on_frame(conn, frame_of(request(code)))
    (answer,) = conn.sent
    return answer


def test_an_answer_goes_back_with_the_opaque_of_its_request() -> None:
    app = []

    answer = answer_to(GOOD, app=app)

    assert (answer.code, answer.opaque, answer.remark, answer.is_response) == (0, 77, "fine", True)
    assert app == [1_000_000]


def test_the_answer_comes_in_the_serialisation_of_the_request() -> None:
    conn, command = FakeConn(), request(GOOD)
    command.serialize = SerializeType.ROCKETMQ

    dispatcher().on_frame(conn, frame_of(command))

    assert conn.sent[0].serialize is SerializeType.ROCKETMQ


def test_a_oneway_request_is_handled_and_not_answered() -> None:
    conn, app = FakeConn(), []

    dispatcher(app).on_frame(conn, frame_of(request(GOOD, oneway=True)))
    dispatcher(app).on_frame(conn, frame_of(request(BROKEN, oneway=True)))
    dispatcher(app).on_frame(conn, frame_of(request(4242, oneway=True)))

    assert app == [1_000_000]
    assert conn.sent == []


def test_a_held_request_is_answered_later_and_not_after_the_connection_closed() -> None:
    conn, app = FakeConn(), []
    dispatcher(app).on_frame(conn, frame_of(request(HELD)))
    (waiting,) = app
    assert conn.sent == []

    waiting.reply(waiting.command.response())
    conn.close()
    waiting.reply(waiting.command.response())

    assert [answer.opaque for answer in conn.sent] == [77]


def test_an_unknown_code_is_refused_as_a_broker_does() -> None:
    answer = answer_to(4242)

    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert answer.remark == " request type 4242 not supported"


def test_an_unknown_code_is_ignored_as_a_name_server_does_and_logged_once(caplog) -> None:
    conn, ignoring = FakeConn(), dispatcher(unknown=UnknownCode.IGNORE)

    with caplog.at_level(logging.WARNING):
        ignoring.on_frame(conn, frame_of(request(4242)))
        ignoring.on_frame(conn, frame_of(request(4242)))

    assert conn.sent == []
    assert not conn.is_closing
    assert len([r for r in caplog.records if "4242" in r.getMessage()]) == 1


def test_made_up_codes_do_not_fill_the_log(caplog) -> None:
    conn, refusing_all = FakeConn(), dispatcher()

    with caplog.at_level(logging.WARNING):
        for code in range(10_000, 10_000 + LOG_KINDS_MAX + 5):
            refusing_all.on_frame(conn, frame_of(request(code)))

    assert len(conn.sent) == LOG_KINDS_MAX + 5
    assert len(caplog.records) == LOG_KINDS_MAX


def test_an_exception_is_answered_with_its_text_and_logged_once_a_minute(caplog) -> None:
    conn, clock = FakeConn(), FakeClock()
    failing = dispatcher(clock=clock)

    with caplog.at_level(logging.ERROR):
        for step_ms in (0, 1, LOG_AGAIN_MS):
            clock.ms += step_ms
            failing.on_frame(conn, frame_of(request(BROKEN)))

    assert {(a.code, a.remark) for a in conn.sent} == {
        (1, "ZeroDivisionError: division of nothing")
    }
    assert len(conn.sent) == 3
    assert len(caplog.records) == 2
    assert caplog.records[0].exc_info


def test_a_refusal_is_answered_as_it_is_and_not_logged(caplog) -> None:
    answer = answer_to(REFUSED)

    assert (answer.code, answer.remark) == (16, "not from here")
    assert caplog.records == []


def test_a_missing_header_field_is_named_and_logged_without_traceback(caplog) -> None:
    answer = answer_to(HEADER)

    (record,) = caplog.records
    assert record.exc_info is None
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "topic" in answer.remark


@pytest.mark.parametrize("header", [b"", b"{", b"[]", b'{"code":{}}', b"\xff\xfe", b"null"])
@pytest.mark.parametrize("serialize", [0, 1])
def test_a_header_that_cannot_be_read_closes_its_connection(header, serialize) -> None:
    conn = FakeConn()

    dispatcher().on_frame(conn, RawFrame(serialize, header, b""))

    assert conn.is_closing
    assert conn.sent == []


def test_a_raw_handler_gets_the_frame_and_answers_itself() -> None:
    conn, seen = FakeConn(), []

    def fast(app, on, raw, now_ms):
        seen.append((on, raw.body, now_ms))

    dispatcher(raw={GOOD: fast}).on_frame(conn, frame_of(request(GOOD)))

    assert seen == [(conn, b"", 1_000_000)]
    assert conn.sent == []


def test_a_raw_handler_may_leave_the_frame_to_the_ordinary_one() -> None:
    assert answer_to(GOOD, raw={GOOD: lambda *_: False}).remark == "fine"


def test_an_exception_in_a_raw_handler_is_answered_too() -> None:
    def fast(app, on, raw, now_ms):
        raise KeyError("gone")

    answer = answer_to(GOOD, raw={GOOD: fast})

    assert (answer.code, answer.opaque) == (1, 77)


def test_a_response_of_the_peer_goes_to_the_one_that_asked() -> None:
    conn, got = FakeConn(), []
    answer = request(GOOD).response(remark="from the client")

    dispatcher(on_response=lambda on, command: got.append((on, command.opaque))).on_frame(
        conn, frame_of(answer)
    )

    assert got == [(conn, 77)]
    assert conn.sent == []


def test_a_response_nobody_waits_for_is_dropped() -> None:
    conn = FakeConn()

    dispatcher().on_frame(conn, frame_of(request(GOOD).response()))

    assert conn.sent == []
    assert not conn.is_closing
