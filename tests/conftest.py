"""What every test may ask for: golden stores, the fact tables, a scratch directory."""

import signal
from pathlib import Path

import pytest

from server.pytest_plugin import RocketMQ
from tests.golden import Golden, shared_directory

# A shell starts what runs in the background with Ctrl-C ignored, and children inherit that;
# the programs under test must hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the directory with facts and golden stores, or skip where there is none."""
    directory = shared_directory()
    if not directory.is_dir():
        pytest.skip(f"no golden data at {directory}; set MQ_SHARED to where they are")
    return directory


@pytest.fixture(scope="session")
def golden(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    """Return the golden stores; each call of ``store`` gives a private copy."""
    return Golden(shared / "golden", tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def rocketmq(rocketmq_broker: RocketMQ) -> RocketMQ:
    """Return the pair that the tests of this repository share."""
    return rocketmq_broker
