"""``mqadmin pipeline archive`` and ``… restore`` through the command line."""

import json
import subprocess
import sys
from pathlib import Path

from server.pytest_plugin import RocketMQ
from tests.pipeline.livetopics import fill, make, read_queues


def mqadmin(*words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "mqadmin", "pipeline", *words, "--engine", "local"]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_topics_go_to_an_archive_and_back(rocketmq: RocketMQ, tmp_path: Path) -> None:
    for topic in ("CliArchive", "CliBack"):
        make(rocketmq.namesrv, topic)
    fill(rocketmq.namesrv, "CliArchive", 30)
    uri, there = str(tmp_path / "archive"), ["-n", rocketmq.namesrv]

    plan = mqadmin("archive", uri, "--topic", "CliArchive", *there, "--dry-run")
    done = mqadmin(
        "archive", uri, "--topic", "CliArchive", "--commit-every", "20", *there, "-o", "json"
    )
    store = mqadmin("restore", uri, "--to", str(tmp_path / "store"), "--file-size", "65536")
    sent = mqadmin("restore", uri, "--to-topic", "CliBack", "--keep-queues", *there, "-y")

    assert "30 messages of 3 queues" in plan.stderr
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert (sum(row["messages"] for row in rows), {row["commit"] for row in rows}) == (30, {1, 2})
    assert store.returncode == 0, store.stderr
    assert (tmp_path / "store" / "config" / "topics.json").exists()
    assert sent.returncode == 0, sent.stderr
    assert len(read_queues(rocketmq.namesrv, "CliBack", total=30)) == 30


def test_what_cannot_be_ends_with_its_exit_code(rocketmq: RocketMQ, tmp_path: Path) -> None:
    uri, there = str(tmp_path / "archive"), ["-n", rocketmq.namesrv]

    nowhere = mqadmin("archive", uri, "--topic", "Nowhere", *there)
    nobody = mqadmin("archive", uri, "--topic", "T", "-n", "127.0.0.1:1")
    nothing = mqadmin("archive", uri, *there)
    both = mqadmin("restore", uri, "--to", "a", "--to-topic", "b", *there)
    empty = mqadmin("restore", uri, "--to", str(tmp_path / "store"))

    assert (nowhere.returncode, "topic Nowhere has no route" in nowhere.stderr) == (3, True)
    assert (nobody.returncode, "127.0.0.1:1" in nobody.stderr) == (4, True)
    assert (nothing.returncode, "one of the options subscribe" in nothing.stderr) == (2, True)
    assert (both.returncode, "one target" in both.stderr) == (2, True)
    assert (empty.returncode, "is no archive" in empty.stderr) == (1, True)
