"""The broker that most tests of this room talk to."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.server.broker.desk import Desk, running


@pytest.fixture
def desk(tmp_path: Path) -> AbstractAsyncContextManager[Desk]:
    """Run a broker on ``tmp_path`` for the time of the test, which gets its ``Desk``."""
    return running(tmp_path)
