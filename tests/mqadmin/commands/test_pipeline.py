"""``mqadmin pipeline stats`` through the command line, on both engines."""

import csv
import json
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.golden import Golden
from tests.mqadmin.conftest import Run
from tests.programs import python


def mqadmin(*words: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "mqadmin", *words, code=None)


def test_local_engine_prints_a_row_a_topic_and_hour(basic: Path) -> None:
    done = mqadmin("pipeline", "stats", str(basic), "--engine", "local", "-o", "json")

    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert sum(row["messages"] for row in rows) == 1420
    clicks = next(row for row in rows if row["topic"] == "clicks_v1")
    assert clicks["hour_ms"] == 1795233600000
    assert clicks["hour_time"] == "2026-11-21T04:00:00.000Z"
    assert (clicks["messages"], clicks["bytes"]) == (750, 168774)


def test_a_small_store_is_counted_without_spark_and_a_line_says_why(basic: Path) -> None:
    local = mqadmin("pipeline", "stats", str(basic), "--engine", "local", "-o", "json")

    chosen = mqadmin("pipeline", "stats", str(basic), "-o", "json")

    assert (chosen.returncode, chosen.stdout) == (0, local.stdout), chosen.stderr
    assert "engine local: 0.0 GiB of log on one machine" in chosen.stderr
    assert "engine" not in local.stderr


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_spark_prints_the_same_and_how_long_it_took_to_start(
    golden: Golden, tmp_path: Path
) -> None:
    store = str(golden.store("ipv6"))
    local = mqadmin("pipeline", "stats", store, "--engine", "local", "-o", "csv")

    words = ("--master", "local[2]", "-o", "csv", "--explain", "--parquet", str(tmp_path / "rows"))
    spark = mqadmin("pipeline", "stats", store, *words)

    assert spark.returncode == 0, spark.stderr
    assert spark.stdout == local.stdout != ""
    messages = [int(row["messages"]) for row in csv.DictReader(spark.stdout.splitlines())]
    assert pq.read_table(tmp_path / "rows").column("messages").to_pylist() == messages
    for told in (
        "Spark shows the job at http://",
        "HashAggregate",
        "--engine local gives the same",
        "Spark took ",
    ):
        assert told in spark.stderr


def test_damage_is_reported_after_the_rows_with_exit_code_6(golden: Golden) -> None:
    store = str(golden.damaged("33-magic-wrong"))

    done = mqadmin("pipeline", "stats", store, "--engine", "local", "-o", "jsonl")

    assert done.returncode == 6
    assert sum(json.loads(line)["messages"] for line in done.stdout.splitlines()) == 1419
    assert "skipped 1 damaged places" in done.stderr


def test_a_file_that_cannot_be_made_is_told_before_the_job(tmp_path: Path, golden: Golden) -> None:
    store, words = str(golden.store("kinds")), ("--engine", "local", "--parquet")

    nowhere = mqadmin("pipeline", "stats", store, *words, str(tmp_path / "no" / "rows.parquet"))
    folder = mqadmin("pipeline", "stats", store, *words, str(tmp_path))

    assert (nowhere.returncode, folder.returncode) == (2, 2)
    assert f"there is no directory {tmp_path / 'no'}" in nowhere.stderr
    assert f"{tmp_path} is a directory" in folder.stderr
    assert nowhere.stdout == folder.stdout == ""


def test_a_directory_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    done = mqadmin("pipeline", "verify", str(tmp_path / "nowhere"), "--engine", "local")

    assert done.returncode == 3
    assert "nowhere: no such directory" in done.stderr


def test_no_store_is_not_found(tmp_path: Path) -> None:
    done = mqadmin("pipeline", "stats", str(tmp_path), "--engine", "local")

    assert done.returncode == 3
    assert str(tmp_path) in done.stderr
    assert done.stdout == ""


def test_a_job_without_pyarrow_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("mqadmin.store_access.spark_job.find_spec", lambda name: None)

    done = run("pipeline", "stats", str(tmp_path), "--engine", "local")

    assert done.exit_code == 1
    assert "need pyarrow, which is not installed" in done.err
    assert "pip install 'mqadmin[spark]'" in done.err


@pytest.mark.parametrize("job", ["duplicates", "lag"])
def test_other_jobs_print_rows_and_refuse_what_is_no_store(
    golden: Golden, tmp_path: Path, job: str
) -> None:
    done = mqadmin("pipeline", job, str(golden.store("kinds")), "--engine", "local", "-o", "json")
    refused = mqadmin("pipeline", job, str(tmp_path), "--engine", "local")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) != [] or job == "duplicates"
    assert refused.returncode == 3


def test_grep_prints_hits_and_refuses_a_bad_expression(golden: Golden) -> None:
    store = str(golden.store("basic"))

    done = mqadmin("pipeline", "grep", store, "[0-9][0-9]", "--engine", "local", "-o", "json")
    refused = mqadmin("pipeline", "grep", store, "[", "--engine", "local")

    assert done.returncode == 0, done.stderr
    assert all(any(char.isdigit() for char in row["excerpt"]) for row in json.loads(done.stdout))
    assert refused.returncode == 2
    assert "no regular expression" in refused.stderr


def test_views_are_printed_as_a_script(basic: Path) -> None:
    done = mqadmin("pipeline", "views", str(basic), "--prefix", "a_")
    refused = mqadmin("pipeline", "views", str(basic), "--prefix", "a-")

    statements = done.stdout.splitlines()
    assert all(line.startswith("create or replace temporary view `a_") for line in statements)
    assert all(line.endswith(");") and f"path '{basic}'" in line for line in statements)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "option prefix is 'a-'" in refused.stderr
