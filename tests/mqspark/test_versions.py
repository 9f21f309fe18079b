"""Every source and job works with the other versions of PySpark that are allowed.

Rule: another PySpark is fetched once, and stays below ``build``.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqserver.pytest_plugin import RocketMQ
from tests.golden import REPOSITORY, Golden
from tests.mqspark import everyjob
from tests.programs import python

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(2_400)]


def fetched(version: str) -> str:
    """Return the directory of a version of PySpark and what it needs."""
    place = REPOSITORY / "build" / f"pyspark-{version}"
    if not place.exists():
        apart = place.with_name(f".{place.name}")
        line = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*line, "--target", str(apart), f"pyspark=={version}"], check=True)
        apart.rename(place)
    return str(place)


@pytest.mark.parametrize("version", ["4.1.4", "4.3.0"])
def test_every_source_and_job_is_that_of_the_local_engine(
    version: str, golden: Golden, orders: RocketMQ
) -> None:
    said = everyjob.run("local[2]", golden, orders, packages=fetched(version))

    assert said.endswith(f" of {version}")


def test_an_older_one_is_refused_in_a_sentence(golden: Golden, tmp_path: Path) -> None:
    path = os.pathsep.join([fetched("4.0.5"), str(REPOSITORY)])
    line = ("-m", "mqspark", "stats", golden.store("basic"), "--engine", "spark")

    done = python(*line, code=1, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})

    assert "PySpark 4.0.5 cannot run the sources, which need 4.1 or later" in done.stderr
    assert "Traceback" not in done.stderr
