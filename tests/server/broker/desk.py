"""A real broker on a loopback port with a small store, and a client to drive it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mqserver.broker.app import BrokerApp
from mqserver.broker.config import BrokerConfig
from mqserver.broker.serving.cold_reads import ColdReads
from mqserver.runtime.clock import Clock, SystemClock
from mqserver.store.commitlog.flush import FlushJob
from mqserver.store.store_config import FlushDiskType, StoreConfig
from mqserver.store.timer.timer_files import TimerFlush
from remoting.aio.client import RemotingClient
from remoting.bodies import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
    SubscriptionData,
)
from remoting.codes import RequestCode, SerializeType
from remoting.command import Command
from remoting.header import Header
from remoting.headers import (
    CreateTopic,
    EndTransaction,
    PullMessage,
    SendMessage,
    SendMessageV2,
    UpdateConsumerOffset,
)
from storefmt.formats.javahash import string_hash
from storefmt.formats.message import Record, decode_records
from tests.server.namesrv.desk import serving
from tests.waiting import until

GROUP = "G"
TOPIC = "T"
NO_THREADS = ColdReads(SystemClock())
"""Whoever reads with these waits for the disk."""


def store_config(root: Path, *, sync: bool = False) -> StoreConfig:
    """Return a store of small files in ``root``."""
    return StoreConfig(
        store_path_root_dir=root,
        mapped_file_size_commit_log=1 << 20,
        mapped_file_size_consume_queue=6_000,
        max_hash_slot_num=500,
        max_index_num=1_000,
        flush_disk_type=FlushDiskType.SYNC_FLUSH if sync else FlushDiskType.ASYNC_FLUSH,
        # Nor a slow disk like one that hangs.
        os_page_cache_busy_time_out_ms=60_000,
        sync_flush_timeout_ms=60_000,
    )


def broker_settings(root: Path, *, sync: bool = False, **settings: object) -> BrokerConfig:
    """Return the settings of a broker on a free loopback port."""
    values: dict[str, object] = {
        "broker_name": "broker-a",
        "broker_cluster_name": "TestCluster",
        "bind_address": "127.0.0.1",
        "broker_ip1": "127.0.0.1",
        "broker_ip2": "127.0.0.1",
        "listen_port": 0,
        # A busy machine must not look like an overloaded broker.
        "broker_fast_failure_enable": False,
        **settings,
    }
    return BrokerConfig(store=store_config(root, sync=sync), **values)  # type: ignore[arg-type]


@dataclass
class Desk:
    """A running broker and one client of it."""

    app: BrokerApp
    client: RemotingClient
    address: str
    pushed: list[Command] = field(default_factory=list)
    """Requests the broker sent to the client."""

    async def ask(
        self,
        code: int,
        header: Header | None = None,
        *,
        body: bytes = b"",
        serialize: SerializeType = SerializeType.JSON,
        timeout_s: float = 60.0,
    ) -> Command:
        """Send one request and return the answer, whatever its code."""
        command = Command.request(code, header, body=body)
        command.serialize = serialize
        return await self.client.invoke(self.address, command, timeout_s=timeout_s)

    async def create_topic(self, topic: str = TOPIC, *, queues: int = 1, perm: int = 6) -> None:
        answer = await self.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create(topic, queues, perm))
        assert answer.code == 0, answer

    async def send(self, body: bytes = b"hello", **changes: object) -> Command:
        """Send one message with code 310."""
        return await self.ask(RequestCode.SEND_MESSAGE_V2, send(**changes), body=body)

    async def pull(self, **changes: object) -> Command:
        return await self.ask(RequestCode.PULL_MESSAGE, pull(**changes))

    async def messages(self, **changes: object) -> list[Record]:
        """Return everything that pulls find from ``queue_offset`` (0) on."""
        found: list[Record] = []
        while (answer := await self.pull(**changes)).code == 0:
            found += decode_records(answer.body)
            changes["queue_offset"] = int(answer.ext["nextBeginOffset"])
        return found

    async def bodies(self, **changes: object) -> list[bytes]:
        """Return the bodies of what ``messages`` returns."""
        return [record.body for record in await self.messages(**changes)]

    async def commit(
        self, queue_offset: int, *, group: str = GROUP, topic: str = TOPIC, queue_id: int = 0
    ) -> Command:
        """Move a group in one queue."""
        header = UpdateConsumerOffset(
            consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=queue_offset
        )
        return await self.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header)

    async def heartbeat(self, *, topics: tuple[str, ...] = (TOPIC,), client_id: str = "c1") -> None:
        answer = await self.ask(RequestCode.HEART_BEAT, body=heartbeat(client_id, topics))
        assert answer.code == 0, answer


def create(topic: str, queues: int = 1, perm: int = 6) -> CreateTopic:
    return CreateTopic(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=queues,
        write_queue_nums=queues,
        perm=perm,
        topic_filter_type="SINGLE_TAG",
        topic_sys_flag=0,
    )


def send(**changes: object) -> SendMessageV2:
    """Return a send header as a Java client fills it."""
    fields: dict[str, object] = {
        "producer_group": "PG",
        "topic": TOPIC,
        "default_topic": "TBW102",
        "default_topic_queue_nums": 4,
        "queue_id": 0,
        "sys_flag": 0,
        "born_timestamp": 1_700_000_000_000,
        "flag": 0,
        "properties": "",
        "reconsume_times": 0,
        "unit_mode": False,
        "batch": False,
        **changes,
    }
    return SendMessageV2(**fields)  # type: ignore[arg-type]


def send_with_long_names(**changes: object) -> SendMessage:
    """Return the same header with the field names of code 10."""
    header = send(**changes)
    return SendMessage(**{name: getattr(header, name) for name in SendMessage.__slots__})


def end_transaction(
    log_offset: int, queue_offset: int, *, commit_or_rollback: int = 8, **changes: object
) -> EndTransaction:
    """Return the decision on the half message at a place: 8 commits it, and 12 rolls it back."""
    fields: dict[str, object] = {
        "producer_group": "PG",
        "tran_state_table_offset": queue_offset,
        "commit_log_offset": log_offset,
        "commit_or_rollback": commit_or_rollback,
        "msg_id": "K1",
        **changes,
    }
    return EndTransaction(**fields)  # type: ignore[arg-type]


def place_of(answer: Command) -> tuple[int, int]:
    """Return the log offset and the queue offset of a message that was stored."""
    assert answer.code == 0, answer
    return int(answer.ext["msgId"][16:], 16), int(answer.ext["queueOffset"])


def pull(**changes: object) -> PullMessage:
    """Return a pull header that carries its subscription and does not wait."""
    fields: dict[str, object] = {
        "consumer_group": GROUP,
        "topic": TOPIC,
        "queue_id": 0,
        "queue_offset": 0,
        "max_msg_nums": 32,
        "sys_flag": 4,
        "commit_offset": 0,
        "suspend_timeout_millis": 0,
        "subscription": "*",
        "sub_version": 0,
        "expression_type": "TAG",
        **changes,
    }
    return PullMessage(**fields)  # type: ignore[arg-type]


def subscription(topic: str, expression: str = "*", *, version: int = 1) -> SubscriptionData:
    tags = [] if expression == "*" else [tag.strip() for tag in expression.split("||")]
    return SubscriptionData(
        topic=topic,
        sub_string=expression,
        tags_set=tags,
        code_set=[string_hash(tag) for tag in tags],
        sub_version=version,
    )


def heartbeat(
    client_id: str = "c1",
    topics: tuple[str, ...] = (TOPIC,),
    *,
    group: str = GROUP,
    expression: str = "*",
    version: int = 1,
    model: MessageModel = MessageModel.CLUSTERING,
) -> bytes:
    """Return a heartbeat of one consumer group and one producer group."""
    return HeartbeatData(
        client_id=client_id,
        producer_data_set=[ProducerData(group_name="PG")],
        consumer_data_set=[
            ConsumerData(
                group_name=group,
                consume_type=ConsumeType.CONSUME_PASSIVELY,
                message_model=model,
                consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
                subscription_data_set=[
                    subscription(topic, expression, version=version) for topic in topics
                ],
            )
        ],
    ).encode()


@asynccontextmanager
async def running(
    root: Path,
    *,
    sync: bool = False,
    clock: Clock | None = None,
    config: BrokerConfig | None = None,
    **settings: object,
) -> AsyncIterator[Desk]:
    """Run a broker on ``root``; it is stopped in order at the end."""
    config = config or broker_settings(root, sync=sync, **settings)
    app = BrokerApp(config, clock or SystemClock())
    port = await app.start()
    pushed: list[Command] = []

    def on_request(address: str, command: Command) -> None:
        pushed.append(command)

    client = RemotingClient(on_request=on_request)
    try:
        yield Desk(app, client, f"127.0.0.1:{port}", pushed)
    finally:
        await client.close()
        await app.stop()


@asynccontextmanager
async def with_topic(root: Path, **settings: object) -> AsyncIterator[Desk]:
    """Run a broker on ``root`` that has the topic, with one queue."""
    async with running(root, **settings) as desk:  # type: ignore[arg-type]
        await desk.create_topic()
        yield desk


async def bodies_in(root: Path, **settings: object) -> list[bytes]:
    """Return the bodies that a broker finds which starts on a store."""
    async with running(root, **settings) as desk:  # type: ignore[arg-type]
        return await desk.bodies()


class HeldBack:
    """Jobs of one class, each of which begins and then waits until ``let_go``.

    Args:
        monkeypatch: undoes it at the end of the test.
        job: the class; its ``do_work`` is what a thread calls.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, job: type[FlushJob | TimerFlush]) -> None:
        self._began, self._may_end = threading.Event(), threading.Event()
        run = job.do_work

        def held(job: Any) -> None:
            self._began.set()
            assert self._may_end.wait(10)
            run(job)

        monkeypatch.setattr(job, "do_work", held)

    async def let_go_during_the_stop(self) -> None:
        """Wait until a job runs; let it end when the broker, told to stop now, waits for it."""
        await until(self._began.is_set, what="a job")
        # Long after the periodic tasks were told to end.
        asyncio.get_running_loop().call_later(0.5, self._may_end.set)


@asynccontextmanager
async def name_server(root: Path) -> AsyncIterator[str]:
    """Run a name server and yield its address."""
    async with serving(root) as (_, address):
        yield address
