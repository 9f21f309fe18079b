"""One store directory, opened in turn by the real broker and by ours.

    real -- stop --> ours -- stop --> real -- kill --> ours
    ours -- stop --> real -- stop --> ours -- kill --> real

Each opens what the other left, serves every message written so far byte for byte, finds
them by key, by id and by time, knows topics, groups and offsets, and appends more, over
the ends of commit log and consume queue files.
"""

import asyncio
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from remoting.bodies import MessageQueue
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from storefmt.formats.message import Record
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir
from tests.interop.kit.our_clients import dispatched, run, text_of
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, Side
from tests.waiting import until

TOPIC, GROUP = "Exchange", "ExchangeGroup"
QUEUE_COUNT, QUEUE_FILE_COUNT = 2, 1_000


@dataclass
class Written:
    """What was acknowledged so far.

    Attributes:
        records: by queue, in order, as first read.
        offsets: of the group, by queue.
    """

    records: dict[int, list[Record]] = field(default_factory=lambda: {0: [], 1: []})
    offsets: dict[int, int] = field(default_factory=dict)


def test_each_opens_what_the_other_left(
    sides: list[Side], namesrv: Namesrv, tmp_path: Path
) -> None:
    store, written = tmp_path / "store", Written()

    for number, side in enumerate([*sides, *sides]):
        broker = Broker(side, store=store, namesrv=namesrv.address).await_ready()
        # After a kill the real broker deletes index files that changed since the checkpoint,
        # and indexes again only what recovery reads (IndexService#load): old keys are lost.
        indexed = not (number == 3 and isinstance(side, JavaSide))
        try:
            check(namesrv, side, broker, written, indexed=indexed)
            append(namesrv, broker, written, seed=number)
            check(namesrv, side, broker, written, indexed=indexed)
        except BaseException:
            broker.kill()
            raise
        if number < 2:
            assert broker.stop() in (0, 143)
            assert not (store / "abort").exists()
            check_offline(store, tmp_path / f"copy{number}", written)
        else:
            # The next one has to recover; the last one has nothing more to show.
            broker.kill()
            assert (store / "abort").exists()


def append(namesrv: Namesrv, broker: Broker, written: Written, *, seed: int) -> None:
    """Write messages of all kinds, over the ends of files; note what was stored."""

    async def act(client: MQClient) -> None:
        admin, chooser = Admin(client), random.Random(seed)
        if not seed:
            await admin.create_topic(broker.address, TopicConfig(TOPIC, QUEUE_COUNT, QUEUE_COUNT))
            await admin.create_group(broker.address, SubscriptionGroup(GROUP, retry_max_times=3))
        producer = Producer(client, settings=ProducerSettings(compress_msg_body_over_howmuch=8_192))
        for i in range(120):
            queue = MessageQueue(TOPIC, broker.name, i % QUEUE_COUNT)
            body = chooser.randbytes(chooser.choice((1, 100, 8_000, 30_000)))
            message = Message(
                TOPIC,
                body,
                tags=chooser.choice((None, "TagA", "标签")),
                keys=[f"key-{seed}-{i}", f"all-{seed}"],
                flag=i,
                properties={"n": str(i), "Zürich": "中文"},
            )
            await producer.send(message, queue=queue)
        for number in range(3):
            batch = [Message(TOPIC, b"%d" % i, keys=f"b{seed}-{number}") for i in range(200)]
            await producer.send_batch(batch, queue=MessageQueue(TOPIC, broker.name, 1))
        count = {0: 60, 1: 660}
        for queue_id, before in written.records.items():
            before += await read(client, broker, queue_id, len(before), count[queue_id])
            written.offsets[queue_id] = len(before) - 7
            queue = MessageQueue(TOPIC, broker.name, queue_id)
            await admin.update_consumer_offset(
                broker.address, GROUP, queue, written.offsets[queue_id]
            )
        saved = broker.store / "config" / "consumerOffset.json"

        # Saved twice a second; a kill must not come before.
        await until(lambda: str(written.offsets[1]) in text_of(saved), what="saved offsets")
        await dispatched(client, broker.address)

    run(namesrv.address, act)


async def read(
    client: MQClient, broker: Broker, queue_id: int, first: int, count: int
) -> list[Record]:
    """Return ``count`` records of a queue from an offset on, waiting for the last ones."""
    consumer = PullConsumer(client, "EXCHANGE_READER")
    queue = MessageQueue(TOPIC, broker.name, queue_id)
    got: list[Record] = []
    async with asyncio.timeout(60):
        while len(got) < count:
            result = await consumer.pull(queue, queue_offset=first + len(got), suspend_ms=5_000)
            got += [message.record for message in result.messages]
    return got


def check(namesrv: Namesrv, side: Side, broker: Broker, written: Written, *, indexed: bool) -> None:
    """Assert that the broker has everything that was written so far."""

    async def act(client: MQClient) -> None:
        admin, chooser = Admin(client), random.Random(5)
        if not written.offsets:
            return
        for queue_id, records in written.records.items():
            queue = MessageQueue(TOPIC, broker.name, queue_id)
            assert await admin.min_offset(queue) == 0
            assert await admin.max_offset(queue) == len(records)
            served = await read(client, broker, queue_id, 0, len(records))
            assert served == records
            for record in chooser.sample(records, 10):
                viewed = await admin.view_message_at(broker.address, record.log_offset)
                assert viewed.record == record
                if indexed:
                    await found_by_key(admin, written, record)
                near = await admin.search_offset(queue, record.store_ms)
                late = near in late_starts(side, record)
                assert late or records[near].store_ms == record.store_ms
        offsets = await admin.all_consumer_offsets(broker.address)
        topics = (await admin.topic_configs(broker.address)).topics
        groups = (await admin.subscription_groups(broker.address)).groups
        assert offsets[TOPIC, GROUP] == written.offsets
        assert topics[TOPIC] == TopicConfig(TOPIC, QUEUE_COUNT, QUEUE_COUNT)
        assert groups[GROUP] == SubscriptionGroup(GROUP, retry_max_times=3)

    run(namesrv.address, act)


def late_starts(side: Side, record: Record) -> set[int]:
    """Return where the real broker may land too late when it looks for the time of a record.

    It takes the first queue file whose time of modification is not before the time it looks
    for (MappedFileQueue#getMappedFileByTime). The kernel stamps a mapped file when a page of
    it becomes dirty, by a clock of some milliseconds: its last records seem to be younger.
    """
    if not isinstance(side, JavaSide):
        return set()
    return {(record.queue_offset // QUEUE_FILE_COUNT + 1) * QUEUE_FILE_COUNT}


async def found_by_key(admin: Admin, written: Written, record: Record) -> None:
    """Assert that a record is found by its first key and by its unique id."""
    (by_id,) = await admin.query_message(TOPIC, record.unique_key or "", unique=True)
    assert by_id.record == record
    key = record.keys[0]
    every = [r for records in written.records.values() for r in records if key in r.keys]
    by_key = await admin.query_message(TOPIC, key, count_max=32)
    assert {message.log_offset for message in by_key} <= {r.log_offset for r in every}
    # A broker gives 32 at most, the newest ones.
    assert len(by_key) == min(len(every), 32)


def check_offline(store: Path, copy: Path, written: Written) -> None:
    """Assert that our offline reader finds the same in the directory, and nothing wrong."""
    shutil.copytree(store, copy)
    opened = StoreDir.open(copy)

    report = verify(opened, deep=True)

    assert report.findings == []
    total = sum(len(records) for records in written.records.values())
    assert report.records >= total
    assert opened.offsets()[TOPIC, GROUP] == written.offsets
