"""A Spark session in which the sources of this package work.

Four settings are easy to forget and cause errors elsewhere, so they are made here: the workers'
Python must be the driver's (the default is the ``python3`` on the PATH), times are UTC, filters may
be pushed into Python sources (this is off by default, and a source that takes them is then
refused), and only our own output goes to standard output.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pipeline.errors import NoSpark
from pipeline.javahome import java_home
from pipeline.shipping import write_code

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT: Final = "sc://"
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""A variable in the environment of programs that spark-submit starts; it has already set master
and memory."""


def session(master: str = "local[*]", *, memory: str = "1g", page: bool = False) -> "SparkSession":
    """Return a session with the data sources of this package registered.

    Args:
        master: where Spark runs, as ``local[2]``, ``spark://host:7077``, ``yarn``, or
            ``sc://host:15002`` for Spark Connect; spark-submit's own if that started us.
        memory: the size of the driver's heap, in Spark's notation.
        page: whether to serve Spark's page for people, on a free port of this machine.

    Raises:
        NoSpark: PySpark is not installed.
        NoJava: there is no Java runtime for Spark.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NoSpark(
            "PySpark is not installed; install the extra: pip install 'mqadmin[spark]', "
            "or add --engine local"
        ) from error
    if master.startswith(CONNECT):
        return _connected(SparkSession.builder.remote(master).getOrCreate())
    home = java_home(os.environ)
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    is_local = master.startswith("local")
    if is_local:
        # On a cluster the workers have their own Python, and must reach the driver's address.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("mqadmin")
    if SUBMITTED not in os.environ:
        builder = builder.master(master).config("spark.driver.memory", memory)
    spark = (
        builder.config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.sql.python.filterPushdown.enabled", "true")
        .config("spark.ui.enabled", str(page).lower())
        .config("spark.ui.port", "0")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    if not is_local and SUBMITTED not in os.environ:
        spark.sparkContext.addPyFile(str(_code()))
    register(spark)
    return spark


def _connected(spark: "SparkSession") -> "SparkSession":
    """Return a session of Spark Connect that knows the sources."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    # If the sources were registered first, they would fail even after the code has arrived.
    spark.addArtifacts(str(_code()), pyfile=True)
    register(spark)
    return spark


def _code() -> Path:
    """Return the code of the sources as a file that exists as long as this process."""
    directory = Path(tempfile.mkdtemp(prefix="mqadmin-code-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return write_code(directory / "mqadmin.zip")


def register(spark: "SparkSession") -> None:
    """Make both data sources known to a session that was made elsewhere."""
    from pipeline.sources.live.source import Rocketmq
    from pipeline.sources.store.source import RocketmqStore

    spark.dataSource.register(RocketmqStore)
    spark.dataSource.register(Rocketmq)
