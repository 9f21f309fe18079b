"""Access control as real clients and tools meet it, at the real broker and at ours."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import BrokerRefused, ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqspark.jobs.archive import archive_local
from remoting.acl import sign
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.command import Command
from storefmt.config.tables import TopicConfig
from tests.interop.kit.our_clients import invoke, read_queue
from tests.interop.kit.servers import Broker, JavaSide, OurSide, Servers, guarded_broker
from tests.interop.kit.toolbox import Toolbox
from tests.waiting import eventually

ADMIN, USER = "interopAdmin", "interopUser"
SECRETS = {ADMIN: "adminSecret", USER: "userSecret", "toolsMade": "toolsSecret"}

TOPIC, GROUP = "Guarded1", "GuardedGroup"

ACCOUNTS = {
    "globalWhiteRemoteAddresses": [],
    "accounts": [
        {
            "accessKey": ADMIN,
            "secretKey": SECRETS[ADMIN],
            "admin": True,
            "defaultTopicPerm": "PUB|SUB",
            "defaultGroupPerm": "PUB|SUB",
        },
        {
            "accessKey": USER,
            "secretKey": SECRETS[USER],
            "topicPerms": [f"{TOPIC}=PUB|SUB", "ReadOnly=SUB"],
            "groupPerms": [f"{GROUP}=SUB"],
        },
    ],
}


class GuardedBroker(NamedTuple):
    """A broker with accounts, the name server it is at, and where its files are."""

    side: str
    broker: Broker
    namesrv: str
    home: Path


@pytest.fixture(scope="module")
def guarded(
    servers: Servers, java_side: JavaSide, our_side: OurSide, tmp_path_factory
) -> Iterator[GuardedBroker]:
    """Yield a broker with accounts, the real one and then ours."""
    side = our_side if servers.are_ours else java_side
    namesrv, store = servers.namesrv.address, tmp_path_factory.mktemp("acl") / "store"
    with guarded_broker(side, ACCOUNTS, name="guarded", namesrv=namesrv, store=store) as broker:
        yield GuardedBroker(servers.side, broker, namesrv, side.directory)


@pytest.fixture
def tools_key(java_side: JavaSide) -> Iterator[None]:
    """Let the Java mqadmin sign as the admin."""
    path = java_side.directory / "conf" / "tools.yml"
    path.write_text(f"accessKey: {ADMIN}\nsecretKey: {SECRETS[ADMIN]}\n")
    try:
        yield
    finally:
        path.unlink()


def keys(access_key: str) -> dict[str, str]:
    return {"access_key": access_key, "secret_key": SECRETS[access_key]}


async def make_topic(guarded: GuardedBroker, topic: str = TOPIC) -> None:
    async with MQClient(guarded.namesrv, timeout_s=60, **keys(ADMIN)) as client:
        await Admin(client).create_topic(guarded.broker.address, TopicConfig(topic, 1, 1))


async def test_signed_requests_pass_also_queries_by_key(guarded: GuardedBroker) -> None:
    await make_topic(guarded)
    async with MQClient(guarded.namesrv, timeout_s=60, **keys(USER)) as client:
        queue = MessageQueue(TOPIC, "guarded", 0)
        message = Message(TOPIC, b"z" * 9_000, tags="A", keys="k", properties={"ü": "中"})
        sent = await Producer(client).send(message, queue=queue)
        batch = [Message(TOPIC, b"x", keys="b")] * 2
        await Producer(client).send_batch(batch, queue=queue)
        stored = await read_queue(client, queue, 3, group=GROUP)
        by_key = await Admin(client).query_message(TOPIC, "k")
        by_id = await Admin(client).query_message(TOPIC, sent.unique_key, unique=True)

    assert [m.body for m in stored] == [message.body, b"x", b"x"]
    assert [m.unique_key for m in by_key + by_id] == [sent.unique_key] * 2


def test_archives_sign_with_their_keys(guarded: GuardedBroker, tmp_path: Path) -> None:
    async def fill() -> None:
        await make_topic(guarded, "GuardedArchive")
        async with MQClient(guarded.namesrv, timeout_s=60, **keys(ADMIN)) as client:
            queue = MessageQueue("GuardedArchive", "guarded", 0)
            await eventually(Admin(client).topic_list, lambda topics: queue.topic in topics)
            await Producer(client).send(Message(queue.topic, b"x"), queue=queue)
            await read_queue(client, queue, 1, group=GROUP)

    asyncio.run(fill())
    given = {"namesrv": guarded.namesrv, "subscribe": "GuardedArchive", "timeoutMs": "30000"}
    signed = {"accessKey": ADMIN, "secretKey": SECRETS[ADMIN]}

    (row,) = archive_local(str(tmp_path / "archive"), **given, **signed).to_pylist()

    assert row["messages"] == 1
    with pytest.raises(ClientError, match=r"(?i)access ?key"):
        archive_local(str(tmp_path / "none"), **given)


SEND = {"a": "PG", "b": TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
SEND |= {"i": "", "j": "0", "k": "false", "l": "0", "m": "false"}
PULL = {
    "consumerGroup": GROUP,
    "topic": TOPIC,
    "queueId": "0",
    "queueOffset": "0",
    "maxMsgNums": "1",
    "sysFlag": "4",
    "commitOffset": "0",
    "suspendTimeoutMillis": "0",
    "subscription": "*",
    "subVersion": "0",
}


@pytest.mark.parametrize(
    ("code", "fields", "key", "secret"),
    [
        (310, SEND, None, ""),
        (310, SEND, "nobodyKnows", "itsSecret"),
        (310, SEND, USER, "wrongSecret"),
        (310, {**SEND, "b": "ReadOnly"}, USER, SECRETS[USER]),
        (310, {**SEND, "b": "Unnamed"}, USER, SECRETS[USER]),
        (11, {**PULL, "topic": "Unnamed"}, USER, SECRETS[USER]),
        (11, {**PULL, "consumerGroup": "Unnamed"}, USER, SECRETS[USER]),
        (14, PULL, "nobodyKnows", "itsSecret"),
        (17, {"topic": "X"}, USER, SECRETS[USER]),
        (25, {}, USER, SECRETS[USER]),
        (200, {}, USER, SECRETS[USER]),
        (207, {"groupName": "X"}, USER, SECRETS[USER]),
        (215, {"topic": "X"}, USER, SECRETS[USER]),
        (4711, {}, None, ""),
        (50, {"accessKey": "short", "secretKey": "longEnough"}, ADMIN, SECRETS[ADMIN]),
        (50, {"accessKey": "longEnough", "secretKey": "longEnough", "topicPerms": "T"}, ADMIN, ""),
        (
            50,
            {"accessKey": "longEnough", "secretKey": "longEnough", "topicPerms": "T=X"},
            ADMIN,
            "",
        ),
        (51, {"accessKey": "nobodyKnows"}, ADMIN, ""),
        (53, {"globalWhiteAddrs": "1.1.1.1", "aclFileFullPath": "/etc/passwd"}, ADMIN, ""),
    ],
)
def test_refusals_have_the_codes_and_texts_of_the_real_broker(
    guarded: GuardedBroker, refusals: dict[str, object], code, fields, key, secret
) -> None:
    command = Command.request(code)
    command.ext = dict(fields)
    if key is not None:
        sign(command, key, secret or SECRETS[key])
    answer = asyncio.run(invoke(guarded.broker.address, command))
    # Java ends its text with a line of its own source.
    text = re.sub(r", org\.apache\.rocketmq\.\S+\(\S+\.java:\d+\)$", "", answer.remark or "")
    text = re.sub("secretKey=\\S+", "secretKey=*", text)
    name = f"{code} {sorted(fields.items())} {key} {secret}"

    assert answer.code != 0
    assert refusals.setdefault(name, (answer.code, text)) == (answer.code, text)


@pytest.fixture(scope="module")
def refusals(session_refusals: dict[str, object]) -> dict[str, object]:
    """Return what the real broker answered, filled by the tests that run first."""
    return session_refusals


@pytest.fixture(scope="session")
def session_refusals() -> dict[str, object]:
    """Return one table for both brokers."""
    return {}


def spec(guarded: GuardedBroker, key: str | None, **more: object) -> Mapping[str, object]:
    return {
        "namesrv": guarded.namesrv,
        "topic": TOPIC,
        "group": GROUP,
        "subscription": "*",
        "mode": "sync",
        "messages": [{"body": "hello", "queue": 0, "broker": "guarded"}],
        "timeoutMs": 120_000,
        **({} if key is None else {"accessKey": key, "secretKey": SECRETS[key]}),
        **more,
    }


def test_the_java_client_sends_and_consumes_with_its_key(
    guarded: GuardedBroker, toolbox: Toolbox
) -> None:
    asyncio.run(make_topic(guarded))
    (sent,) = toolbox.run("Producer", spec(guarded, USER, securityToken="a token"))
    (batch,) = toolbox.run("Producer", spec(guarded, USER, mode="batch"))
    consumer = toolbox.start("PushConsumer", spec(guarded, USER, mode="concurrent", count=2))
    got = consumer.messages(2)
    consumer.stop()

    assert (sent["event"], batch["event"]) == ("sent", "sent")
    assert len(got) == 2


@pytest.mark.parametrize(
    ("key", "topic", "text"),
    [
        (None, TOPIC, "No accessKey is configured"),
        (USER, "ReadOnly", "No default permission for topic:ReadOnly"),
    ],
)
def test_the_java_client_is_told_why_it_may_not_send(
    guarded: GuardedBroker, toolbox: Toolbox, key: str | None, topic: str, text: str
) -> None:
    asyncio.run(make_topic(guarded, "ReadOnly"))
    (refused,) = toolbox.run("Producer", spec(guarded, key, topic=topic))

    assert (refused["event"], refused["code"]) == ("refused", 1)
    assert f"AclException: {text}" in refused["error"]


def test_the_java_mqadmin_keeps_accounts(
    guarded: GuardedBroker, toolbox: Toolbox, tools_key: None
) -> None:
    broker = ("-b", guarded.broker.address, "-n", guarded.namesrv)
    made = toolbox.mqadmin(
        *("updateAclConfig", "-a", "toolsMade", "-s", SECRETS["toolsMade"]),
        *("-t", f"{TOPIC}=PUB|SUB", "-g", "ToolsGroup=SUB", *broker),
    )
    version = toolbox.mqadmin("clusterAclConfigVersion", *broker)
    listed = toolbox.mqadmin("getAclConfig", *broker)
    white = toolbox.mqadmin("updateGlobalWhiteAddr", "-g", "10.10.10.1", *broker)

    assert f"create or update plain access config to {guarded.broker.address} success." in (
        made.stdout
    )
    assert "guarded" in version.stdout
    assert f"{guarded.home}/conf/plain_acl.yml" in version.stdout
    assert "toolsMade" in listed.stdout
    assert f"{TOPIC}=PUB|SUB" in listed.stdout
    # The real one gives every secret away: CVE-2024-23321.
    assert (SECRETS["toolsMade"] in listed.stdout) is (guarded.side == "java")
    assert f"update global white remote addresses to {guarded.broker.address} success." in (
        white.stdout
    )
    content = yaml.safe_load((guarded.home / "conf" / "plain_acl.yml").read_text())
    assert content["globalWhiteRemoteAddresses"] == ["10.10.10.1"]
    assert content["dataVersion"][0]["counter"] == 2

    async def send() -> bool:
        async with MQClient(guarded.namesrv, timeout_s=60, **keys("toolsMade")) as client:
            queue = MessageQueue(TOPIC, "guarded", 0)
            try:
                return bool(await Producer(client).send(Message(TOPIC, b"tools"), queue=queue))
            except BrokerRefused:
                # The broker looks at its file every few seconds.
                return False

    async def new_account_works() -> None:
        await make_topic(guarded)
        assert await eventually(send, bool)

    asyncio.run(new_account_works())
    gone = toolbox.mqadmin("deleteAclConfig", "-a", "toolsMade", *broker)
    assert f"delete plain access config account from {guarded.broker.address} success." in (
        gone.stdout
    )
    assert "toolsMade" not in (guarded.home / "conf" / "plain_acl.yml").read_text()


def test_a_file_that_changes_counts_within_seconds(guarded: GuardedBroker) -> None:
    path = guarded.home / "conf" / "acl" / "more.yml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("accounts:\n- {accessKey: addedLater, secretKey: laterSecret, admin: true}\n")

    async def code() -> int:
        command = Command.request(RequestCode.GET_BROKER_CONFIG)
        sign(command, "addedLater", "laterSecret")
        return (await invoke(guarded.broker.address, command)).code

    assert asyncio.run(eventually(code, lambda found: found == 0)) == 0
