"""The brokers that most tests of this room talk to; they are entered for the time of a test."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.server.broker.acl.homes import write_home
from tests.server.broker.desk import Desk, running
from tests.server.broker.ha.pairs import Pair, pair_in


@pytest.fixture
def desk(tmp_path: Path) -> AbstractAsyncContextManager[Desk]:
    """Run a broker on ``tmp_path``."""
    return running(tmp_path)


@pytest.fixture
def pair(tmp_path: Path) -> AbstractAsyncContextManager[Pair]:
    """Prepare a master and a slave below ``tmp_path``, and run their name server."""
    return pair_in(tmp_path)


@pytest.fixture
def guarded(tmp_path: Path) -> AbstractAsyncContextManager[Desk]:
    """Run a broker with the accounts of ``homes``; its store is ``tmp_path / "store"``."""
    home = write_home(tmp_path / "home")
    return running(tmp_path / "store", acl_enable=True, rocketmq_home=home)
