"""A Spark session in which the sources of this package work.

Four settings are easy to miss and fail far from their cause, so they are made here:
the workers' Python must be the driver's (the default is whatever ``python3`` is on the
PATH), times are UTC, filters may be pushed into Python sources (off by default, and a source
that takes them is then refused), and only one thread of output reaches standard output: ours.
"""

import os
import shutil
import sys
from typing import TYPE_CHECKING

from pipeline.errors import NoJava, NoSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(master: str = "local[*]", *, memory: str = "1g", page: bool = False) -> "SparkSession":
    """Return a session with the data sources of this package registered.

    Args:
        master: where Spark runs, as ``local[2]`` or ``spark://host:7077``.
        memory: the driver's heap, in Spark's notation.
        page: serve Spark's page for people who watch, on a free port of this machine.

    Raises:
        NoSpark: PySpark is not installed.
        NoJava: Spark has no Java to run on.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NoSpark(
            "PySpark is not installed; install the extra: pip install 'mqadmin[spark]', "
            "or add --engine local"
        ) from error
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        raise NoJava("Spark needs Java 17 and none is on the PATH; set JAVA_HOME or --engine local")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master(master)
        .appName("mqadmin")
        .config("spark.driver.memory", memory)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.sql.python.filterPushdown.enabled", "true")
        .config("spark.ui.enabled", str(page).lower())
        .config("spark.ui.port", "0")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    register(spark)
    return spark


def register(spark: "SparkSession") -> None:
    """Make both data sources known to a session that was made elsewhere."""
    from pipeline.sources.live import Rocketmq
    from pipeline.sources.store import RocketmqStore

    spark.dataSource.register(RocketmqStore)
    spark.dataSource.register(Rocketmq)
