"""`assert` and `wait`: what holds, what does not, and every exit code."""

import asyncio
import json

import pytest

from mqadmin.health import conditions
from tests.mqadmin.conftest import Run


@pytest.fixture
def filled(at: Run) -> str:
    """Return a topic with two queues, three messages, and a group that has read one."""
    at("topic", "create", "CHECKED", "-q", "2")
    if at.rows("topic", "status", "CHECKED")[0]["max_offset"] == 0:
        for number in range(3):
            at("message", "send", "CHECKED", f"m{number}", "--queue", "0")
    at("offset", "reset", "CHECKERS", "CHECKED", "--to", "1", "-y")
    return "CHECKED"


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        (("assert", "lag", "CHECKERS", "--max", "2"), 0),
        (("assert", "lag", "CHECKERS", "CHECKED", "--max", "2"), 0),
        (("assert", "lag", "CHECKERS"), 1),
        (("assert", "lag", "NO_GROUP"), 3),
        (("assert", "topic", "CHECKED"), 0),
        (("assert", "topic", "CHECKED", "--queues", "2"), 0),
        (("assert", "topic", "CHECKED", "--queues", "3"), 1),
        (("assert", "topic", "CHECKED", "--absent"), 1),
        (("assert", "topic", "NO_TOPIC"), 1),
        (("assert", "topic", "NO_TOPIC", "--absent"), 0),
        (("assert", "group", "CHECKERS"), 0),
        (("assert", "group", "CHECKERS", "--members", "1"), 1),
        (("assert", "group", "NO_GROUP"), 1),
        (("assert", "message-count", "CHECKED", "3"), 0),
        (("assert", "message-count", "CHECKED", "--min", "1", "--max", "3"), 0),
        (("assert", "message-count", "CHECKED", "--max", "2"), 1),
        (("assert", "message-count", "CHECKED", "4"), 1),
        (("assert", "message-count", "CHECKED"), 2),
        (("assert", "message-count", "CHECKED", "3", "--min", "1"), 2),
        (("assert", "message-count", "NO_TOPIC", "0"), 3),
        (("wait", "lag", "CHECKERS", "--max", "2"), 0),
        (("wait", "lag", "CHECKERS", "--within", "100ms"), 4),
        (("wait", "lag", "NO_GROUP", "--within", "100ms"), 3),
        (("wait", "topic", "CHECKED"), 0),
        (("wait", "topic", "NO_TOPIC", "--within", "100ms"), 4),
        (("wait", "topic", "NO_TOPIC", "--timeout", "0.1"), 4),
        (("wait", "topic", "NO_TOPIC", "--absent"), 0),
        (("wait", "group", "CHECKERS"), 0),
        (("wait", "group", "CHECKERS", "--members", "9", "--within", "100ms"), 4),
        (("wait", "broker"), 0),
        (("wait", "broker", "broker-a"), 0),
        (("wait", "broker", "broker-z", "--within", "100ms"), 4),
        (("wait", "broker", "--count", "2", "--within", "0"), 4),
        (("wait", "broker", "--within", "soon"), 2),
    ],
)
def test_exit_codes(at: Run, filled: str, words: tuple[str, ...], exit_code: int) -> None:
    assert at(*words).exit_code == exit_code


def test_nobody_answers(run: Run) -> None:
    assert run("wait", "topic", "T", "-n", "127.0.0.1:1", "--within", "100ms").exit_code == 4
    assert run("assert", "topic", "T", "-n", "127.0.0.1:1").exit_code == 4


def test_the_verdict_and_the_error_say_what_was_found(at: Run, filled: str) -> None:
    done = at("assert", "lag", "CHECKERS", "-ojson")

    (verdict,) = done.rows
    assert (verdict["holds"], verdict["found"], verdict["expected"]) == (False, "2", "at most 0")
    error = json.loads(done.err)["error"]
    assert error["code"] == "check_failed"
    assert error["message"] == "lag of CHECKERS is 2, expected at most 0"


def test_who_waited_in_vain_is_told_what_for(at: Run) -> None:
    done = at("wait", "topic", "NO_TOPIC", "--within", "100ms")

    assert done.err.endswith("topic NO_TOPIC is not there after 0.1 s; expected: there\n")


def test_within_the_time_a_condition_may_come_true(
    at: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep, slept = asyncio.sleep, []

    async def make_it(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 1:
            await asyncio.to_thread(at, "topic", "create", "COMES_LATER", "-q", "1")
        await sleep(seconds)

    # It comes after the first look, however long that takes.
    monkeypatch.setattr(conditions.asyncio, "sleep", make_it)
    done = at("assert", "topic", "COMES_LATER", "--within", "60s", "-ojson")

    assert done.exit_code == 0
    assert done.rows[0]["waited_ms"] > 0
