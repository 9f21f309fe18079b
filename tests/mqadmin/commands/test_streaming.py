"""Listings of a large cluster: rows stream, and memory does not grow with them.

The servers are made up and answer from this process; what is measured is the command's own
memory, in the loop and in the printer.
"""

import io
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from mqadmin.cli.run import run_line
from mqadmin.session.call import Workplace
from mqadmin.session.link import ServerLink
from remoting.bodies import BrokerData, ClusterInfo, MessageQueue, TopicList
from remoting.bodies.stats import ConsumeStats, OffsetWrapper, TopicOffset, TopicStatsTable
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from storefmt.config import fastjson
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from tests.mqadmin.conftest import console_on
from tests.mqclient.fake import FakeServer

TOPIC_COUNT, GROUP_COUNT = 50_000, 1_000
GROUP_BYTES_MAX = 5_000
"""What a group may cost: its settings, its offsets and its topic, which a broker sends in three
bodies, and the ends of its four queues, which another group of the topic would be asked for."""


class CountedText(io.StringIO):
    """A stream that counts lines and forgets them."""

    def __init__(self) -> None:
        super().__init__()
        self.line_count = 0

    def write(self, text: str) -> int:
        self.line_count += text.count("\n")
        return len(text)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a listing did."""

    exit_code: int
    line_count: int
    peak_bytes: int


def listing(fake: FakeServer, *words: str) -> Measured:
    """Run a command against the servers and return how much memory it took at most."""
    out, err = CountedText(), io.StringIO()
    console, workplace = console_on(err, out=out), Workplace()
    # The first run pays for imports and connections.
    run_line([*words, "-n", fake.address], console, workplace)
    out.line_count = 0
    fake.asked.clear()
    tracemalloc.start()
    try:
        exit_code = run_line([*words, "-n", fake.address], console, workplace)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        workplace.link.close()
    assert err.getvalue() == ""
    return Measured(exit_code, out.line_count, peak_bytes)


@pytest.fixture
def large() -> Iterator[FakeServer]:
    """Return a made-up cluster with many topics and groups, in a loop of its own."""
    fake, link = FakeServer(), ServerLink()
    link.run_coroutine(fake.__aenter__)
    broker = BrokerData(cluster="C", broker_name="b", broker_addrs={0: fake.address})
    info = ClusterInfo(broker_addr_table={"b": broker}, cluster_addr_table={"C": ["b"]})
    fake.say(RequestCode.GET_BROKER_CLUSTER_INFO, body=info.encode())
    names = [f"topic-{number:05}" for number in range(TOPIC_COUNT)]
    fake.say(
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        body=TopicList(topic_list=names).encode(),
    )
    groups = [f"group-{number:04}" for number in range(GROUP_COUNT)]
    table = {name: SubscriptionGroup(group_name=name).to_json() for name in groups}
    fake.say(
        RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
        body=fastjson.dumps({"subscriptionGroupTable": table}).encode(),
    )
    offsets = {f"{topic_of(name)}@{name}": dict.fromkeys(map(str, range(4)), 40) for name in groups}
    fake.say(
        RequestCode.GET_ALL_CONSUMER_OFFSET,
        body=fastjson.dumps({"offsetTable": offsets}).encode(),
    )
    fake.do(RequestCode.GET_CONSUME_STATS, lambda request: progress(fake, request))
    fake.say(RequestCode.GET_CONSUMER_CONNECTION_LIST, ResponseCode.CONSUMER_NOT_ONLINE)
    topics = {name: TopicConfig(name, 4, 4).to_json() for name in map(topic_of, groups)}
    fake.say(
        RequestCode.GET_ALL_TOPIC_CONFIG,
        body=fastjson.dumps({"topicConfigTable": topics}).encode(),
    )
    fake.do(RequestCode.GET_TOPIC_STATS_INFO, ends)
    yield fake
    link.run_coroutine(lambda: fake.__aexit__(None, None, None))
    link.close()


def topic_of(group: str) -> str:
    """Return the name of the topic that only this group reads."""
    return f"topic-of-{group}"


def ends(request: Command) -> Command:
    """Answer with the ends of the four queues of a topic."""
    queues = {
        MessageQueue(topic=request.ext["topic"], broker_name="b", queue_id=number): TopicOffset(
            min_offset=0, max_offset=100, last_update_timestamp=1
        )
        for number in range(4)
    }
    return request.response(body=TopicStatsTable(offset_table=queues).encode())


def progress(fake: FakeServer, request: Command) -> Command:
    """Answer with four queues of a topic of the group's own, and forget the question."""
    fake.asked.clear()
    topic = topic_of(request.ext["consumerGroup"])
    queues = {
        MessageQueue(topic=topic, broker_name="b", queue_id=number): OffsetWrapper(
            broker_offset=100, consumer_offset=40, last_timestamp=1
        )
        for number in range(4)
    }
    return request.response(body=ConsumeStats(offset_table=queues).encode())


@pytest.mark.parametrize("output", ["jsonl", "table"])
def test_fifty_thousand_topics_are_listed_in_the_memory_of_their_names(
    large: FakeServer, output: str
) -> None:
    done = listing(large, "topic", "list", "-o", output)

    assert (done.exit_code, done.line_count) == (0, TOPIC_COUNT + (output == "table"))
    # The name server sends all names in one body: body, text and list of them are held.
    assert done.peak_bytes < TOPIC_COUNT * 400


def test_the_lag_of_a_thousand_groups_streams(large: FakeServer) -> None:
    done = listing(large, "group", "lag", "--no-clients", "-o", "jsonl")

    assert (done.exit_code, done.line_count) == (0, 4 * GROUP_COUNT)
    assert done.peak_bytes < GROUP_COUNT * GROUP_BYTES_MAX
