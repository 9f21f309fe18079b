"""``store config``: what the files of ``config/`` say, and what replaces those that are damaged."""

import json
from pathlib import Path

import pytest

from tests.golden import Golden
from tests.mqadmin.commands.offline import run


@pytest.fixture
def store(golden: Golden) -> Path:
    return golden.store("basic")


def test_every_value_of_a_topic_table_is_a_row(store: Path) -> None:
    rows = run("store", "config", store, "topics.json").rows

    text = json.loads((store / "config/topics.json").read_text())
    assert {(row["table"], row["name"], row["field"]): row["value"] for row in rows} == {
        **{("dataVersion", name, ""): value for name, value in text["dataVersion"].items()},
        **{
            ("topicConfigTable", topic, field): value
            for topic, fields in text["topicConfigTable"].items()
            for field, value in fields.items()
        },
    }


def test_a_name_is_that_of_a_topic_a_group_or_both(store: Path) -> None:
    everything = run("store", "config", store, "consumerOffset.json").rows
    topic, group = everything[0]["name"].split("@")

    for name in (topic, group, f"{topic}@{group}"):
        rows = run("store", "config", store, "consumerOffset.json", "--name", name).rows
        assert rows == [row for row in everything if name in (row["name"], *row["name"].split("@"))]
        assert all(isinstance(row["value"], int) for row in rows)


def test_all_files_together_are_those_one_by_one(golden: Golden) -> None:
    path = golden.store("v5")
    rows = run("store", "config", path).rows

    files = dict.fromkeys(row["file"].removeprefix("config/") for row in rows)
    assert {"topics.json", "timercheck"} < set(files)
    one_by_one = [row for file in files for row in run("store", "config", path, file).rows]
    assert rows == one_by_one


def test_a_damaged_file_is_replaced_by_its_backup_and_told(store: Path) -> None:
    file = store / "config/topics.json"
    file.with_name("topics.json.bak").write_bytes(file.read_bytes())
    file.write_bytes(b"\0" * 100)

    done = run("store", "config", store, "topics.json")

    assert {row["file"] for row in done.rows} == {"config/topics.json.bak"}
    assert (
        "topics.json: 100 bytes, all of them zeros or blanks; config/topics.json.bak is" in done.err
    )


def test_a_file_beyond_repair_is_an_error(store: Path) -> None:
    for path in (store / "config").glob("topics.json*"):
        path.write_text("{")

    done = run("store", "config", store, "topics.json")

    assert done.exit_code == 6
    assert "config/topics.json" in json.loads(done.err)["error"]["message"]


@pytest.mark.parametrize("name", ["groups.json", "../checkpoint", "lmqConsumerOffset.json"])
def test_a_file_that_is_not_there_is_not_found(store: Path, name: str) -> None:
    done = run("store", "config", store, name)

    assert done.exit_code == 3
    assert "existing files: topics.json, " in json.loads(done.err)["error"]["hint"]
