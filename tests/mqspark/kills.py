"""The archiver under SIGKILL: all its processes are killed at moments that a seed chooses.

Rule: each run goes on until so many more manifests are there, then for a part of the time that
the quickest took; what is killed is the driver with every process below it, found by parent,
since Spark's Python daemon leaves the group of its driver. The last run is let end.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tests.waiting import wait

COMMIT_TIMEOUT_S = 300.0
LAST_RUN_TIMEOUT_S = 1_500.0
"""For all that is left: a commit of Spark's takes seconds on a busy machine."""


_COMMITS = ("manifest/*.json", "_delta_log/*.json", "metadata/v*.metadata.json")
FEWER_COMMITS = {"maxOffsetsPerTrigger": "50", "maxRecordsPerPartition": "20"}
"""For Spark, which needs a second or more for each: some thirty of 1,500 messages."""


def archive_under_kills(
    uri: Path, options: Mapping[str, str], *, engine: str, kill_count: int, seed: int
) -> int:
    """Archive to the end, killing some runs on the way; return how many commits there are."""
    chooser, quickest_s = random.Random(seed), float("inf")
    for _ in range(kill_count):
        process = start(uri, options, engine=engine)
        try:
            _await_commits(uri, process, more=chooser.randint(1, 2))
            began_s = time.monotonic()
            _await_commits(uri, process, more=1)
            # Anywhere in what comes next: planning, pulling, a Parquet file, its manifest.
            # The quickest, since a disk that hangs for once makes no run long.
            quickest_s = min(quickest_s, time.monotonic() - began_s)
            time.sleep(chooser.random() * quickest_s)
            assert process.poll() is None, "the run ended before it could be killed"
        finally:
            kill_tree(process.pid)
            process.wait()
    last = start(uri, options, engine=engine)
    try:
        _, errors = last.communicate(timeout=LAST_RUN_TIMEOUT_S)
    finally:
        kill_tree(last.pid)
    assert last.returncode == 0, errors
    return commit_count(uri)


def start(uri: Path, options: Mapping[str, str], *, engine: str) -> subprocess.Popen[str]:
    """Start one run of the job as a process."""
    line = [sys.executable, "-m", "mqspark.cli.live_jobs", "archive", str(uri)]
    line += ["--engine", engine, "--master", "local[2]"]
    for name, value in options.items():
        line += ["--option", f"{name}={value}"]
    return subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def commit_count(uri: Path) -> int:
    """Return the number of the last commit, whatever the format of the archive."""
    found = [path for pattern in _COMMITS for path in uri.glob(pattern)]
    return max((int(path.name.lstrip("v").split(".")[0]) for path in found), default=0)


def _await_commits(uri: Path, process: subprocess.Popen[str], *, more: int) -> None:
    wanted = commit_count(uri) + more
    wait(
        lambda: commit_count(uri) >= wanted or process.poll() is not None,
        what=f"{wanted} commits",
        timeout_s=COMMIT_TIMEOUT_S,
        pause_s=0.002,
    )


def kill_tree(pid: int) -> None:
    """End a process and all below it by SIGKILL, the uppermost first."""
    family = [pid]
    for one in family:
        family += children(one)
    for one in family:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            # It went with its parent.
            continue


def children(pid: int) -> list[int]:
    """Return the process ids of those that a process started and that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            # It ended while the others were looked at.
            continue
        # One that was killed stays in the list as Z until its parent asks how it ended.
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found
