"""Spark sessions in which the sources of this package work.

    import mqspark          an active session learns the sources
    mqspark.session()       the active session, or a new one, with the settings that they need
    mqspark.register(s)     a session that was made elsewhere, after the import

Four settings are easy to forget and cause errors elsewhere, so a new session gets them: the
workers' Python must be the driver's (the default is the ``python3`` on the PATH), times are UTC,
filters may be pushed into Python sources (this is off by default, and a source that takes them is
then refused), and only our own output goes to standard output.

Rule: whatever the user has set stays, in spark-defaults.conf, for spark-submit, in
PYSPARK_SUBMIT_ARGS or in a session of their own; memory and partitions are theirs alone.
"""

import atexit
import os
import platform
import re
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from mqspark.errors import NoMaster, NoSpark
from mqspark.javahome import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT: Final = "sc://"
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""A variable in the environment of programs that spark-submit starts; it has already set master
and memory."""
_SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.python.filterPushdown.enabled": "true",
}
LOOPBACK: Final = "127.0.0.1"
SPARK_MIN: Final = (4, 1)
PROGRESS: Final = "spark.ui.showConsoleProgress"
_ARGUMENTS, _SHELL = "PYSPARK_SUBMIT_ARGS", "pyspark-shell"
MASTER_TIMEOUT_S: Final = 5.0
_ADDRESSES: Final = re.compile(
    r"(?:spark|sc|k8s)://(?:https?://)?(?P<hosts>[^/;,]+:\d+(?:,[^/;,]+:\d+)*)(?:[/;].*)?"
)
_JAVA: Final = re.compile(r"^: [\w.$]+: (?P<text>.+)$", re.MULTILINE)
_registered: "WeakSet[SparkSession]" = WeakSet()


def session(master: str | None = None, *, page: bool = False) -> "SparkSession":
    """Return the active session, or a new one, with the data sources of this package registered.

    Args:
        master: where Spark runs, as ``local[2]``, ``spark://host:7077``, ``yarn``, or
            ``sc://host:15002`` for Spark Connect; by default what the user has set, or this
            machine. An active session and spark-submit have decided it already.
        page: whether a new session serves Spark's page for people, on a free port.

    Raises:
        NoSpark: PySpark is not installed, or is too old.
        NoJava: there is no Java runtime for Spark.
        NoMaster: nothing answers at the address of the master, or Spark cannot read it.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NoSpark(
            "PySpark is not installed; install the extra: pip install 'mqadmin[spark]', "
            "or add --engine local"
        ) from error
    _check_version()
    spark = SparkSession.getActiveSession()
    if spark is None and master is not None and SUBMITTED not in os.environ:
        _check_master(master)
    if spark is None and master is not None and master.startswith(CONNECT):
        spark = SparkSession.builder.remote(master).getOrCreate()
    if spark is None:
        spark = _new(master, page=page)
    else:
        settings = spark.conf.getAll
        for name, value in _SETTINGS.items():
            if name not in settings:
                spark.conf.set(name, value)
    register(spark)
    return spark


def _new(master: str | None, *, page: bool) -> "SparkSession":
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    home = java_home(os.environ)
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    if master is not None and _is_local(master):
        # Spark's page listens there, too. On a cluster the workers must reach the driver.
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    # Only the JVM knows what spark-defaults.conf and spark-submit have set, so it starts first.
    with _without_progress():
        SparkContext._ensure_initialized()
    conf = SparkConf()
    if master is not None and SUBMITTED not in os.environ:
        conf.setMaster(master)
    if conf.get("spark.app.name", _SHELL) == _SHELL:
        conf.setAppName("mqadmin")
    conf.setIfMissing("spark.master", "local[*]")
    if _is_local(conf.get("spark.master") or ""):
        # On a cluster the workers have their own Python.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if "SPARK_LOCAL_IP" not in os.environ:
            conf.setIfMissing("spark.driver.host", LOOPBACK)
            conf.setIfMissing("spark.driver.bindAddress", LOOPBACK)
        # A cluster's warnings are worth reading: that no worker offers enough, for example.
        conf.setIfMissing("spark.log.level", "ERROR")
    for name, value in {
        **_SETTINGS,
        "spark.ui.enabled": str(page).lower(),
        "spark.ui.port": "0",
    }.items():
        conf.setIfMissing(name, value)
    chosen = conf.get("spark.master") or ""
    if chosen != master:
        _check_master(chosen)
    try:
        return SparkSession.builder.config(conf=conf).getOrCreate()
    except Py4JJavaError as error:
        why = java_cause(str(error))
        raise NoMaster(f"Spark does not start with master {chosen}: {why}") from error


@contextmanager
def _without_progress() -> Iterator[None]:
    """Start a JVM in this block without Spark's own bar of progress, unless the user wants it.

    What starts the JVM for Python turns it on where nothing is set, so that a setting that is made
    later comes too late. Afterwards the environment is as before: other programs inherit it.
    """
    given = os.environ.get(_ARGUMENTS)
    home = os.environ.get("SPARK_HOME", "")
    folder = Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"))
    defaults = folder / "spark-defaults.conf"
    asked = defaults.read_text(errors="replace") if defaults.is_file() else ""
    if PROGRESS in (given or "") + asked or SUBMITTED in os.environ:
        yield
        return
    os.environ[_ARGUMENTS] = f"--conf {PROGRESS}=false {given or _SHELL}"
    try:
        yield
    finally:
        if given is None:
            del os.environ[_ARGUMENTS]
        else:
            os.environ[_ARGUMENTS] = given


def _check_master(master: str) -> None:
    """Check that something listens at one of the addresses of a master.

    Spark itself tries for minutes, and then does not name the address.

    Raises:
        NoMaster: nothing does.
    """
    match = _ADDRESSES.fullmatch(master)
    if match is None:
        return
    errors = []
    for address in match["hosts"].split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), MASTER_TIMEOUT_S).close()
        except OSError as error:
            errors.append(f"{address}: {error.strerror or error}")
        else:
            return
    raise NoMaster(
        f"no master of Spark answers at {'; '.join(errors)}; check the address of the master "
        f"({master}), or use local[*] for this machine"
    )


def java_cause(text: str) -> str:
    """Return what Java's exception says in the text of an error of py4j."""
    match = _JAVA.search(text)
    return match["text"] if match is not None else text.partition("\n")[0]


def _is_local(master: str) -> bool:
    return master.startswith("local")


def register(spark: "SparkSession") -> None:
    """Make both data sources known to a session; workers elsewhere get the code.

    Raises:
        NoSpark: PySpark is too old.
    """
    from pyspark.errors import AnalysisException

    if spark in _registered:
        return
    _check_version()
    from mqspark.shipping import without_kernels
    from mqspark.sources.live.source import Rocketmq
    from mqspark.sources.store.source import RocketmqStore
    from storefmt.arrow.columns import has_kernel
    from storefmt.kernels import PURE

    # If the sources were registered first, they would fail even after the code has arrived.
    _ship(spark)
    for source in (RocketmqStore, Rocketmq):
        try:
            spark.dataSource.register(source)
        except AnalysisException as error:
            # Spark has found ``pyspark_rocketmq…`` by itself.
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise
    if not has_kernel() and not os.environ.get(PURE):
        warnings.warn(without_kernels([platform.node()]), stacklevel=2)
    _registered.add(spark)


def _check_version() -> None:
    import pyspark

    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < SPARK_MIN:
        raise NoSpark(
            f"PySpark {pyspark.__version__} cannot run the sources, which need "
            f"{'.'.join(map(str, SPARK_MIN))} or later: pip install 'mqadmin[spark]', "
            "or add --engine local"
        )


def register_active() -> None:
    """Make both data sources known to the active session, if PySpark is in use and has one."""
    if "pyspark.sql" in sys.modules:
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            register(active)


def _ship(spark: "SparkSession") -> None:
    """Send the code to workers elsewhere; spark-submit has done it for programs that it starts."""
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        spark.addArtifacts(str(_code()), pyfile=True)
    elif not _is_local(spark.sparkContext.master or "") and SUBMITTED not in os.environ:
        spark.sparkContext.addPyFile(str(_code()))


@cache
def _code() -> Path:
    """Return the code of the sources as a file that exists as long as this process."""
    # Not above: this module is imported when ``python -m mqspark.shipping`` starts.
    from mqspark.shipping import write_code

    directory = Path(tempfile.mkdtemp(prefix="mqadmin-code-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return write_code(directory / "mqadmin.zip")
