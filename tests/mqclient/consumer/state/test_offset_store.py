"""Offsets in a file with the bytes of the Java client, and offsets at a broker."""

from pathlib import Path

import pytest

from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient, local_ip
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.state.offset_store import LocalOffsets, RemoteOffsets
from mqclient.errors import BadAnswer, BrokerRefused
from remoting.bodies import MessageModel, MessageQueue
from remoting.codes import RequestCode, ResponseCode
from remoting.headers import QueryConsumerOffsetResponse
from tests.mqclient.fake import serving

BROADCASTING = PushSettings(message_model=MessageModel.BROADCASTING)
QUEUES = [MessageQueue(f"Topic{i % 3}", f"broker-{'ab'[i % 2]}", i) for i in range(5)]
# Printed by LocalFileOffsetStore of 4.9.7 for the same table.
OF_JAVA = (
    b'{\n\t"offsetTable":{{\n\t\t\t"brokerName":"broker-b",\n\t\t\t"queueId":3,'
    b'\n\t\t\t"topic":"Topic0"\n\t\t}:21,{\n\t\t\t"brokerName":"broker-a",\n\t\t\t"queueId":4,'
    b'\n\t\t\t"topic":"Topic1"\n\t\t}:28,{\n\t\t\t"brokerName":"broker-a",\n\t\t\t"queueId":0,'
    b'\n\t\t\t"topic":"Topic0"\n\t\t}:0,{\n\t\t\t"brokerName":"broker-b",\n\t\t\t"queueId":1,'
    b'\n\t\t\t"topic":"Topic1"\n\t\t}:7,{\n\t\t\t"brokerName":"broker-a",\n\t\t\t"queueId":2,'
    b'\n\t\t\t"topic":"Topic2"\n\t\t}:14\n\t}\n}'
)


def filled(directory: Path) -> LocalOffsets:
    store = LocalOffsets("10.0.0.1@one", "G", directory=directory)
    for i, queue in enumerate(QUEUES):
        store.update(queue, i * 7, increase_only=True)
    return store


async def test_file_has_the_bytes_and_the_place_of_java(tmp_path: Path) -> None:
    store = filled(tmp_path)

    await store.persist(QUEUES)

    assert store.path == tmp_path / "10.0.0.1@one" / "G" / "offsets.json"
    assert store.path.read_bytes() == OF_JAVA


@pytest.mark.parametrize(
    ("instance_name", "unit_name", "member"),
    [
        (None, None, "DEFAULT"),
        ("cache", "", "cache"),
        (None, "unit", "DEFAULT@unit"),
        ("cache", "unit", "cache@unit"),
        (None, " ", "DEFAULT"),
    ],
)
def test_each_group_of_a_member_has_the_file_that_java_gives_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    instance_name: str | None,
    unit_name: str | None,
    member: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in ("started", "started again"):
        names = ClientSettings(instance_name=instance_name, unit_name=unit_name)
        client = MQClient("127.0.0.1:1", names)
        for group in ("one", "two"):
            consumer = PushConsumer(client, group, BROADCASTING)
            store = consumer._state.offsets
            assert isinstance(store, LocalOffsets)
            home = tmp_path / ".rocketmq_offsets" / f"{local_ip()}@{member}"
            assert store.path == home / group / "offsets.json"


async def test_two_writers_of_one_file_leave_a_whole_one(tmp_path: Path) -> None:
    one, two = filled(tmp_path), filled(tmp_path)

    for store in (one, two, one):
        await store.persist(QUEUES)

    assert one.path.read_bytes() == OF_JAVA
    assert sorted(path.name for path in one.path.parent.iterdir()) == [
        "offsets.json",
        "offsets.json.bak",
    ]


async def test_positions_come_back_after_a_restart_and_removing_keeps_them(tmp_path: Path) -> None:
    await filled(tmp_path).persist(QUEUES)

    again = LocalOffsets("10.0.0.1@one", "G", directory=tmp_path)
    again.remove(QUEUES[4])

    assert [await again.read(queue) for queue in QUEUES] == [0, 7, 14, 21, 28]


async def test_keeping_one_queue_keeps_all_and_keeping_none_writes_nothing(tmp_path: Path) -> None:
    store = filled(tmp_path)

    await store.persist([])
    assert not store.path.exists()
    await store.persist(QUEUES[:1])

    assert store.path.read_bytes() == OF_JAVA


async def test_backup_is_the_file_before_and_is_read_when_the_file_is_damaged(
    tmp_path: Path,
) -> None:
    store = filled(tmp_path)
    await store.persist(QUEUES)
    store.update(QUEUES[1], 100, increase_only=True)
    await store.persist(QUEUES)
    backup = store.path.with_name("offsets.json.bak")

    assert backup.read_bytes() == OF_JAVA
    store.path.write_bytes(b'{"offsetTable":{{')
    again = LocalOffsets("10.0.0.1@one", "G", directory=tmp_path)
    assert again.known(QUEUES[1]) == 7
    backup.write_bytes(b"")
    with pytest.raises(BadAnswer, match=r"nor its \.bak"):
        LocalOffsets("10.0.0.1@one", "G", directory=tmp_path)


def test_increase_only_keeps_a_late_result_from_going_back(tmp_path: Path) -> None:
    store = filled(tmp_path)

    store.update(QUEUES[4], 3, increase_only=True)
    assert store.known(QUEUES[4]) == 28
    store.update(QUEUES[4], 3, increase_only=False)

    assert store.table("Topic1") == {QUEUES[1]: 7, QUEUES[4]: 3}


async def test_broker_keeps_positions_and_a_removed_one_is_not_told() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.UPDATE_CONSUMER_OFFSET)
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, ResponseCode.QUERY_NOT_FOUND)
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, header=QueryConsumerOffsetResponse(offset=5))
        store = RemoteOffsets(client, "G")
        first, second = (MessageQueue("T", "broker-0", i) for i in range(2))
        assert await store.read(first) is None
        assert await store.read(first) == 5
        store.update(first, 9, increase_only=True)
        store.update(second, 9, increase_only=True)
        store.remove(second)
        await store.persist([first, second], sure=True)
        told = fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET)
        assert [(each.ext["queueId"], each.ext["commitOffset"]) for each in told] == [("0", "9")]


async def test_a_refusal_is_raised_after_the_others_were_told() -> None:
    async with serving() as (fake, client):
        fake.say(RequestCode.UPDATE_CONSUMER_OFFSET, ResponseCode.SYSTEM_ERROR)
        fake.say(RequestCode.UPDATE_CONSUMER_OFFSET)
        store = RemoteOffsets(client, "G")
        queues = [MessageQueue("T", "broker-0", i) for i in range(2)]
        for queue in queues:
            store.update(queue, 1, increase_only=True)
        with pytest.raises(BrokerRefused):
            await store.persist(queues, sure=True)
        assert len(fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET)) == 2
