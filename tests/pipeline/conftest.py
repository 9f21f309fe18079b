"""One Spark session for all tests of the pipeline."""

import os
import shutil
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pipeline.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return a session on this machine, or skip where there is no Java."""
    if shutil.which("java") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Spark needs Java 17 and none is on the PATH")
        pytest.skip("Spark needs Java 17 and none is on the PATH")
    made = session("local[2]")
    yield made
    made.stop()
