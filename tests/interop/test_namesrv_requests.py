"""Every request that the real name server handles, at the real one and at ours.

    one story ─ the same frames in the same order ─> real, ours ─ code, remark, fields, body

Rule: answers are compared as they come, but for the order of lists (Java's hash maps) and the
text of an exception, which names Java classes. What we answer differently on purpose is in
``test_what_is_different_on_purpose`` and nowhere else.
"""

import asyncio
import contextlib
import zlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from remoting.aio.client import RemotingClient
from remoting.bodies import (
    ClusterInfo,
    RegisterBrokerBody,
    TopicConfigSerializeWrapper,
    encode_value,
)
from remoting.codes import RequestCode, ResponseCode, SerializeType
from remoting.command import Command
from remoting.errors import RequestTimedOut
from storefmt.config import fastjson
from storefmt.config.fastjson import Json
from storefmt.config.tables import DataVersion, TopicConfig
from tests.interop.kit.our_clients import invoke
from tests.interop.kit.servers import JavaSide, Namesrv, OurSide
from tests.waiting import eventually

OLD_VERSION = 36
"""Before V3_0_11 a broker registered its topics without anything around them."""

EXCEPTION = "an exception"


class Step(NamedTuple):
    """One request of the story."""

    name: str
    code: int
    ext: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
    version: int = 407
    conn: int = 0
    """Which connection it comes on; brokers live and die with theirs."""


class Answer(NamedTuple):
    """One answer, ready to be compared."""

    code: int
    remark: str | None
    ext: dict[str, str]
    body: object


class Pair(NamedTuple):
    """A fresh name server of each side."""

    java: Namesrv
    ours: Namesrv


@pytest.fixture(scope="module")
def pair(java_side: JavaSide, our_side: OurSide, tmp_path_factory) -> Iterator[Pair]:
    """Yield two name servers that nobody else registers with."""
    with Namesrv(java_side) as java, Namesrv(our_side) as ours:
        yield Pair(java, ours)


def topics(*configs: TopicConfig, counter: int = 1) -> TopicConfigSerializeWrapper:
    return TopicConfigSerializeWrapper(
        topic_config_table={config.topic_name: config for config in configs},
        data_version=DataVersion(1_700_000_000_000, counter),
    )


PLAIN = RegisterBrokerBody(
    topic_config_serialize_wrapper=topics(
        TopicConfig("T1", 4, 4),
        TopicConfig("T2", 8, 2, perm=4, topic_sys_flag=1),
        TopicConfig("TBW102", 8, 8, perm=7),
        TopicConfig("U1", 1, 1, topic_sys_flag=2),
        TopicConfig("U2", 1, 1, topic_sys_flag=3),
    )
)
COMPRESSED = RegisterBrokerBody(
    topic_config_serialize_wrapper=topics(TopicConfig("T1", 6, 6), TopicConfig("T3", 2, 2)),
    filter_server_list=["10.0.0.2:30001", "10.0.0.2:30002"],
)
OLD = topics(TopicConfig("Old", 3, 3))
MORE = RegisterBrokerBody(topic_config_serialize_wrapper=topics(TopicConfig("T9", 1, 1), counter=2))


def register(
    name: str,
    body: bytes,
    *,
    broker: str = "a",
    address: str = "10.0.0.1:10911",
    broker_id: int = 0,
    compressed: bool = False,
    crc: int | None = None,
    cluster: str = "C1",
    version: int = 407,
    conn: int = 1,
) -> Step:
    ext = {
        "brokerName": broker,
        "brokerAddr": address,
        "clusterName": cluster,
        "haServerAddr": address.replace("10911", "10912"),
        "brokerId": str(broker_id),
        "compressed": str(compressed).lower(),
        "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF if crc is None else crc),
    }
    return Step(name, RequestCode.REGISTER_BROKER, ext, body, version, conn)


def who(address: str, broker: str, *, cluster: str = "C1", broker_id: int = 0) -> dict[str, str]:
    return {
        "brokerName": broker,
        "brokerAddr": address,
        "clusterName": cluster,
        "brokerId": str(broker_id),
    }


def looks(after: str) -> list[Step]:
    """Return all that can be asked about routes, to be asked after each change."""
    return [
        *(
            Step(f"route of {topic} {after}", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
            for topic in ("T1", "T2", "T3", "T9", "Old", "TBW102", "none")
        ),
        *(
            Step(f"{code.name} {after}", code)
            for code in (
                RequestCode.GET_BROKER_CLUSTER_INFO,
                RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
                RequestCode.GET_UNIT_TOPIC_LIST,
                RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
                RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
            )
        ),
        *(
            Step(
                f"topics of {cluster} {after}",
                RequestCode.GET_TOPICS_BY_CLUSTER,
                {"cluster": cluster},
            )
            for cluster in ("C1", "C2", "none")
        ),
    ]


def kv(code: int, name: str, *values: str) -> Step:
    keys = ("namespace", "key", "value")
    return Step(name, code, dict(zip(keys, values, strict=False)))


ROUTES = [
    *looks("at first"),
    register("a master", PLAIN.encode()),
    *looks("with a master"),
    register("its slave", PLAIN.encode(), broker_id=1, address="10.0.0.3:10911", conn=2),
    register(
        "a compressed master with filter servers",
        COMPRESSED.encode_compressed(),
        broker="b",
        address="10.0.0.2:10911",
        compressed=True,
        conn=3,
    ),
    register("an old broker", OLD.encode(), broker="old", address="10.0.0.4:10911",
             version=OLD_VERSION, cluster="C2", conn=4),
    *looks("with four brokers"),
    Step("an old client's route", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T1"}, version=300),
    Step("a route in standard JSON", RequestCode.GET_ROUTEINFO_BY_TOPIC,
         {"topic": "T1", "acceptStandardJsonOnly": "true"}, version=300),
    register("a wrong sum", PLAIN.encode(), crc=1),
    register("no body", b"", broker="empty", address="10.0.0.5:10911", cluster="C2", conn=4),
    register("new topics, same version", MORE.encode().replace(b'"counter":2', b'"counter":1')),
    *looks("after the same version"),
    register("new topics, new version", MORE.encode()),
    *looks("after a new version"),
    Step("version is the same", RequestCode.QUERY_DATA_VERSION, who("10.0.0.1:10911", "a"),
         encode_value(DataVersion(1_700_000_000_000, 2))),
    Step("version is another", RequestCode.QUERY_DATA_VERSION, who("10.0.0.1:10911", "a"),
         encode_value(DataVersion(1_700_000_000_000, 1))),
    Step("version of nobody", RequestCode.QUERY_DATA_VERSION, who("10.9.9.9:10911", "x"),
         encode_value(DataVersion(1, 1))),
    Step("wipe", RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a"}),
    *looks("after the wipe"),
    Step("add", RequestCode.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "a"}),
    *looks("after the add"),
    Step("wipe nobody", RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "x"}),
    Step("add to nobody", RequestCode.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "x"}),
    Step("delete in a cluster", RequestCode.DELETE_TOPIC_IN_NAMESRV,
         {"topic": "T1", "clusterName": "C2"}),
    Step("delete a topic", RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": "T3"}),
    Step("delete no topic", RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": "none"}),
    *looks("after deletes"),
    register("the slave becomes the master", PLAIN.encode(), address="10.0.0.3:10911", conn=2),
    *looks("after the change of roles"),
    Step("unregister", RequestCode.UNREGISTER_BROKER, who("10.0.0.2:10911", "b")),
    Step("unregister nobody", RequestCode.UNREGISTER_BROKER, who("10.9.9.9:10911", "x")),
    *looks("after b left"),
]  # fmt: skip

KEYS = [
    kv(RequestCode.GET_KV_CONFIG, "no key", "N", "K"),
    kv(RequestCode.GET_KVLIST_BY_NAMESPACE, "no namespace", "N"),
    kv(RequestCode.DELETE_KV_CONFIG, "delete no key", "N", "K"),
    kv(RequestCode.PUT_KV_CONFIG, "put", "N", "K", "v ü"),
    kv(RequestCode.PUT_KV_CONFIG, "put another", "N", "K2", "2"),
    kv(RequestCode.PUT_KV_CONFIG, "put again", "N", "K", "3"),
    kv(RequestCode.GET_KV_CONFIG, "get", "N", "K"),
    kv(RequestCode.GET_KVLIST_BY_NAMESPACE, "list", "N"),
    kv(RequestCode.DELETE_KV_CONFIG, "delete", "N", "K"),
    kv(RequestCode.DELETE_KV_CONFIG, "delete the other", "N", "K2"),
    kv(RequestCode.GET_KVLIST_BY_NAMESPACE, "list what is empty", "N"),
    kv(RequestCode.PUT_KV_CONFIG, "order", "ORDER_TOPIC_CONFIG", "T1", "a:4"),
    Step("a route without order", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T1"}),
    register("order topics come with the answer", PLAIN.encode(), conn=5),
    Step("switch order on", RequestCode.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true"),
    Step("a route with order", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T1"}),
    Step("switch order off", RequestCode.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=false"),
    Step("a path", RequestCode.UPDATE_NAMESRV_CONFIG, body=b"kvConfigPath=/tmp/x"),
    Step("another path", RequestCode.UPDATE_NAMESRV_CONFIG, body=b"configStorePath=/tmp/x"),
    Step("no settings", RequestCode.UPDATE_NAMESRV_CONFIG),
]

WITHOUT_TEXTS = [
    Step(code.name, code, {"unknown": "field"})
    for code in (
        RequestCode.PUT_KV_CONFIG,
        RequestCode.GET_KV_CONFIG,
        RequestCode.DELETE_KV_CONFIG,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.DELETE_TOPIC_IN_NAMESRV,
    )
]
"""Requests whose required fields are texts, without them."""

FAULTS = [
    *(
        Step(f"no fields for {code.name}", code, {"unknown": "field"})
        for code in (
            RequestCode.REGISTER_BROKER,
            RequestCode.UNREGISTER_BROKER,
            RequestCode.QUERY_DATA_VERSION,
        )
    ),
    register("a body that is cut", PLAIN.encode()[:-9], conn=6),
    register("a stream that is none", b"not zlib", compressed=True, conn=6),
    Step("a number that is none", RequestCode.UNREGISTER_BROKER,
         {**who("x:1", "x"), "brokerId": "one"}),
]  # fmt: skip


async def play(address: str, steps: list[Step]) -> list[Answer]:
    """Send the steps one by one; return what came back."""
    clients: dict[int, RemotingClient] = {}
    found = []
    try:
        for step in steps:
            client = clients.setdefault(step.conn, RemotingClient())
            command = Command.request(step.code, body=step.body)
            command.ext, command.version = dict(step.ext), step.version
            found.append(shown(await client.invoke(address, command, timeout_s=60)))
    finally:
        for client in clients.values():
            await client.close()
    # One that registered without a body stays: the routes have nothing of it.
    await eventually(
        lambda: brokers_at(address), lambda names: names is not None and set(names) <= {"empty"}
    )
    return found


async def brokers_at(address: str) -> list[str] | None:
    """Return which brokers a name server knows; they go when it hears that theirs is closed.

    None: the real one refused, since it writes this answer while its tables change.
    """
    answer = await invoke(address, Command.request(RequestCode.GET_BROKER_CLUSTER_INFO))
    if answer.code != ResponseCode.SUCCESS:
        return None
    return list(ClusterInfo.decode(answer.body).broker_addr_table)


def shown(answer: Command) -> Answer:
    remark = answer.remark
    if remark is not None and any(
        word in remark for word in ("java.lang.", "org.apache.", "com.alibaba.", "Bad")
    ):
        remark = EXCEPTION
    return Answer(answer.code, remark, dict(answer.ext), _body(answer.body))


def _body(data: bytes) -> object:
    if not data:
        return None
    # Numbers as keys or texts are told apart by the bytes themselves.
    style = "standard" if b'{"0":' in data or b'{"1":' in data else "bare"
    return style, _sorted(fastjson.loads(data))


def _sorted(value: Json) -> object:
    if isinstance(value, dict):
        return {
            str(key): _sorted(one) for key, one in sorted(value.items(), key=lambda i: str(i[0]))
        }
    if isinstance(value, list):
        return sorted((_sorted(one) for one in value), key=repr)
    return value


def compare(pair: Pair, steps: list[Step]) -> None:
    java, ours = (asyncio.run(play(one.address, steps)) for one in pair)

    different = [
        f"{step.name}:\n  real {theirs}\n  ours {mine}"
        for step, theirs, mine in zip(steps, java, ours, strict=True)
        if theirs != mine
    ]
    assert not different, "\n".join(different)


def test_registration_and_routes(pair: Pair) -> None:
    compare(pair, ROUTES)


def test_key_values_and_settings(pair: Pair) -> None:
    compare(pair, KEYS)


def test_requests_that_cannot_be_served(pair: Pair) -> None:
    compare(pair, FAULTS)


@pytest.mark.parametrize("code", [4711, RequestCode.SEND_MESSAGE])
def test_an_unknown_code_is_not_answered(pair: Pair, code: int) -> None:
    async def ask(address: str) -> bool:
        client = RemotingClient()
        try:
            # With the connection made, only the answer can be missing.
            known = Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)
            await client.invoke(address, known, timeout_s=60)
            with contextlib.suppress(RequestTimedOut):
                await client.invoke(address, Command.request(code), timeout_s=1.0)
                return True
            return False
        finally:
            await client.close()

    assert [asyncio.run(ask(one.address)) for one in pair] == [False, False]


@pytest.mark.parametrize("serialize", SerializeType)
def test_the_answer_is_in_the_serialisation_of_the_request(pair: Pair, serialize) -> None:
    async def ask(address: str) -> tuple[int, SerializeType]:
        command = Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        command.serialize = serialize
        answer = await invoke(address, command)
        return answer.code, answer.serialize

    assert [asyncio.run(ask(one.address)) for one in pair] == [(0, serialize)] * 2


def test_what_is_different_on_purpose(pair: Pair) -> None:
    """The real one changes any setting, takes any text for a name, and null for a text."""
    steps = [
        Step("a setting", RequestCode.UPDATE_NAMESRV_CONFIG, body=b"rocketmqHome=/nowhere"),
        register("a name", PLAIN.encode(), broker="a\tb", conn=7),
        *WITHOUT_TEXTS,
    ]
    java, ours = (asyncio.run(play(one.address, steps)) for one in pair)

    assert [answer.code for answer in java] == [0, 0, 1, 22, 0, 0, 0, 22, 0, 0]
    assert [answer.code for answer in ours] == [16, *[1] * 9]
