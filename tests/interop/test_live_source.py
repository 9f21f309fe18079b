"""The live source against the real broker and ours: rows are those of the broker's own store."""

import pyarrow as pa
import pytest

from mqspark.errors import BadOption
from mqspark.schemas import LIVE
from mqspark.sources.live.plan import Range
from mqspark.sources.live.queues import ask_brokers, batch_tasks
from mqspark.sources.live.read import read_ranges
from mqspark.sources.store.log_tables import plan_log, read_log
from mqspark.sources.store.reading import ReadOptions
from remoting.bodies import MessageQueue
from storefmt.arrow.columns import SCHEMA
from tests.interop.kit.servers import Servers
from tests.mqspark.livetopics import fill, live, make

COUNT = 150
COLUMNS = tuple(name for name in SCHEMA.names if name != "file")


def test_rows_are_those_of_the_store(servers: Servers) -> None:
    namesrv, topic = servers.namesrv.address, "LiveRows"
    make(namesrv, topic)
    fill(namesrv, topic, COUNT, size=3_000)
    asked = live(namesrv, subscribe=topic, columns=",".join(COLUMNS), minPartitions="5")

    found = pa.Table.from_batches(
        [b for task in ask_brokers(asked, batch_tasks) for b in read_ranges(asked, task)],
        schema=pa.schema([LIVE.field(name) for name in COLUMNS]),
    )

    reading = ReadOptions(columns=COLUMNS, decompress=True)
    store = servers.broker.store
    stored = pa.Table.from_batches(
        [batch for split in plan_log(store, reading) for batch in read_log(split, reading)]
    ).filter(pa.compute.equal(pa.compute.field("topic"), topic))
    assert found.num_rows == COUNT
    assert found.sort_by("log_offset").equals(stored.sort_by("log_offset"))


def test_edges_and_filters_mean_the_same_on_both(servers: Servers) -> None:
    namesrv, topic = servers.namesrv.address, "LiveEdges"
    make(namesrv, topic)
    fill(namesrv, topic, COUNT)
    columns = "queue_id,queue_offset,store_timestamp,tags,properties"

    def rows(**options: str) -> list[dict]:
        asked = live(namesrv, subscribe=topic, columns=columns, **options)
        batches = [b for task in ask_brokers(asked, batch_tasks) for b in read_ranges(asked, task)]
        return [row for batch in batches for row in batch.to_pylist()]

    every = rows()
    moment = sorted(row["store_timestamp"] for row in every)[COUNT // 2]
    text = str(round(moment.timestamp() * 1000))

    later = rows(startingTimestamp=text, startingOffsetsByTimestampStrategy="latest")
    tagged = rows(filterExpression="TagB")
    red = rows(filterExpression="colour = 'red'", filterType="SQL92")

    assert later == [row for row in every if row["store_timestamp"] >= moment]
    assert tagged == [row for row in every if row["tags"] == "TagB"]
    assert red == [row for row in every if dict(row["properties"])["colour"] == "red"]
    assert all((len(later), len(tagged), len(red)))


def test_a_filter_that_the_broker_cannot_read_is_an_error(servers: Servers) -> None:
    namesrv, topic = servers.namesrv.address, "LiveFilters"
    make(namesrv, topic)
    fill(namesrv, topic, 5)
    wrong = live(namesrv, subscribe=topic, filterExpression="colour >>> 3", filterType="SQL92")

    with pytest.raises(BadOption, match=r"filterExpression is 'colour >>> 3', which .* refuses"):
        ask_brokers(wrong, batch_tasks)
    # In a pull both brokers ignore it, which is why it is asked about before.
    tasks = ask_brokers(wrong._replace(filter="*", filter_kind="TAG"), batch_tasks)
    rows = [batch for task in tasks for batch in read_ranges(wrong, task)]
    assert sum(batch.num_rows for batch in rows) == 5


def test_what_the_broker_does_not_have_is_told(servers: Servers) -> None:
    namesrv, topic = servers.namesrv.address, "LiveLost"
    broker = make(namesrv, topic)
    fill(namesrv, topic, 30)
    asked = live(namesrv, subscribe=topic, columns="queue_offset")
    beyond = [Range(MessageQueue(topic, broker, 0), 5, 15)]

    lenient = asked._replace(fail_on_data_loss=False)
    assert sum(batch.num_rows for batch in read_ranges(lenient, beyond)) == 5
    with pytest.raises(Exception, match=f"{topic}@{broker}@0: messages 10 up to 15"):
        list(read_ranges(asked, beyond))
