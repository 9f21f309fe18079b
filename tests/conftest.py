"""What every test may ask for: golden stores, the fact tables, one Spark session, one pair."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from server.pytest_plugin import RocketMQ
from tests.golden import Golden, shared_directory
from tests.lanes import scheduler

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.scheduler import LoadScopeScheduling

# A shell starts what runs in the background with Ctrl-C ignored, and children inherit that;
# the programs under test must hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Every Spark of a test lives for a minute or so, also where a program under test starts it:
# most of its work would be to compile itself for years to come.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> "LoadScopeScheduling":
    """Keep together what shares servers, where the suite runs in several processes."""
    return scheduler(config, log)


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


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """Return a session on this machine, or skip where there is no Java."""
    if shutil.which("java") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Spark needs Java 17 and none is on the PATH")
        pytest.skip("Spark needs Java 17 and none is on the PATH")
    # Most tests do without the import, and without Spark's packages.
    from pipeline.session import session

    made = session("local[2]")
    yield made
    made.stop()
