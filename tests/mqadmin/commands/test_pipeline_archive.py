"""``mqadmin pipeline archive`` and ``… restore`` through the command line."""

import json
import subprocess
from pathlib import Path

from mqserver.pytest_plugin import RocketMQ
from tests.mqspark.livetopics import fill, make, read_queues
from tests.programs import python


def mqadmin(*words: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "mqadmin", "pipeline", *words, "--engine", "local", code=None)


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


def test_the_upkeep_of_an_archive(rocketmq: RocketMQ, tmp_path: Path) -> None:
    make(rocketmq.namesrv, "CliKept")
    fill(rocketmq.namesrv, "CliKept", 30)
    uri = str(tmp_path / "archive")
    words = ["archive", uri, "--topic", "CliKept", "--commit-every", "10"]
    assert mqadmin(*words, "-n", rocketmq.namesrv).returncode == 0

    def upkeep(*words: str) -> tuple[int, list[dict], str]:
        done = python("-m", "mqadmin", "pipeline", "archive", *words, "-y", "-o", "json", code=None)
        return done.returncode, json.loads(done.stdout or "[]"), done.stderr

    plan = upkeep("compact", uri, "--engine", "local", "--dry-run")
    code, compacted, _ = upkeep("compact", uri, "--engine", "local")
    early = upkeep("clean", uri, "--before", "-1h")
    late = upkeep("clean", uri, "--before", "+1h")
    expired = upkeep("expire", uri, "--before", "+1h")

    assert (plan[:2], "files would become" in plan[2]) == ((0, []), True)
    assert (code, sum(row["messages"] for row in compacted)) == (0, 30)
    assert early[:2] == (0, [])
    assert len(late[1]) == sum(row["files_before"] for row in compacted)
    assert sum(row["messages"] for row in expired[1]) == 30
    assert "is no archive" in upkeep("expire", str(tmp_path / "none"), "--before", "-1d")[2]


def test_an_archive_may_be_a_table_of_a_lake(rocketmq: RocketMQ, tmp_path: Path) -> None:
    make(rocketmq.namesrv, "CliLake")
    fill(rocketmq.namesrv, "CliLake", 30)
    uri, there = str(tmp_path / "archive"), ["-n", rocketmq.namesrv, "-o", "json"]
    words = ["archive", uri, "--topic", "CliLake"]

    done = mqadmin(*words, "--format", "delta", *there)
    again = mqadmin(*words, *there)
    other = mqadmin(*words, "--format", "iceberg", *there)
    back = mqadmin("restore", uri, "--to", str(tmp_path / "store"))

    assert sum(row["messages"] for row in json.loads(done.stdout)) == 30
    assert (again.returncode, json.loads(again.stdout)) == (0, [])
    assert (other.returncode, "format delta, not iceberg" in other.stderr) == (2, True)
    assert (back.returncode, "archive of format delta" in back.stderr) == (1, True)
    assert (tmp_path / "archive" / "_delta_log").is_dir()
