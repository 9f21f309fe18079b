"""A job of the toolbox without its JVM."""

from unittest.mock import Mock

import pytest

from tests.interop.kit import toolbox
from tests.interop.kit.process import ChildEnded
from tests.interop.kit.toolbox import Job, LineTimedOut


def test_positions_are_reset_again_until_every_message_came_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toolbox, "RESET_TIMEOUT_S", 0.0)
    job = Job(Mock(), 1)
    heard: list[list[str]] = [[], ["a"], ["a", "b"]]

    def reset() -> None:
        for key in heard.pop(0):
            job.arrived.put({"line": {"event": "message", "keys": key}})

    again = job.every_again(reset, "keys", {"a", "b"})

    assert [line["keys"] for line in again] == ["a", "a", "b"]
    assert not heard


def test_a_program_that_ended_is_not_reset_again() -> None:
    job = Job(Mock(), 1)
    job.arrived.put({"done": True, "error": None})

    with pytest.raises(ChildEnded, match="0 messages of 1") as ended:
        job.every_again(lambda: None, "keys", {"a"})

    assert not isinstance(ended.value, LineTimedOut)
