"""The wheel of the timer, made small."""

import pytest

from tests.server.broker.timer.machine import shrink_wheel


@pytest.fixture
def small_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_wheel(monkeypatch)
