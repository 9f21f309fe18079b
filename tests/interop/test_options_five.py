"""Options that came with 5.x on old names of Java's tool, beside the tool of 5.4.0 on its broker.

namesrv (5.4.0) ── broker-a (5.4.0): light queues, and an index in RocksDB

Each line runs in Java's tool, then in ours with ``--compat``, and prints the same; what a line
changes is then read by both.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from remoting.bodies import MessageQueue
from tests.interop.kit.our_clients import await_registered, listening, make_topic
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import JavaSide, Servers, running_pair
from tests.interop.kit.toolbox import Toolbox
from tests.waiting import wait

TOPIC, LIGHT = "OptionTopic", "%LMQ%users"
COUNT = 4
SETTINGS = {"enableLmq": "true", "enableMultiDispatch": "true", "indexRocksDBEnable": "true"}
POLICY = '{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[1000,5000]}}'
GROUPS = (
    "updateSubGroup -b {a} -g {g} --consumeMessageOrderly true",
    "updateSubGroup -c {cluster} -g {g} -r 3 -p {policy}",
    "updateSubGroup -b {a} -g {g} --attributes +priority.factor=50",
    "updateSubGroup -b {a} -g {g} --attributes=-priority.factor",
)

TOPICS = (
    "updateTopic -b {a} -t {t} -r 2 -w 2 -a +queue.type=BatchCQ,+message.type=FIFO",
    "updateTopic -c {cluster} -t {t} -a +message.type=DELAY,+reserve.time=72",
    "updateTopic -b {a} -t {t} --attributes=-reserve.time,-message.type -o true",
    "updateTopic -b {a} -t {t}Log -a +cleanup.policy=COMPACTION,+message.type=PRIORITY",
)
REFUSED = (
    "+queue.type=SimpleCQ",
    "+cleanup.policy=COMPACTION",
    "-queue.type",
    "+message.type=fifo",
    "+reserve.time=-2",
    "+none.such=1",
)


@pytest.fixture(scope="module")
def pair(five: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    store = tmp_path_factory.mktemp("options") / "store"
    with running_pair(five, store, settings=SETTINGS) as servers:
        await_registered(servers)
        make_topic(servers, TOPIC, 2)
        asyncio.run(fill(servers))
        yield servers


async def fill(servers: Servers) -> None:
    """Send messages with a key, a tag and a light queue to both queues of the topic."""
    async with MQClient(servers.namesrv.address, timeout_s=60) as client:
        producer = Producer(client)
        for number in range(COUNT):
            message = Message(
                TOPIC,
                f"m{number}".encode(),
                tags="TagA",
                keys=["k"],
                properties={"INNER_MULTI_DISPATCH": LIGHT},
            )
            await producer.send(message, queue=MessageQueue(TOPIC, servers.broker.name, number % 2))


@pytest.fixture
def ours(pair: Servers, tmp_path: Path) -> OurMqadmin:
    return OurMqadmin(pair.namesrv.address, {"HOME": str(tmp_path)})


def java_text(pair: Servers, tool: Toolbox, words: list[str]) -> str:
    return tool.mqadmin(*words, "-n", pair.namesrv.address).stdout


def test_messages_are_found_by_tag_and_behind_an_entry(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin
) -> None:
    by_tag = ["queryMsgByKey", "-t", TOPIC, "-k", "TagA", "-p", "T"]
    java = wait(lambda: java_text(pair, five_tool, by_tag), lambda text: text.count("@T@") == COUNT)
    entries = [line.split()[3] for line in java.splitlines()[1:]]
    lines = [by_tag, ["queryMsgByKey", "-t", TOPIC, "-k", "k", "-p", "K"]]
    lines += [[*by_tag, "-l", entry] for entry in entries[1:3]]

    for words in lines:
        expected = java_text(pair, five_tool, words)
        shown = ours.text(*words, "--compat=strict")

        # Java's tool prints messages in the order of the index, ours by their time.
        assert sorted(shown.splitlines()) == sorted(expected.splitlines()), words
        assert shown.count("@") >= 5
    assert len(ours("message", "query", "key", TOPIC, "TagA", "--index", "tags")) == COUNT


def test_a_light_queue_is_printed_by_the_route_of_its_topic(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin
) -> None:
    words = ["printMsg", "-t", LIGHT, "-l", TOPIC, "-d", "true"]
    rows = ours("message", "print", LIGHT, "--parent", TOPIC)
    shown = ours.text(*words, "--compat=strict")

    # Java's tool asks for the ends of the queue before it has taken over the route.
    java = five_tool.mqadmin(*words, "-n", pair.namesrv.address)
    assert "The broker[broker-a] not exist" in java.stderr
    assert [row["body"] for row in rows] == [f"m{number}" for number in range(COUNT)]
    assert shown.count("MSGID: ") == COUNT
    assert f"maxOffset={COUNT}, MessageQueue [topic={LIGHT}, brokerName=broker-a" in shown


def test_settings_of_groups_are_changed_alike(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin
) -> None:
    fields = {"a": pair.broker.address, "cluster": pair.broker.cluster, "policy": POLICY}
    for line in GROUPS:
        printed, settings = [], []
        for group in ("OptionJava", "OptionOurs"):
            words = [word.format(**fields, g=group) for word in line.split(" ")]
            if group == "OptionJava":
                text = java_text(pair, five_tool, words)
            else:
                # As Java's tool: what the line does not name gets its usual value.
                text = ours.text(*words, "--compat=strict", "--replace", "-y")
            shown = java_text(pair, five_tool, ["getConsumerConfig", "-g", group])
            printed.append(text.replace(group, "<group>").splitlines())
            settings.append(shown.replace(group, "<group>").splitlines())

        assert printed[1] == printed[0], line
        assert settings[1] == settings[0], line


def attributes_of(pair: Servers, topic: str) -> dict[str, str] | None:
    async def read() -> dict[str, str] | None:
        async with MQClient(pair.namesrv.address, timeout_s=60) as client:
            return await Admin(client).topic_attributes(pair.broker.address, topic)

    return asyncio.run(read())


def test_attributes_of_topics_are_changed_alike(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin
) -> None:
    fields = {"a": pair.broker.address, "cluster": pair.broker.cluster}
    for line in TOPICS:
        java, shown = (
            [word.format(**fields, t=topic) for word in line.split(" ")]
            for topic in ("AttrJava", "AttrOurs")
        )
        expected = java_text(pair, five_tool, java)
        printed = ours.text(*shown, "--compat=strict", "--replace", "-y")
        names = [words[words.index("-t") + 1] for words in (java, shown)]
        kept = [attributes_of(pair, name) for name in names]

        assert printed.replace("AttrOurs", "AttrJava") == expected, line
        assert kept[1] == kept[0], line
    assert attributes_of(pair, "AttrOurs") == {"queue.type": "BatchCQ"}


@pytest.mark.parametrize("change", REFUSED)
def test_attributes_that_the_broker_refuses_are_refused_in_its_words(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin, change: str
) -> None:
    ours("topic", "update", "AttrHeld", "--create", "--attributes", "+queue.type=BatchCQ")
    words = ["updateTopic", "-b", pair.broker.address, "-t", "AttrHeld", f"--attributes={change}"]

    java = five_tool.mqadmin(*words, "-n", pair.namesrv.address)
    (row,) = ours(*words, exit_code=1)
    remark = row["remark"].partition("SYSTEM_ERROR, ")[2]

    assert row["result"] == "refused"
    assert remark
    assert remark in java.stderr
    assert attributes_of(pair, "AttrHeld") == {"queue.type": "BatchCQ"}


def test_what_5_knows_of_a_group_is_shown_and_undone(ours: OurMqadmin) -> None:
    ours("group", "create", "Undone")
    named = ("--orderly", "true", "--attributes", "+priority.factor=30")
    (made,) = ours("group", "update", "Undone", *named)
    (changed,) = ours("group", "update", "Undone", "--retry-policy", POLICY)
    (shown,) = ours("group", "config", "Undone")
    ours("undo", "-y")
    ours("undo", "-y")
    (after,) = ours("group", "config", "Undone")

    assert (made["result"], made["was"]["consume_message_orderly"]) == ("changed", False)
    assert changed["result"] == "changed"
    assert shown["group_retry_policy"]["customizedRetryPolicy"]["next"] == [1000, 5000]
    assert shown["attributes"] == {"priority.factor": "30"}
    assert (after["consume_message_orderly"], after["attributes"] or {}) == (False, {})


def test_one_queue_goes_to_an_offset_while_members_are_online(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin
) -> None:
    def read_again(got: list[MessageExt], since: int) -> list[tuple[int, int]]:
        return sorted((message.queue_id, message.queue_offset) for message in got[since:])

    where = ["-t", TOPIC, "-b", pair.broker.address, "-q", "1", "-s", "0", "--offset", "1"]
    printed = []
    for group in ("ExactJava", "ExactOurs"):
        with listening(pair, group, TOPIC) as listener:
            wait(lambda: len(listener.got) == COUNT)
            ours("wait", "lag", group, TOPIC, "--within", "1m")
            words = ["resetOffsetByTime", "-g", group, *where]
            if group == "ExactJava":
                printed.append(java_text(pair, five_tool, words))
            else:
                printed.append(ours.text(*words, "--compat=strict", "-y"))
            wait(lambda: len(listener.got) > COUNT)

            assert read_again(listener.got, COUNT) == [(1, 1)]

    assert printed[1].replace("ExactOurs", "ExactJava") == printed[0]


def test_an_offset_without_its_queue_is_refused(ours: OurMqadmin) -> None:
    words = ("resetOffsetByTime", "-g", "ExactOurs", "-t", TOPIC, "-s", "0", "--offset", "1")

    ours.text(*words, "-y", exit_code=2)

    assert "name it with -b and -q" in ours.err
