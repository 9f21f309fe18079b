"""``store export``: what is written, and how a broken run goes on."""

import json
from pathlib import Path

import pytest

from mqadmin.messages import export_file as exportfile
from tests.golden import Golden
from tests.mqadmin.commands.offline import run


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_text_exports_are_what_log_prints(golden: Golden, tmp_path: Path, kind: str) -> None:
    store, path = golden.store("kinds"), tmp_path / f"all.{kind}"

    ran = run("store", "export", store, "--to", path)

    assert ran.rows == [
        {"file": str(path), "format": kind, "rows": 335, "size": path.stat().st_size,
         "resumed": False}
    ]  # fmt: skip
    assert path.read_text() == run("store", "log", store, output=kind).out
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_has_the_messages_with_bodies_as_bytes(golden: Golden, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    store, path = golden.store("v5"), tmp_path / "all.parquet"

    run("store", "export", store, "--to", path)

    table = parquet.read_table(path).to_pylist()
    lines = [line for line in golden.jsonl("v5", "records") if line["kind"] == "msg"]
    assert [row["log_offset"] for row in table] == [line["phy"] for line in lines]
    assert [len(row["body"]) for row in table] == [line["bodyLen"] for line in lines]
    assert [dict(row["properties"]) for row in table] == [line["properties"] for line in lines]
    assert [int(row["store_ms"].timestamp() * 1000 + 0.5) for row in table] == [
        line["storeTimestamp"] for line in lines
    ]
    assert list(tmp_path.iterdir()) == [path]


def test_filters_are_those_of_log(golden: Golden, tmp_path: Path) -> None:
    store, path = golden.store("basic"), tmp_path / "some.jsonl"
    words = ("--topic", "tiny", "--tag", "odd", "--no-body")

    run("store", "export", store, "--to", path, *words, "--limit", "7")

    assert (
        path.read_text() == run("store", "log", store, *words, "--limit", "7", output="jsonl").out
    )


class Broken(Exception):
    """Stands for a kill in the middle."""


def break_after(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    seen = [0]
    original = exportfile.ExportWriter.add

    def add(self: exportfile.ExportWriter, row: object) -> None:
        seen[0] += 1
        if seen[0] > rows:
            raise Broken
        original(self, row)

    monkeypatch.setattr(exportfile.ExportWriter, "add", add)
    monkeypatch.setattr(exportfile, "ROWS_A_PART", 50)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("rows", [0, 49, 50, 133, 334])
def test_a_broken_export_goes_on_and_equals_a_whole_one(
    golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, rows: int
) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    store, path, whole = golden.store("kinds"), tmp_path / f"a.{kind}", tmp_path / f"w.{kind}"
    with monkeypatch.context() as patch:
        break_after(patch, rows)
        broken = run("store", "export", store, "--to", path)
        run("store", "export", store, "--to", path, "--resume")

    ran = run("store", "export", store, "--to", path, "--resume")
    run("store", "export", store, "--to", whole)

    assert broken.exit_code == 1
    assert (ran.rows[0]["rows"], ran.rows[0]["resumed"]) == (335, True)
    if kind == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        assert parquet.read_table(path).equals(parquet.read_table(whole))
    else:
        assert path.read_bytes() == whole.read_bytes()
    assert sorted(tmp_path.iterdir()) == sorted([path, whole])


def test_another_question_cannot_go_on(
    golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, path = golden.store("kinds"), tmp_path / "a.jsonl"
    with monkeypatch.context() as patch:
        break_after(patch, 120)
        run("store", "export", store, "--to", path)

    other = run("store", "export", store, "--to", path, "--resume", "--topic", "kd-order")
    anew = run("store", "export", store, "--to", path)

    assert (other.exit_code, anew.exit_code) == (2, 2)
    assert "another topic" in other.err
    assert "--resume" in anew.err


def test_a_state_that_cannot_be_read_is_told(golden: Golden, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.with_name("a.jsonl.state").write_text(json.dumps({"rows": 1}))

    ran = run("store", "export", golden.store("ipv6"), "--to", path, "--resume")

    assert ran.exit_code == 1
    assert "a.jsonl.state" in ran.err


@pytest.mark.parametrize("name", ["x.txt", "x"])
def test_a_name_that_says_no_format_is_exit_2(golden: Golden, tmp_path: Path, name: str) -> None:
    assert run("store", "export", golden.store("ipv6"), "--to", tmp_path / name).exit_code == 2


def test_nothing_is_written_over_or_into_the_store(golden: Golden, tmp_path: Path) -> None:
    store, there = golden.store("ipv6"), tmp_path / "there.csv"
    there.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(store)

    for path in (there, store / "x.csv", link / "x.csv"):
        assert run("store", "export", store, "--to", path).exit_code == 2

    assert there.read_text() == "mine"
    assert not (store / "x.csv").exists()
