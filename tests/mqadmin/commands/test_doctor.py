"""The doctor at a real broker: what it finds, and its exit code as a health probe."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mqadmin.link import Link
from mqadmin.shell.server import Addresses
from remoting.bodies import ConsumerRunningInfo, ProcessQueueInfo, SubscriptionData
from remoting.codes import RequestCode
from remoting.command import Command
from tests.mqadmin.commands.test_online_group import GROUP, QUEUES, TOPIC, Member
from tests.mqadmin.conftest import Result

Run = Callable[..., Result]
NOT_THE_DISK = tuple(
    word
    for name in ("address", "master", "clock", "slave", "route", "subscription", "queue")
    for word in ("--check", name)
)


class Odd(Member):
    """A member that reads one of two queues and says what it wants."""

    def answer(self, address: str, request: Command) -> Command | None:
        """Answer what a broker asks a consumer."""
        if request.code != RequestCode.GET_CONSUMER_RUNNING_INFO:
            return None
        info = ConsumerRunningInfo(
            subscription_set=[SubscriptionData(topic=TOPIC, sub_string="x")],
            mq_table={QUEUES[0]: ProcessQueueInfo()},
        )
        return request.response(body=info.encode())


@pytest.fixture
def odd(at: Run, servers: Addresses) -> Iterator[None]:
    at("topic", "create", TOPIC, "-q", "2")
    at("offset", "reset", GROUP, TOPIC, "--to", "latest", "-y")
    link = Link()
    client = link.run(Odd().join(servers.namesrv, servers.broker))
    yield
    link.run(client.close())
    link.close()


def findings(done: Result) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(done.out)
    return made


def test_a_healthy_cluster_is_healthy(at: Run) -> None:
    done = at("doctor", *NOT_THE_DISK, "-ojson")

    assert (done.exit_code, findings(done)) == (0, [])
    assert "nothing found" in done.err


def test_a_queue_that_nobody_reads_is_found(at: Run, odd: None) -> None:
    done = at("doctor", "--check", "queue", "-ojson")

    assert done.exit_code == 0
    found = findings(done)
    assert [(one["severity"], one["check"]) for one in found] == [("warning", "queue")]
    assert found[0]["found"] == "nobody reads broker-a:1"
    assert at("doctor", "--check", "queue", "--fail-on", "warning").exit_code == 1
    assert at("doctor", "--check", "queue", "--fail-on", "never").exit_code == 0


def test_wrong_words_and_nobody_there(at: Run, run: Run) -> None:
    assert at("doctor", "--check", "weather").exit_code == 2
    assert run("doctor", "-n", "127.0.0.1:1").exit_code == 4
