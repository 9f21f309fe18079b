"""Every request code of RocketMQ 4.9.7 is handled, or is not for brokers."""

from mqserver.broker import handlers
from mqserver.broker.handlers.unsupported import NOT_FOR_BROKERS
from mqserver.runtime.registry import collect
from remoting.codes import RequestCode
from tests.server.broker.desk import Desk

UNKNOWN = 7_777


def test_every_code_is_handled_or_listed_with_a_reason() -> None:
    handled = collect(handlers).codes()

    assert set(RequestCode) <= handled | NOT_FOR_BROKERS.keys()
    assert handled.isdisjoint(NOT_FOR_BROKERS)
    assert all(NOT_FOR_BROKERS.values())


async def test_codes_that_are_not_for_brokers_are_unknown_as_in_java(desk: Desk) -> None:
    for code in (*NOT_FOR_BROKERS, UNKNOWN):
        answer = await desk.ask(code)
        assert (answer.code, answer.remark) == (3, f" request type {int(code)} not supported")
