"""What brokers of these tests do early, so that no test waits for it."""

import pytest

from mqserver.broker import registration


@pytest.fixture(autouse=True)
def early_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let brokers look after a period whether to register, as later, and not after ten seconds."""
    monkeypatch.setattr(registration, "REGISTER_FIRST_MS", 200)
