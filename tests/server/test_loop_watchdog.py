"""No request holds the loop: the longest callback that its worst allowed input needs, as CPU time.

    calibration    a loop in Python that takes some 20 ms here, however fast this machine is
    request        the worst input that limits allow -> CPU time of the longest callback

    calls of the disk that change files: none of them is made by a callback

Rule: time is that of the server's own thread (``thread_time``), held against the calibration of
the same moment, the best of some tries: neither other processes nor the disk count. Every request
code that is handled is in a table, with its input; a code that is not there fails.
"""

import asyncio
import gc
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import pytest

from mqserver.broker import handlers
from mqserver.broker.acl.user_access import UserAccess
from mqserver.broker.app import BrokerApp
from mqserver.broker.clients.members import ConsumerGroup, GroupMember
from mqserver.broker.filters.sql import OPERANDS_MAX
from mqserver.broker.handlers.clients import SUBSCRIPTIONS_MAX
from mqserver.broker.pull.pull_check import TAGS_SIZE_MAX
from mqserver.broker.send.batches import RUN_COUNT_MAX
from mqserver.broker.topics import topic_config
from mqserver.namesrv import handlers as namesrv_handlers
from mqserver.namesrv.app import NamesrvApp
from mqserver.namesrv.namesrv_config import NamesrvConfig
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.program.event_loop import ServerLoop
from mqserver.runtime.registry import collect
from remoting.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from remoting.codes import ExtensionCode, LaterCode, RequestCode
from remoting.command import Command
from remoting.frame import FRAME_SIZE_MAX, FrameReader, decode_frame, encode_frame
from storefmt.config.tables import SubscriptionGroup
from storefmt.formats.batch import BatchEntry, join_batch
from storefmt.formats.javahash import index_key_hash
from tests.server.broker.desk import broker_settings
from tests.server.doubles import FakeConn
from tests.server.loop_calls import LoopCalls, without_compiled_thread

T = TypeVar("T")
TRIES: Final = 7
HELD_LOAD: Final = 1.5
"""The load at which a test fails; it is more than 1 for machines with slow memory."""
CALIBRATION_COUNT: Final = 300_000
"""Turns of the calibration loop, which take some 20 ms."""
TOPIC_COUNT: Final = 5_000
QUEUE_COUNT: Final = 8_192
MEMBER_COUNT: Final = 5_000
USER_COUNT: Final = 5_000
LARGE_COUNT: Final = 32
"""Messages of 4 MiB with one key."""
CHAIN_COUNT: Final = 200_000
"""Entries of the index in one slot."""
FIRST_FILE: Final = {f"{call} commitlog" for call in ("mkdir", "open", "allocate", "fsync_dir")} | {
    "fsync_dir store"
}
"""What the loop does for the first file of an empty log, which nothing could make ahead."""
LONG_MAX: Final = 2**63 - 1
WIDE: Final = "Wide"
"""A topic with very many queues."""
FILLED: Final = "Filled"
"""A topic with messages, all with one key."""
GROUP: Final = "G"

EXT: Final[Mapping[str, str]] = {
    "topic": FILLED, "consumerGroup": GROUP, "group": GROUP, "producerGroup": "PG",
    "groupName": GROUP, "clientId": "c1", "clientID": "c1", "queueId": "0", "queueOffset": "0",
    "offset": "0", "timestamp": "0", "maxNum": "2147483647", "maxMsgNums": "2147483647",
    "key": "k", "beginTimestamp": "0", "endTimestamp": str(LONG_MAX), "sysFlag": "4",
    "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "1",
    "expressionType": "TAG", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4",
    "readQueueNums": "65536", "writeQueueNums": "65536", "perm": "6",
    "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false", "bornTimestamp": "1",
    "flag": "0", "properties": "", "reconsumeTimes": "0", "unitMode": "false", "batch": "false",
    "index": "0", "count": "2147483647", "isForce": "true", "isOrder": "false",
    "statsName": "TOPIC_PUT_NUMS", "statsKey": FILLED, "compareGroup": GROUP, "filterGroups": "",
    "srcGroup": GROUP, "destGroup": "H", "offline": "true", "delayLevel": "1",
    "originMsgId": "7F00000100002A9F0000000000000000", "msgId": "7F00000100002A9F0000000000000000",
    "originTopic": FILLED, "maxReconsumeTimes": "16", "tranStateTableOffset": "0",
    "commitLogOffset": "0", "commitOrRollback": "8", "fromTransactionCheck": "false",
    "removeOffset": "true", "filterServerAddr": "127.0.0.1:9000", "className": "C", "classCRC": "0",
    "accessKey": "a", "secretKey": "s", "admin": "false", "globalWhiteAddrs": "1.1.1.1",
    "namespace": "N", "value": "v" * 60_000, "cluster": "C", "brokerName": "broker-a",
    "brokerAddr": "127.0.0.1:10911", "clusterName": "C", "haServerAddr": "127.0.0.1:10912",
    "brokerId": "0", "bodyCrc32": "0", "compressed": "false", "role": "ASYNC_MASTER",
    "force": "false", "consumeMessageDirectly": "false", "jstackEnable": "false",
}  # fmt: skip
"""A value for every field that a header may have; each header reads the fields that it has."""


@dataclass(frozen=True)
class Ask:
    """One request: what differs from ``EXT``, and its body."""

    ext: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_answered: bool = True


class Server:
    """A server in a thread of its own, whose callbacks are timed."""

    def __init__(self) -> None:
        self.longest_ns = 0
        # Work takes as long on uvloop, whose callbacks cannot be timed one by one.
        self._loop = ServerLoop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._opaques = itertools.count(1)
        self._socket: socket.socket | None = None
        self._reader = FrameReader(header_size_max=FRAME_SIZE_MAX)

    def run(self, work: Callable[[], T]) -> T:
        """Run a function in the server's thread."""

        async def call() -> T:
            return work()

        return self.wait(call())

    def wait(self, work: Coroutine[object, object, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(60)

    def connect(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)

    def stop(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, code: int, ask: Ask) -> Command | None:
        """Send one request and wait for its answer."""
        command = Command(code=int(code), opaque=next(self._opaques), body=ask.body, version=407)
        command.ext, command.ext_written = {**EXT, **ask.ext}, True
        after = Command(code=-1, opaque=next(self._opaques), version=407)
        self._socket.sendall(encode_frame(command))
        if not ask.is_answered:
            # A broker answers a code without a handler once everything before it was read.
            self._socket.sendall(encode_frame(after))
        wanted = command.opaque if ask.is_answered else after.opaque
        while True:
            for raw in self._reader.feed(self._socket.recv(1 << 20)):
                answer = decode_frame(raw)
                if answer.is_response and answer.opaque == wanted:
                    return answer

    def timed(self, run: Callable[[asyncio.Handle], None]) -> Callable[[asyncio.Handle], None]:
        def timed(handle: asyncio.Handle) -> None:
            if threading.current_thread() is not self._thread:
                run(handle)
                return
            began = time.thread_time_ns()
            run(handle)
            self.longest_ns = max(self.longest_ns, time.thread_time_ns() - began)

        return timed


def calibration_ns() -> int:
    """Return the CPU time of a loop that takes some 20 ms on an ordinary machine."""
    found = []
    for _ in range(3):
        began, total = time.thread_time_ns(), 0
        for number in range(CALIBRATION_COUNT):
            total += number & 7
        found.append(time.thread_time_ns() - began)
    return min(found)


def load_of(server: Server, code: int, asks: Iterator[Ask]) -> float:
    """Return the longest callback of one request, in units of the calibration."""
    loads = []
    for ask in itertools.islice(asks, TRIES):
        limit_ns = calibration_ns()
        server.run(lambda: setattr(server, "longest_ns", 0))
        server.ask(code, ask)
        # The answer may come before the callback that sent it has ended.
        server.run(lambda: None)
        loads.append(server.longest_ns / limit_ns)
        if loads[-1] < HELD_LOAD:
            break
    return min(loads)


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    server = Server()
    monkeypatch.setattr(asyncio.Handle, "_run", server.timed(asyncio.Handle._run))
    gc.collect()
    # A garbage collection would count for the callback that happens to run.
    gc.disable()
    try:
        yield server
    finally:
        gc.enable()
        server.stop()


# Bodies.


def text(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def told(**fields: object) -> Ask:
    """Return a request with a body of these fields."""
    return Ask(body=text(fields))


def queues(count: int) -> list[dict[str, object]]:
    return [{"brokerName": "broker-a", "queueId": i, "topic": WIDE} for i in range(count)]


def subscriptions(count: int, **more: object) -> list[dict[str, object]]:
    return [
        {
            "classFilterMode": False, "codeSet": [], "expressionType": "TAG", "subString": "*",
            "subVersion": 1, "tagsSet": [], "topic": f"t{i}", **more,
        }
        for i in range(count)
    ]  # fmt: skip


def heartbeat(group_count: int, subscription_count: int, **more: object) -> bytes:
    consumers = [
        {
            "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "consumeType": "CONSUME_PASSIVELY",
            "groupName": f"H{i}", "messageModel": "CLUSTERING", "unitMode": False,
            "subscriptionDataSet": subscriptions(subscription_count, **more),
        }
        for i in range(group_count)
    ]  # fmt: skip
    producers = [{"groupName": f"P{i}"} for i in range(group_count)]
    return text({"clientID": "c", "consumerDataSet": consumers, "producerDataSet": producers})


def costly(salt: int) -> str:
    """Return an expression that looks at all of its operands, for each message."""
    return " OR ".join(["a > b"] * (OPERANDS_MAX // 2 - 1)) + f" OR a = {salt}"


def many_tags(salt: int) -> str:
    """Return as many tags as a pull may carry."""
    return "||".join(f"{salt + number:x}" for number in range(TAGS_SIZE_MAX))[:TAGS_SIZE_MAX]


def topic_rows(count: int) -> dict[str, object]:
    return {
        f"topic{i}": {
            "order": False, "perm": 6, "readQueueNums": 4, "topicFilterType": "SINGLE_TAG",
            "topicName": f"topic{i}", "topicSysFlag": 0, "writeQueueNums": 4,
        }
        for i in range(count)
    }  # fmt: skip


def registration(version: int) -> bytes:
    wrapper = {
        "dataVersion": {"counter": version, "timestamp": version},
        "topicConfigTable": topic_rows(50_000),
    }
    return text({"filterServerList": [], "topicConfigSerializeWrapper": wrapper})


class Deaf(FakeConn):
    """A connection that drops what it is sent, because thousands of members get large frames."""

    def send(self, data: bytes) -> None:
        """Drop it."""


BIG_BODY: Final = b"x" * (4 << 20)
PROPERTIES: Final = "\2".join(f"{i:x}\1{i}" for i in range(3_000))
LOCKS: Final = told(clientId="c1", consumerGroup=GROUP, mqSet=queues(18_000))
TOO_MANY_LOCKS: Final = told(clientId="c1", consumerGroup=GROUP, mqSet=queues(100_000))
ON_WIDE: Final = Ask({"topic": WIDE})
LARGE_USER: Final = Ask({"username": "u"}, text({"username": "u", "unknown": ["x"] * 100_000}))
RULES: Final = [
    {"resource": f"Topic:t{i}", "actions": ["Pub"], "decision": "Allow"} for i in range(9_000)
]
MANY_RULES: Final = Ask({}, text({"subject": "User:u", "policies": [{"entries": RULES}]}))
SEND: Final = Ask({"properties": PROPERTIES, "sysFlag": "0"}, BIG_BODY)
SEND_V2: Final = Ask(
    {
        "a": "PG", "b": FILLED, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0",
        "i": PROPERTIES, "j": "0", "k": "false", "l": "16", "m": "false",
    },
    BIG_BODY,
)  # fmt: skip

POP: Final = {
    "queueId": "-1", "maxMsgNums": "32", "invisibleTime": "60000", "pollTime": "0",
    "bornTime": "0", "initMode": "0",
}  # fmt: skip
HANDLE: Final = {"extraInfo": "0 1 60000 0 0 broker-a 0 0", "invisibleTime": "60000"}
BATCH_ACKS: Final = told(
    brokerName="broker-a",
    acks=[
        {
            "b": "/////w==", "c": GROUP, "it": 60_000, "pt": number, "q": 0, "r": "0",
            "rq": 0, "so": 0, "t": FILLED,
        }
        for number in range(5_000)
    ],
)  # fmt: skip

SMALL_BATCH: Final = join_batch([BatchEntry(flag=0, body=b"x", properties=b"")] * RUN_COUNT_MAX)

LARGE_BATCH: Final = join_batch([BatchEntry(flag=0, body=b"x", properties=b"KEYS\1k")] * 20_000)

R = RequestCode
Input = Ask | Callable[[int], Ask]
"""A request, or what makes another one of each number."""
BROKER: Final[dict[int, Input | tuple[Input, ...]]] = {
    R.SEND_MESSAGE: SEND,
    R.SEND_MESSAGE_V2: SEND_V2,
    R.SEND_BATCH_MESSAGE: (
        Ask({**SEND_V2.ext, "i": "", "m": "true"}, SMALL_BATCH),
        Ask({**SEND_V2.ext, "i": "", "m": "true"}, LARGE_BATCH),
        Ask({**SEND_V2.ext, "i": "", "m": "true"}, LARGE_BATCH + b"x"),
    ),
    R.SEND_REPLY_MESSAGE: SEND,
    R.SEND_REPLY_MESSAGE_V2: SEND_V2,
    R.PULL_MESSAGE: lambda salt: Ask({"expressionType": "SQL92", "subscription": costly(salt)}),
    LaterCode.LITE_PULL_MESSAGE: lambda salt: Ask({"subscription": many_tags(salt)}),
    R.QUERY_MESSAGE: (Ask(), Ask({"key": "large"})),
    R.QUERY_CONSUMER_OFFSET: Ask({"consumerGroup": "new"}),
    R.UPDATE_CONSUMER_OFFSET: Ask(body=BIG_BODY),
    R.UPDATE_AND_CREATE_TOPIC: lambda salt: Ask({"topic": f"new{salt}"}),
    R.GET_ALL_TOPIC_CONFIG: Ask(),
    R.UPDATE_BROKER_CONFIG: Ask(body=b"a=b\n" * 100_000),
    R.GET_BROKER_CONFIG: Ask(),
    R.GET_BROKER_RUNTIME_INFO: Ask(),
    R.SEARCH_OFFSET_BY_TIMESTAMP: Ask(),
    R.GET_MAX_OFFSET: Ask(body=BIG_BODY),
    R.GET_MIN_OFFSET: Ask(body=BIG_BODY),
    R.GET_EARLIEST_MSG_STORETIME: Ask(),
    R.VIEW_MESSAGE_BY_ID: Ask(),
    R.HEART_BEAT: (
        lambda salt: Ask(body=heartbeat(1_000, 10, subVersion=salt)),
        lambda salt: Ask(body=heartbeat(4, SUBSCRIPTIONS_MAX, subVersion=salt)),
        lambda salt: Ask(body=heartbeat(1, 20_000, subVersion=salt)),
    ),
    R.UNREGISTER_CLIENT: Ask(),
    R.CONSUMER_SEND_MSG_BACK: Ask(),
    R.END_TRANSACTION: Ask(),
    R.GET_CONSUMER_LIST_BY_GROUP: Ask(),
    R.LOCK_BATCH_MQ: (LOCKS, TOO_MANY_LOCKS),
    R.UNLOCK_BATCH_MQ: (LOCKS, TOO_MANY_LOCKS),
    R.GET_ALL_CONSUMER_OFFSET: Ask(),
    R.GET_ALL_DELAY_OFFSET: Ask(),
    R.CHECK_CLIENT_CONFIG: lambda salt: told(
        clientId="c1",
        group=GROUP,
        subscriptionData=subscriptions(1, subString=costly(salt), expressionType="SQL92")[0],
    ),
    R.UPDATE_AND_CREATE_ACL_CONFIG: Ask(),
    R.DELETE_ACL_CONFIG: Ask(),
    R.GET_BROKER_CLUSTER_ACL_INFO: Ask(),
    R.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: Ask(),
    R.GET_BROKER_CLUSTER_ACL_CONFIG: Ask(),
    R.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: lambda salt: told(
        groupName=f"new{salt}", unknown=["x"] * 100_000
    ),
    R.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Ask(),
    R.GET_TOPIC_STATS_INFO: ON_WIDE,
    R.GET_CONSUMER_CONNECTION_LIST: Ask(),
    R.GET_PRODUCER_CONNECTION_LIST: Ask(),
    R.DELETE_SUBSCRIPTIONGROUP: lambda salt: Ask({"groupName": f"group{salt}"}),
    R.GET_CONSUME_STATS: ON_WIDE,
    R.DELETE_TOPIC_IN_BROKER: lambda salt: Ask({"topic": f"topic{salt}"}),
    R.INVOKE_BROKER_TO_RESET_OFFSET: ON_WIDE,
    R.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: (Ask({"clientAddr": "c1"}), Ask()),
    R.QUERY_TOPIC_CONSUME_BY_WHO: ON_WIDE,
    R.REGISTER_FILTER_SERVER: Ask(),
    R.REGISTER_MESSAGE_FILTER_CLASS: Ask(body=BIG_BODY),
    R.QUERY_CONSUME_TIME_SPAN: ON_WIDE,
    R.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: Ask(),
    R.CLEAN_EXPIRED_CONSUMEQUEUE: Ask(),
    R.GET_CONSUMER_RUNNING_INFO: Ask({"clientId": "nobody"}),
    R.QUERY_CORRECTION_OFFSET: ON_WIDE,
    R.CONSUME_MESSAGE_DIRECTLY: Ask({"clientId": "nobody"}),
    R.CLONE_GROUP_OFFSET: Ask({"topic": ""}),
    R.VIEW_BROKER_STATS_DATA: Ask(),
    R.GET_BROKER_CONSUME_STATS: Ask(),
    R.QUERY_CONSUME_QUEUE: Ask(),
    R.RESUME_CHECK_HALF_MESSAGE: Ask(),
    R.GET_ALL_PRODUCER_INFO: Ask(),
    R.DELETE_EXPIRED_COMMITLOG: Ask(),
    ExtensionCode.GET_LOCK_TABLE: Ask(),
    ExtensionCode.GET_OPEN_TRANSACTIONS: Ask(),
    ExtensionCode.PROMOTE_SLAVE: Ask(),
    ExtensionCode.GET_EPOCH: Ask(ext={"challenge": "1"}),
    ExtensionCode.DEMOTE_MASTER: Ask(ext={"brokerId": "1"}),
    R.CLEAN_UNUSED_TOPIC: Ask(),
    LaterCode.POP_MESSAGE: (
        lambda salt: Ask({**POP, "expType": "SQL92", "exp": costly(salt)}),
        Ask({**POP, "topic": WIDE}),
        Ask(POP),
    ),
    LaterCode.PEEK_MESSAGE: (Ask({**POP, "topic": WIDE}), Ask(POP)),
    LaterCode.NOTIFICATION: Ask({**POP, "topic": WIDE}),
    LaterCode.POLLING_INFO: ON_WIDE,
    LaterCode.ACK_MESSAGE: Ask(HANDLE),
    LaterCode.CHANGE_MESSAGE_INVISIBLETIME: Ask(HANDLE),
    LaterCode.BATCH_ACK_MESSAGE: BATCH_ACKS,
    LaterCode.QUERY_ASSIGNMENT: told(
        topic=WIDE,
        consumerGroup=GROUP,
        clientId="c1",
        strategyName="AVG_BY_CIRCLE",
        messageModel="BROADCASTING",
    ),
    LaterCode.SET_MESSAGE_REQUEST_MODE: lambda salt: told(
        topic=FILLED, consumerGroup=f"g{salt}", mode="POP", unknown=["x"] * 100_000
    ),
    LaterCode.GET_ALL_MESSAGE_REQUEST_MODE: Ask(),
    LaterCode.RECALL_MESSAGE: Ask({"recallHandle": "A" * 60_000}),
    LaterCode.EXCHANGE_BROKER_HA_INFO: Ask({"masterHaAddress": "1.2.3.4:10912"}),
    LaterCode.GET_BROKER_HA_STATUS: Ask(),
    LaterCode.RESET_MASTER_FLUSH_OFFSET: Ask({"masterFlushOffset": "9"}),
    LaterCode.GET_BROKER_EPOCH_CACHE: Ask(),
    LaterCode.NOTIFY_BROKER_ROLE_CHANGED: Ask({"masterEpoch": "9", "syncStateSetEpoch": "9"}),
    LaterCode.GET_TIMER_CHECK_POINT: Ask(),
    LaterCode.GET_TIMER_METRICS: Ask(),
    LaterCode.GET_TOPIC_CONFIG: Ask(),
    LaterCode.GET_SUBSCRIPTIONGROUP_CONFIG: Ask({"group": GROUP}),
}
USERS: Final[dict[int, Input | tuple[Input, ...]]] = {
    LaterCode.AUTH_CREATE_USER: LARGE_USER,
    LaterCode.AUTH_UPDATE_USER: LARGE_USER,
    LaterCode.AUTH_GET_USER: Ask({"username": "u"}),
    LaterCode.AUTH_LIST_USER: Ask(),
    LaterCode.AUTH_CREATE_ACL: MANY_RULES,
    LaterCode.AUTH_UPDATE_ACL: MANY_RULES,
    LaterCode.AUTH_GET_ACL: Ask({"subject": "User:u"}),
    LaterCode.AUTH_LIST_ACL: Ask(),
    LaterCode.AUTH_DELETE_ACL: Ask({"subject": "User:u"}),
    LaterCode.AUTH_DELETE_USER: Ask({"username": "u"}),
}
NAMESRV: Final[dict[int, Input | tuple[Input, ...]]] = {
    R.REGISTER_BROKER: lambda salt: Ask(body=registration(salt)),
    R.PUT_KV_CONFIG: lambda salt: Ask({"key": f"k{salt}"}),
    R.GET_KV_CONFIG: Ask(),
    R.GET_KVLIST_BY_NAMESPACE: Ask(),
    R.DELETE_KV_CONFIG: Ask({"key": "k1"}),
    R.GET_ROUTEINFO_BY_TOPIC: Ask({"topic": "topic1"}),
    R.GET_BROKER_CLUSTER_INFO: Ask(),
    R.WIPE_WRITE_PERM_OF_BROKER: Ask(),
    R.ADD_WRITE_PERM_OF_BROKER: Ask(),
    R.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: Ask(),
    R.GET_TOPICS_BY_CLUSTER: Ask(),
    R.GET_SYSTEM_TOPIC_LIST_FROM_NS: Ask(),
    R.GET_UNIT_TOPIC_LIST: Ask(),
    R.GET_HAS_UNIT_SUB_TOPIC_LIST: Ask(),
    R.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: Ask(),
    R.UPDATE_NAMESRV_CONFIG: Ask(body=b"a=b\n" * 100_000),
    R.GET_NAMESRV_CONFIG: Ask(),
    R.QUERY_DATA_VERSION: told(counter=1, timestamp=1, x=["y"] * 100_000),
    R.DELETE_TOPIC_IN_NAMESRV: Ask({"topic": "topic1"}),
    R.UNREGISTER_BROKER: Ask(),
}


def fill(app: BrokerApp) -> None:
    """Fill a broker with very many topics, groups, queues, members and keys."""
    broker = app.broker
    for number in range(TOPIC_COUNT):
        name = f"topic{number}"
        broker.topics._topics[name] = topic_config(name, queue_count=4)
        group = f"group{number}"
        broker.groups._groups[group] = SubscriptionGroup(group_name=group)
        broker.offsets.commit(group, name, queue_id=0, queue_offset=0)
    broker.topics._topics[WIDE] = topic_config(WIDE, queue_count=QUEUE_COUNT)
    broker.topics._topics[FILLED] = topic_config(FILLED, queue_count=1)
    for queue_id in range(QUEUE_COUNT):
        broker.offsets.commit(GROUP, WIDE, queue_id=queue_id, queue_offset=0)
    group = broker.consumers._groups[GROUP] = ConsumerGroup(GROUP, None, None, None)
    for number in range(MEMBER_COUNT):
        member = GroupMember(Deaf(number), f"c{number}", 0, 407, 2**62)  # type: ignore[arg-type]
        group.members[member.conn] = member
        broker.producers.register("PG", member=member)
    index = broker.store.reader._index
    same_slot = index_key_hash(f"{FILLED}#k") + index.slot_count
    index._put_rows([(same_slot, 0, 1)] * CHAIN_COUNT, now_ms=1)


def fill_users(access: object) -> None:
    """Fill a broker with very many users, and one of them with very many rules."""
    assert isinstance(access, UserAccess)
    for number in range(USER_COUNT):
        access.users.create_user(UserInfo(username=f"u{number}", password="secret"))
    access.users.create_user(UserInfo(username="u", password="secret"))
    entries = [
        PolicyEntryInfo(resource=f"Topic:t{number}", actions=["Pub"], decision="Allow")
        for number in range(USER_COUNT)
    ]
    access.users.create_acl("User:u", AclInfo(policies=[PolicyInfo(entries=entries)]))


def holding(server: Server, table: Mapping[int, Input | tuple[Input, ...]]) -> dict[str, float]:
    """Return what holds the loop, in units of 20 ms; print all loads, the worst first."""
    found = {}
    salts = itertools.count(1)
    for code, inputs in table.items():
        for number, ask in enumerate(inputs if isinstance(inputs, tuple) else (inputs,)):
            asks = (ask(salt) if callable(ask) else ask for salt in salts)
            found[f"{getattr(code, 'name', code)} {number}"] = load_of(server, code, asks)
    print(dict(sorted(found.items(), key=lambda item: -item[1])))
    return {code: round(load, 2) for code, load in found.items() if load >= HELD_LOAD}


def test_every_request_code_is_timed() -> None:
    assert BROKER.keys() | USERS.keys() == collect(handlers).codes()
    assert NAMESRV.keys() == collect(namesrv_handlers).codes()


def test_no_request_holds_the_loop_of_a_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(monkeypatch) as server:
        without_compiled_thread(monkeypatch)
        config = broker_settings(tmp_path, enable_property_filter=True)
        config.store.mapped_file_size_commit_log = 16 << 20
        app = BrokerApp(config, SystemClock())
        server.connect(server.wait(app.start()))
        server.run(lambda: fill(app))
        calls = server.run(lambda: LoopCalls(tmp_path, monkeypatch))
        small = "\2".join(["KEYS\1k", "a\0015.5", "b\0016.5"])
        for _ in range(1_000):
            server.ask(R.SEND_MESSAGE, Ask({"properties": small, "sysFlag": "0"}, b"x"))
        for _ in range(LARGE_COUNT):
            large = Ask({"properties": "KEYS\1large", "sysFlag": "0"}, BIG_BODY[1_000:])
            server.ask(R.SEND_MESSAGE, large)

        held = holding(server, BROKER)
        written = calls.found - FIRST_FILE

        server.wait(app.stop())
    assert held == {}
    assert written == set()


def test_no_request_about_users_holds_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(monkeypatch) as server:
        codes = {str(int(code)) for code in USERS}
        config = broker_settings(
            tmp_path, authentication_enabled=True, authentication_whitelist=",".join(codes)
        )
        app = BrokerApp(config, SystemClock())
        server.connect(server.wait(app.start()))
        server.run(lambda: fill_users(app.broker.access))
        # Refused rules would cost nothing.
        created = server.ask(LaterCode.AUTH_CREATE_ACL, MANY_RULES)

        held = holding(server, USERS)

        server.wait(app.stop())
    assert created.code == 0
    assert held == {}


def test_no_request_holds_the_loop_of_a_name_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(monkeypatch) as server:
        path = str(tmp_path / "kvConfig.json")
        app = NamesrvApp(
            NamesrvConfig(listen_port=0, bind_address="127.0.0.1", kv_config_path=path),
            SystemClock(),
        )
        server.connect(server.wait(app.start()))

        held = holding(server, NAMESRV)

        server.wait(app.stop())
    assert held == {}
