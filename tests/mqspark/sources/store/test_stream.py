"""Stores as streams: new records alone, whole ones only, and each once."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from mqserver.pytest_plugin import RocketMQ
from mqspark.errors import BadOption, DataLost
from mqspark.schemas import struct_of
from mqspark.sources.store.options import reading_of
from mqspark.sources.store.source import RocketmqStore, StoreStreamReader
from mqspark.sources.store.tables import schema_of
from storefmt.errors import NotAStore
from storefmt.formats.scan import log_files
from tests.golden import Golden
from tests.mqspark.livetopics import fill, make
from tests.mqspark.streams import run_to_end
from tests.storefmt.offline.stores import records_in

COLUMNS = ("log_offset", "body")


def reader(*paths: Path, **options: str) -> StoreStreamReader:
    source = RocketmqStore(
        {"path": str(paths[0]), **options}
        if len(paths) == 1
        else {"paths": str([str(each) for each in paths]).replace("'", '"'), **options}
    )
    return source.streamReader(struct_of(schema_of("commitlog", COLUMNS)))


def batch(stream: StoreStreamReader, start: Any) -> tuple[list[int], Any]:
    """Read one batch; return the log offsets of its rows, and where it ends."""
    end = stream.latestOffset(start)
    rows = [
        row
        for task in stream.partitions(start, end)
        for part in stream.read(task)
        for row in part.to_pylist()
    ]
    return [row["log_offset"] for row in rows], end


def log_of(store: Path) -> tuple[Path, list[int], int]:
    """Return the newest log file of a store, the offsets of all records, and their end."""
    records = records_in(store)
    path = log_files(store / "commitlog")[-1]
    return path, [one.log_offset for one in records], records[-1].log_offset + records[-1].size


def test_batches_have_each_record_of_a_running_broker_once(rocketmq_broker: RocketMQ) -> None:
    pair = rocketmq_broker
    make(pair.namesrv, "Streamed")
    fill(pair.namesrv, "Streamed", 20)
    stream = reader(pair.store)
    first, end = batch(stream, stream.initialOffset())
    assert batch(stream, end) == ([], end)

    fill(pair.namesrv, "Streamed", 10)
    more, end = batch(reader(pair.store), end)

    _, offsets, last = log_of(pair.store)
    assert first + more == offsets
    assert len(more) == 10
    assert end == {str(pair.store): last}


def test_a_record_that_is_not_whole_waits_for_the_next_batch(
    golden: Golden, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    shutil.copytree(golden.store("basic"), store)
    path, offsets, end = log_of(store)
    last, size = offsets[-1] - int(path.name), end - offsets[-1]
    stream = reader(store)
    with path.open("r+b") as log:
        log.seek(last)
        record = log.read(size)

        def batch_of(known_size: int) -> tuple[list[int], Any]:
            """Read a batch while so many bytes of the last record are in the file."""
            log.seek(last)
            log.write(record[:known_size] + bytes(size - known_size))
            log.flush()
            return batch(stream, {str(store): offsets[-2]})

        for known_size in (0, 3, 8, 40, 87, 100):
            rows, reached = batch_of(known_size)
            assert rows == offsets[-2:-1], known_size
            assert reached == {str(store): offsets[-1]}
        assert batch_of(size)[0] == offsets[-2:]
        assert batch(stream, reached)[0] == offsets[-1:]


def test_a_log_that_lost_records_is_an_error(golden: Golden, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(golden.store("basic"), store)
    stream = reader(store)

    with pytest.raises(DataLost, match=f"was read up to log offset {10**15} and has"):
        stream.latestOffset({str(store): 10**15})
    with pytest.raises(DataLost, match="is not there any more; begin with a new checkpoint"):
        stream.latestOffset({"/nowhere": 9, **stream.initialOffset()})


def test_a_new_store_enters_with_its_first_record(golden: Golden, tmp_path: Path) -> None:
    shutil.copytree(golden.store("basic"), tmp_path / "a")
    stream = reader(tmp_path / "*")
    first, end = batch(stream, stream.initialOffset())
    shutil.copytree(golden.store("kinds"), tmp_path / "b")

    none, entered = batch(stream, end)
    rows, _ = batch(stream, entered)

    assert (len(first), none) == (len(log_of(tmp_path / "a")[1]), [])
    assert rows == log_of(tmp_path / "b")[1]


def test_what_cannot_be_streamed_is_refused(golden: Golden, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="a stream reads the table commitlog, not offsets"):
        RocketmqStore({"path": "x", "table": "offsets"}).streamReader(
            struct_of(schema_of("offsets", ("topic",)))
        )
    with pytest.raises(NotAStore, match="a stream reads stores with a commitlog folder"):
        reader(tmp_path).initialOffset()
    assert reading_of({"path": "x"}).table == "commitlog"


@pytest.mark.spark
def test_spark_streams_a_store(spark: SparkSession, golden: Golden, tmp_path: Path) -> None:
    store = golden.store("basic")
    stream = spark.readStream.format("rocketmq_store").option("columns", "topic,log_offset")

    query = stream.load(str(store)).writeStream.format("parquet").trigger(availableNow=True)
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
    run_to_end(lambda: query.start(str(tmp_path / "out")))

    assert spark.read.parquet(str(tmp_path / "out")).count() == len(records_in(store))
