"""What brokers say of themselves: numbers, statistics, progress, connections, round trips."""

import io
import re
from collections.abc import Iterator

import pytest

from mqadmin.cli.run import run_line
from mqadmin.session.call import Workplace
from mqadmin.session.link import ServerLink
from mqadmin.shell.server import ServerAddresses
from mqclient.client.instance import MQClient
from remoting.bodies import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
    SubscriptionData,
)
from remoting.codes import RequestCode
from tests.mqadmin.conftest import Run, cells, console_of, rows

CLIENT = "10.0.0.9@views"


def test_a_broker_says_its_numbers(at: Run, servers: ServerAddresses) -> None:
    everything = at.rows("broker", "status", "-b", "broker-a")
    two = at.rows("broker", "status", "putTps", "brokerVersionDesc")
    java = at.rows("brokerStatus", "-b", servers.broker)

    assert [row["key"] for row in two] == ["putTps", "brokerVersionDesc"]
    assert two[1]["value"] == "V4_9_7"
    assert {row["key"] for row in everything} == {row["key"] for row in java}
    assert len(everything) > 40
    typo = at("broker", "status", "putTpss")
    assert (typo.exit_code, "did you mean putTps?" in typo.err) == (3, True)
    assert at("brokerStatus").exit_code == 2
    assert at("broker", "status", "-b", "127.0.0.1:1").exit_code == 4


def test_a_statistic_has_three_spans(at: Run) -> None:
    at("topic", "create", "counted", "-q", "1")
    at("message", "send", "counted", "m")

    found = at.rows("broker", "stats", "topic_put_nums", "counted")

    assert [row["span"] for row in found] == ["minute", "hour", "day"]
    assert {row["key"] for row in found} == {"counted"}
    whole = {row["name"] for row in at.rows("broker", "stats")}
    assert whole <= {"BROKER_PUT_NUMS", "BROKER_GET_NUMS"}
    assert "BROKER_PUT_NUMS" in whole


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (("TOPIC_PUT_NUM", "t"), 2, "did you mean TOPIC_PUT_NUMS?"),
        (("TOPIC_PUT_NUMS",), 2, "needs a topic"),
        (("TOPIC_PUT_NUMS", "never-made"), 3, "no broker has a count"),
        (("TOPIC_PUT_NUMS", "t", "-b", "no-broker"), 3, "broker 'no-broker' not found"),
    ],
)
def test_a_statistic_that_is_not_there(
    at: Run, words: tuple[str, ...], exit_code: int, said: str
) -> None:
    done = at("broker", "stats", *words)

    assert (done.exit_code, said in done.err) == (exit_code, True), done.err


def test_the_progress_of_every_group_on_a_broker(at: Run, servers: ServerAddresses) -> None:
    at("topic", "create", "progress", "-q", "1")
    for number in range(3):
        at("message", "send", "progress", f"m{number}")
    at("group", "create", "slow")
    at("offset", "reset", "slow", "progress", "--to", "+1", "-y")

    def mine(*words: str) -> list[dict[str, object]]:
        return [row for row in rows(at(*words)) if row["group"] == "slow"]

    found = mine("broker", "consume-stats", "-ojson")
    java = mine("brokerConsumeStats", "-b", servers.broker, "-l", "2", "--output", "json")

    assert cells(found, "topic", "queue_id", "lag") == [("progress", 0, 2)]
    assert java == found
    assert mine("broker", "consume-stats", "--min-lag", "3", "-ojson") == []
    assert at("brokerConsumeStats").exit_code == 2


@pytest.fixture
def connected(at: Run, servers: ServerAddresses) -> Iterator[None]:
    """Have a client online that is a producer and a consumer."""
    at("topic", "create", "VIEWS", "-q", "1")

    async def join() -> MQClient:
        client = MQClient(servers.namesrv, timeout_s=60)
        consumer = ConsumerData(
            group_name="VIEWS_C",
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            subscription_data_set=[SubscriptionData(topic="VIEWS", sub_string="*")],
        )
        beat = HeartbeatData(
            client_id=CLIENT,
            producer_data_set=[ProducerData(group_name="VIEWS_P")],
            consumer_data_set=[consumer],
        )
        await client.call(servers.broker, RequestCode.HEART_BEAT, what="beat", body=beat.encode())
        return client

    link = ServerLink()
    client = link.run_coroutine(join)
    yield
    link.run_coroutine(client.close)
    link.close()


@pytest.mark.usefixtures("connected")
def test_who_is_connected_to_a_broker(at: Run, servers: ServerAddresses) -> None:
    everyone = at.rows("broker", "connections")
    mine = [(row["kind"], row["group"]) for row in everyone if row["client_id"] == CLIENT]
    producers = at.rows("producer", "-b", servers.broker)
    one = at.rows("producerConnection", "-g", "VIEWS_P", "-t", "VIEWS")

    assert mine == [("consumer", "VIEWS_C"), ("producer", "VIEWS_P")]
    assert {row["kind"] for row in producers} == {"producer"}
    assert cells(one, "client_id", "language") == [(CLIENT, "PYTHON")]
    assert at("broker", "connections", "-g", "nobody").exit_code == 3
    assert at("producerConnection", "-g", "VIEWS_P", "-t", "never-made").exit_code == 3


@pytest.mark.usefixtures("connected")
def test_a_member_that_does_not_answer_is_an_error_in_its_row(at: Run) -> None:
    done = at("group", "running", "VIEWS_C", "-ojson", "--timeout", "1")

    (row,) = rows(done, exit_code=1)
    assert (row["client_id"], row["queue_count"]) == (CLIENT, 0)
    assert row["error"]


def test_a_cluster_says_what_it_did_today(at: Run, servers: ServerAddresses) -> None:
    at("topic", "create", "today", "-q", "1")
    at("message", "send", "today", "m")

    row = at.row("cluster", "status")

    assert (row["broker"], row["role"], row["address"]) == ("broker-a", "master", servers.broker)
    assert isinstance(row["in_today"], int)
    assert row["in_today"] >= 1
    assert row["error"] is None
    assert at("cluster", "status", "--cluster", "None").exit_code == 3


def test_a_round_trip_is_measured_to_every_broker(at: Run) -> None:
    row = at.row("cluster", "rt", "--count", "3", "--size", "64")

    assert (row["broker"], row["sent"], row["failed"]) == ("broker-a", 3, 0)
    low, mean, high = (row[name] for name in ("rt_min_ms", "rt_ms", "rt_max_ms"))
    # A coarse clock does not tell a short one from none.
    assert 0 <= low <= mean <= high
    planned = at.row("cluster", "rt", "--dry-run")
    assert (planned["sent"], planned["result"]) == (20, "would change")
    assert at("cluster", "rt", "--count", "0").exit_code == 2
    assert at("cluster", "rt", "--cluster", "None").exit_code == 3
    assert at("clusterRT", "-i", "never").exit_code == 2


class StopsAfter(io.StringIO):
    """An output where Ctrl-C comes with a line of this number."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._left = count

    def write(self, text: str) -> int:
        """Take the text; at the last line raise what Ctrl-C raises."""
        done = super().write(text)
        self._left -= text.count("\n")
        if self._left <= 0:
            raise KeyboardInterrupt
        return done


def test_round_trips_go_on_as_lines_for_a_log_until_interrupted(
    servers: ServerAddresses, env: dict[str, str]
) -> None:
    out, workplace = StopsAfter(2), Workplace()
    console = console_of(env)[0]._replace(out=out)
    java = ["clusterRT", "-a", "1", "-s", "1", "-i", "0.01", "-p", "true", "-m", "here"]

    exit_code = run_line([*java, "-n", servers.namesrv], console, workplace)
    workplace.link.close()

    assert exit_code == 130
    line = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\|here\|DefaultCluster\|broker-a\|\d+\n"
    assert re.fullmatch(line * 2, out.getvalue())
