"""Ten times the log takes ten times the CPU time of a job: 1, 4 and 16 GiB."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.logs import make_store
from benchmarks.pipeline import measure
from mqspark.jobs.stats import stats

FILE_SIZE = 256 << 20
SIZES = (4, 16, 64)
"""Files of each store: 1, 4, 16 GiB, one after the other on the disk."""
BENDS = 1.3
"""How much more a GiB of the largest store may take than one between the smaller two."""


def cpu_s(spark: SparkSession, root: Path, file_count: int) -> float:
    make_store(root, file_count=file_count, file_size=FILE_SIZE, body_size=1024)
    # A frame made anew each time: one that was collected keeps what it shuffled.
    runs = [measure(lambda: stats(spark, str(root)).collect()) for _ in range(3)]
    used_s = min(run.cpu_s for run in runs)
    for path in (root / "commitlog").iterdir():
        path.unlink()
    return used_s


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.timeout(7200)
def test_work_grows_with_the_log(spark: SparkSession, tmp_path: Path) -> None:
    small, middle, large = (cpu_s(spark, tmp_path / str(count), count) for count in SIZES)

    first = (middle - small) / (SIZES[1] - SIZES[0])
    second = (large - middle) / (SIZES[2] - SIZES[1])
    print(f"{small:.2f}, {middle:.2f}, {large:.2f} s of CPU")
    assert second <= BENDS * first
