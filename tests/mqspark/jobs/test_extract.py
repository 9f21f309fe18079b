"""``extract``: the files have the wanted records, and the manifest describes them."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from mqspark.errors import BadOption
from mqspark.frames import commitlog
from mqspark.jobs.extract import extract, extract_local, rows_of
from storefmt.errors import BadCall
from storefmt.formats.message import Record
from tests.golden import Golden
from tests.storefmt.offline.stores import records_in


def expected(store: str, topics: set[str]) -> dict[int, Record]:
    return {one.log_offset: one for one in records_in(store) if one.topic in topics}


def run(store: str, to: Path, **asked: Any) -> list[dict[str, Any]]:
    return rows_of(extract_local([store], to=str(to), **asked), to=str(to))


def test_parquet_holds_each_record_whole(golden: Golden, tmp_path: Path) -> None:
    store, out = str(golden.store("basic")), tmp_path / "out"

    manifest = run(store, out, topics="tiny,clicks_v1")

    records = expected(store, {"tiny", "clicks_v1"})
    found = {}
    for row in manifest:
        path = out / row["file"]
        table = pq.read_table(path, partitioning=None)
        assert row["rows"] == table.num_rows
        assert row["crc32"] == f"{zlib.crc32(path.read_bytes()):08x}"
        assert path.stat().st_size == row["bytes"]
        found |= {each["log_offset"]: each for each in table.to_pylist()}
    assert sorted(found) == sorted(records)
    assert all(found[at]["body"] == record.body for at, record in records.items())
    assert all(dict(found[at]["properties"]) == r.properties for at, r in records.items())
    lines = (out / "manifest.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == manifest


def test_lines_and_bodies_hold_the_same(golden: Golden, tmp_path: Path) -> None:
    store = str(golden.store("basic"))
    records = expected(store, {"tiny"})

    (lines,) = run(store, tmp_path / "lines", topics="tiny", kind="jsonl")
    (bodies,) = run(store, tmp_path / "bodies", topics="tiny", kind="files")

    rows = [
        json.loads(line) for line in (tmp_path / "lines" / lines["file"]).read_text().splitlines()
    ]
    assert {row["log_offset"]: base64.b64decode(row["body"]) for row in rows} == {
        at: record.body for at, record in records.items()
    }
    for record in records.values():
        name = Path(str(record.queue_id), str(record.queue_offset))
        assert (tmp_path / "bodies" / bodies["file"] / name).read_bytes() == record.body


def test_what_cannot_be_meant_is_refused(golden: Golden, tmp_path: Path) -> None:
    store = golden.store("basic")

    with pytest.raises(BadOption, match="csv"):
        run(str(store), tmp_path / "out", kind="csv")
    with pytest.raises(BadOption, match="regular expression"):
        run(str(store), tmp_path / "out", body="[")
    with pytest.raises(BadCall, match="only read"):
        run(str(store), store / "out")


@pytest.mark.spark
def test_spark_writes_the_files_of_the_local_engine(
    spark: SparkSession, golden: Golden, tmp_path: Path
) -> None:
    stores = [str(golden.store(name)) for name in ("basic", "kinds")]
    here, there = tmp_path / "here", tmp_path / "there"

    local = rows_of(extract_local(stores, to=str(here), body="[0-9]{3}"), to=str(here))
    frame = extract(spark, stores, to=str(there), body="[0-9]{3}")
    assert not there.exists()
    spread = rows_of(frame.toArrow(), to=str(there))

    assert spread == local
    assert frame.count() == len(local)
    assert len(local) > 5
    for row in local:
        assert (there / row["file"]).read_bytes() == (here / row["file"]).read_bytes()


@pytest.mark.spark
def test_sparks_own_writer_gives_the_same_rows(
    spark: SparkSession, golden: Golden, tmp_path: Path
) -> None:
    store, columns = str(golden.store("basic")), ["topic", "log_offset", "body", "keys"]
    run(store, tmp_path / "ours")

    frame = commitlog(spark, store, columns=columns)
    frame.write.partitionBy("topic").parquet(str(tmp_path / "sparks"))

    ours, sparks = (
        spark.read.option("basePath", str(tmp_path / name))
        .parquet(str(tmp_path / name / "topic=*"))
        .select(columns)
        .orderBy("log_offset")
        .collect()
        for name in ("ours", "sparks")
    )
    assert sparks == ours != []
