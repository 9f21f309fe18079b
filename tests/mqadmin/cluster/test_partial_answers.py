"""Brokers that are silent or refuse are passed over by one rule, and named once."""

import asyncio

import pytest

from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.partial_answers import Answers, Unsaid
from mqclient.errors import BadAnswer, BrokerRefused, ClientError, NotFound, TimedOut, Unreachable

A, B = (ServerNode("c", name, 0, f"{name}:10911") for name in ("a", "b"))


def asked(error: ClientError | None, *, both: bool = False) -> tuple[list[str], Answers, Unsaid]:
    """Ask a and b twice, of which b (or both) fails with an error."""
    unsaid = Unsaid()
    answers = Answers(unsaid)

    async def ask(node: ServerNode) -> str:
        if error is not None and (both or node is B):
            raise error
        return node.broker

    async def twice() -> list[str]:
        found = await answers.each([A, B], ask) + await answers.each([A, B], ask)
        return [answer for _, answer in found]

    return asyncio.run(twice()), answers, unsaid


@pytest.mark.parametrize(
    "error",
    [
        BrokerRefused("no rights", code=1),
        TimedOut("late"),
        Unreachable("no connection"),
        BadAnswer("garbage"),
    ],
)
def test_one_that_fails_is_passed_over_and_named_once(error: ClientError) -> None:
    found, answers, unsaid = asked(error)

    assert found == ["a", "a"]
    assert answers.exit_code() == 5
    assert answers.failed == {B.address: error}
    assert unsaid.texts == [f"data of b (b:10911) is missing: {error}"]


def test_all_answer() -> None:
    found, answers, unsaid = asked(None)

    assert (found, answers.exit_code(), unsaid.texts) == (["a", "b", "a", "b"], 0, [])


def test_where_none_answers_the_first_error_ends_the_command() -> None:
    with pytest.raises(BrokerRefused, match="no rights"):
        asked(BrokerRefused("no rights"), both=True)


def test_that_nothing_is_there_is_an_answer() -> None:
    with pytest.raises(NotFound):
        asked(NotFound("no such topic"))
