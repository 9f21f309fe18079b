"""A standalone Spark cluster of one master and two workers, made from PySpark's own package.

Rule: everything listens on 127.0.0.1 on free ports and writes below one directory; what is
started here is stopped by its process id, executors with their worker. Planners and executors run a
Python that has numpy and pyarrow, and nothing of ours: what they need has to be shipped.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy
import pyarrow
import pyspark
import pytest

from tests.mqspark.kills import children, kill_tree
from tests.ports import free_ports
from tests.waiting import wait

READY_S = 600.0
HOME = Path(pyspark.__file__).parent


def bare_python(directory: Path) -> str:
    """Make a Python that has numpy and pyarrow alone, and return its path."""
    venv.create(directory, symlinks=True)
    (packages,) = directory.glob("lib/python*/site-packages")
    for module in (numpy, pyarrow):
        installed = Path(module.__file__).parent
        for part in (installed, installed.with_name(f"{installed.name}.libs")):
            if part.exists():
                (packages / part.name).symlink_to(part)
    return str(directory / "bin" / "python")


def environment(python: str = sys.executable) -> dict[str, str]:
    """Return the environment of everything that runs here; our code is not in it."""
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        # Spark's default is more than a worker here may give, and a job would wait for ever.
        "SPARK_EXECUTOR_MEMORY": "512m",
        "PYSPARK_PYTHON": python,
    }


class Cluster:
    """A running cluster.

    Args:
        directory: below it everything writes.
        hidden: a directory of another machine, which workers and executors find empty.

    Attributes:
        url: of the master.
        workers: process ids.
        python: the Python of planners and executors.
    """

    def __init__(self, directory: Path, *, hidden: Path | None = None) -> None:
        self._directory = directory
        self.python = bare_python(directory / "python")
        port = free_ports(1)
        self.url = f"spark://127.0.0.1:{port}"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._drivers: list[subprocess.Popen[str]] = []
        self._logs: list[Path] = []
        host = ["--host", "127.0.0.1"]
        page = ["--webui-port", "0"]
        self._start("master.Master", *host, "--port", str(port), *page)
        self._await(self._logs[0], "New state: ALIVE")
        limits = ["--cores", "1", "--memory", "700m"]
        for number in (1, 2):
            place = ["--work-dir", str(directory / f"work{number}")]
            words = [*host, *page, *limits, *place, self.url]
            self._start("worker.Worker", *words, prefix=() if hidden is None else hiding(hidden))
        for log in self._logs[1:]:
            self._await(log, "Successfully registered with master")
        self.workers = [process.pid for process in self._processes[1:]]

    def _start(self, name: str, *words: str, prefix: Sequence[str] = ()) -> None:
        log = self._directory / f"{len(self._logs)}-{name}.log"
        line = [
            *prefix,
            str(HOME / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{name}",
            *words,
        ]
        with log.open("wb") as out:
            process = subprocess.Popen(line, stdout=out, stderr=out, env=environment(self.python))
        self._processes.append(process)
        self._logs.append(log)

    def _await(self, log: Path, text: str) -> None:
        def read() -> str:
            assert all(process.poll() is None for process in self._processes), log.read_text()
            return log.read_text(errors="replace")[-2000:]

        wait(read, lambda said: text in said, what=f"{text!r} in {log}", timeout_s=READY_S)

    def submit(self, *words: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """Start a driver by spark-submit, in a directory that has nothing of ours."""
        place = self._directory / "driver"
        place.mkdir(exist_ok=True)
        limits = [
            "spark.executor.memory=512m",
            "spark.driver.memory=512m",
            "spark.ui.enabled=false",
        ]
        line = [str(HOME / "bin" / "spark-submit"), "--master", self.url]
        for limit in limits:
            line += ["--conf", limit]
        driver = subprocess.Popen(
            [*line, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=place,
            env={**environment(self.python), **(env or {})},
        )
        self._drivers.append(driver)
        return driver

    def executors(self) -> Sequence[int]:
        """Return the process ids of all executors."""
        return [pid for worker in self.workers for pid in children(worker)]

    def stop(self) -> None:
        """End everything, also drivers whose test gave up on them."""
        for driver in self._drivers:
            if driver.poll() is None:
                kill_tree(driver.pid)
                driver.communicate()
        for process in reversed(self._processes):
            kill_tree(process.pid)
            process.wait()


def hiding(directory: Path) -> list[str]:
    """Return the words before a program for which a directory is empty, or skip the test."""
    words = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"']
    words.append(str(directory))
    if shutil.which("unshare") is None or subprocess.run([*words, "true"], check=False).returncode:
        pytest.skip("a mount for one process needs unshare and the rights of root")
    return words


@contextmanager
def running_cluster(directory: Path, *, hidden: Path | None = None) -> Iterator[Cluster]:
    """Start a cluster and stop it at the end of the block."""
    cluster = Cluster(directory, hidden=hidden)
    try:
        yield cluster
    finally:
        cluster.stop()
