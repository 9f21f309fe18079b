"""``store info|ls|queue|index|offsets|checkpoint``: what lies in a store directory."""

from pathlib import Path

import pytest

from tests.golden import Golden
from tests.mqadmin.commands.offline import run
from tests.storefmt.offline.stores import state_of


@pytest.mark.parametrize("name", ["basic", "kinds", "retention", "ipv6"])
def test_queue_rows_equal_the_real_readers(golden: Golden, name: str) -> None:
    rows = run("store", "queue", golden.store(name)).rows

    wanted = {}
    for line in golden.jsonl(name, "cq"):
        for index, *entry in line["entries"]:
            place = int(line["file"]) // 20 + (index if int(line["file"]) == 0 else 0)
            place = place if int(line["file"]) == 0 else max(place, index)
            key = (line["topic"], int(line["queueId"]), entry[0])
            wanted[key] = (tuple(entry), f"/{line['file']}")
    assert len(rows) == sum(len(line["entries"]) for line in golden.jsonl(name, "cq"))
    for row in rows:
        entry, file = wanted[(row["topic"], row["queue_id"], row["log_offset"])]
        assert (row["log_offset"], row["size"], row["tags_code"]) == entry
        assert row["file"].endswith(file)


def test_queue_rows_of_one_queue(basic: Path) -> None:
    rows = run("store", "queue", basic, "clicks_v1", "0", "--start", "298", "--limit", "4").rows

    assert [row["queue_offset"] for row in rows] == [298, 299, 300, 301]
    assert set(rows[0]) == {
        "topic", "queue_id", "queue_offset", "log_offset", "size", "tags_code", "file",
        "min_offset", "max_offset",
    }  # fmt: skip
    assert [row["file"][-5:] for row in rows] == ["00000", "00000", "06000", "06000"]


def test_index_rows_equal_the_real_readers(golden: Golden) -> None:
    rows = run("store", "index", golden.store("retention")).rows

    wanted = [
        [f"index/{line['file']}", *entry]
        for line in golden.jsonl("retention", "index")
        for entry in line["entries"]
    ]
    fields = ("file", "entry", "key_hash", "log_offset", "time_diff_s", "previous")
    assert [[row[field] for field in fields] for row in rows] == wanted


def test_index_rows_of_one_file(golden: Golden) -> None:
    rows = run("store", "index", golden.store("basic"), "20261121041855172", "--limit", "2").rows

    assert [row["entry"] for row in rows] == [1, 2]


def test_index_file_that_cannot_be_read_is_told(golden: Golden) -> None:
    ran = run("store", "index", golden.damaged("19-index-truncated"))

    assert ran.exit_code == 0
    assert "20261121041905651" in ran.err


def test_offsets_equal_the_real_managers(golden: Golden) -> None:
    rows = run("store", "offsets", golden.store("basic")).rows

    managers = golden.expected("basic")["configManagers"]["consumerOffset"]
    assert {(f"{row['topic']}@{row['group']}", row["queue_id"]): row["offset"] for row in rows} == {
        (key, int(queue)): offset
        for key, queues in managers.items()
        for queue, offset in queues.items()
    }
    assert [row["lag"] for row in rows if row["group"] == "grp-b"] == [650]


def test_offsets_of_the_copy_are_told(golden: Golden) -> None:
    ran = run("store", "offsets", golden.damaged("23-json-cut"), "--group", "grp-b")

    assert [row["offset"] for row in ran.rows] == [100]
    assert "consumerOffset.json.bak is used instead" in ran.err


def test_checkpoint_row(golden: Golden) -> None:
    (row,) = run("store", "checkpoint", golden.store("basic")).rows

    assert [row["physic_ms"], row["logics_ms"], row["index_ms"]] == golden.expected("basic")[
        "scan"
    ]["checkpoint"]
    assert row["aborted"] is False
    assert row["recover_from_ms"] == row["physic_ms"] - 3000


def test_missing_checkpoint_is_exit_3_and_short_one_6(golden: Golden) -> None:
    missing = run("store", "checkpoint", golden.damaged("20-checkpoint-missing"))
    short = run("store", "checkpoint", golden.damaged("21-checkpoint-short"))

    assert (missing.exit_code, short.exit_code) == (3, 6)


def test_info_row(golden: Golden) -> None:
    (row,) = run("store", "info", golden.store("basic")).rows

    assert row["message_count"] == 1420
    assert (row["min_log_offset"], row["end_log_offset"]) == (0, 3921827)
    assert {topic["topic"]: topic["message_count"] for topic in row["topics"]}["tiny"] == 40
    assert {group["group"]: group["lag"] for group in row["groups"]}["grp-b"] == 650


def test_ls_rows_are_the_files(kinds: Path) -> None:
    rows = run("store", "ls", kinds).rows

    files = {str(file.relative_to(kinds)) for file in kinds.rglob("*") if file.is_file()}
    assert {row["file"] for row in rows} == files
    assert {row["kind"] for row in rows} == {
        "commitlog", "consumequeue", "consumequeue_ext", "index", "config", "other",
    }  # fmt: skip


@pytest.mark.parametrize("output", ["table", "jsonl", "csv", "yaml", "name"])
def test_every_output_form_and_no_trace_in_the_directory(ipv6: Path, output: str) -> None:
    before = state_of(ipv6)

    for words in every_command(ipv6):
        assert run("store", *words, output=output).exit_code == 0, words

    assert state_of(ipv6) == before


def every_command(path: Path) -> list[tuple[str, ...]]:
    directory = str(path)
    return [
        *((verb, directory) for verb in ("info", "ls", "log", "queue", "index", "offsets")),
        ("checkpoint", directory),
        ("verify", directory),
        ("get", directory, "0"),
    ]
