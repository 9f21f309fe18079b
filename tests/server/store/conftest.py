"""What tests of the store may ask for; what they leave open is stopped in order after them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.store.store import MessageStore
from tests.server.store import stores
from tests.server.store.simdisk import SimDisk


@pytest.fixture(autouse=True)
def stopped_after() -> Iterator[None]:
    """Stop the stores on the real disk that a test has opened and neither stopped nor dropped."""
    opened: list[MessageStore] = []
    # A context of its own, so that all that the test has patched is as it was by then.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stores, "left_open", opened.append)
        yield
    for store in opened:
        store.close(stores.START_MS)


@pytest.fixture
def store(stopped_after: None, tmp_path: Path) -> MessageStore:
    """Return an empty store with small files in ``tmp_path``."""
    return stores.open_store(stores.small_config(tmp_path))


@pytest.fixture
def disk() -> SimDisk:
    """Return an empty disk in memory."""
    return SimDisk()
