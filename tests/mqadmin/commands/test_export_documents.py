"""The files of the Java tool's export commands, written by ours."""

import json
from pathlib import Path
from typing import Any

import pytest

from mqadmin.output.versions import version_name
from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run


def written(at: Run, directory: Path, *words: str) -> dict[str, Any]:
    """Run an export and return the document in the file that its row names."""
    done = at(*words, "-f", str(directory), "--output", "json")
    assert done.exit_code == 0, done.err
    (row,) = done.rows
    text = Path(row["path"]).read_text()
    assert row["size"] == len(text.encode())
    made: dict[str, Any] = json.loads(text)
    return made


def test_topics_and_groups_are_written(at: Run, servers: ServerAddresses, tmp_path: Path) -> None:
    at("topic", "create", "DOCUMENTED", "-q", "3")
    at("group", "create", "EXPORT_G", "--retry-max", "5")
    at("topic", "create", "%RETRY%EXPORT_G", "-q", "1")

    both = written(at, tmp_path, "exportMetadata", "-c", "DefaultCluster")
    topics = written(at, tmp_path, "exportMetadata", "-b", servers.broker, "-t")
    groups = written(at, tmp_path, "exportMetadata", "-b", servers.broker, "-g")
    special = written(at, tmp_path, "exportMetadata", "-c", "DefaultCluster", "-s")

    assert list(both) == ["exportTime", "topicConfigTable", "subscriptionGroupTable"]
    assert both["topicConfigTable"]["DOCUMENTED"]["writeQueueNums"] == 3
    assert both["subscriptionGroupTable"]["EXPORT_G"]["retryMaxTimes"] == 5
    assert "subscriptionGroupTable" not in topics
    assert "topicConfigTable" not in groups
    assert set(special["topicConfigTable"]) - set(both["topicConfigTable"]) >= {"%RETRY%EXPORT_G"}
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [
        "metadata.json",
        "subscriptionGroup.json",
        "topic.json",
    ]


def test_settings_and_numbers_are_written(at: Run, tmp_path: Path) -> None:
    configs = written(at, tmp_path, "exportConfigs", "-c", "DefaultCluster")
    metrics = written(at, tmp_path, "exportMetrics", "-c", "DefaultCluster")

    assert configs["clusterScale"] == {
        "namesrvSize": 1,
        "masterBrokerSize": 1,
        "slaveBrokerSize": 0,
    }
    assert configs["brokerConfigs"]["broker-a"]["brokerClusterName"] == "DefaultCluster"
    report = metrics["evaluateReport"]["broker-a"]
    assert report["runtimeVersion"]["rocketmqVersion"] == "V4_9_7"
    assert report["runtimeQuota"]["topicSize"] >= 0
    assert set(metrics["totalData"]["totalTps"]) == {
        *("totalNormalInTps", "totalNormalOutTps", "totalTransInTps", "totalScheduleInTps"),
    }


def test_an_export_that_cannot_be_written_says_so(at: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert at("export", "configs", "-d", str(tmp_path / "file" / "below")).exit_code == 1
    assert at("export", "metrics", "--cluster", "None").exit_code == 3
    assert at("export", "metadata", "-b", "127.0.0.1:1").exit_code == 4
    assert at("exportMetadata", "-t").exit_code == 2
    at("export", "configs", "-d", str(tmp_path / "never"), "--dry-run")
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    ("number", "name"),
    [(407, "V4_9_7"), (406, "V4_9_7_SNAPSHOT"), (213, "V4_0_0"), (413, "V5_0_0")],
)
def test_versions_have_names(number: int, name: str) -> None:
    assert version_name(number) == name


def test_versions_out_of_the_count_have_numbers_or_are_higher() -> None:
    assert (version_name(193), version_name(612)) == ("193", "HIGHER_VERSION")
