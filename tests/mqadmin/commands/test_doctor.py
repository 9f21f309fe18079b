"""The doctor at a real broker: what it finds, and its exit code as a health probe."""

from collections.abc import Iterator

import pytest

from mqadmin.commands.doctor import LINES_EACH
from mqadmin.health.checkup import Check, not_run
from mqadmin.output.screen import worst_last
from mqadmin.shell.server import EmbeddedServer, ServerAddresses
from remoting.bodies import ConsumerRunningInfo, ProcessQueueInfo, SubscriptionData
from remoting.codes import RequestCode
from remoting.command import Command
from tests.mqadmin.commands.test_online_group import GROUP, QUEUES, TOPIC, Member, online
from tests.mqadmin.conftest import Run, cells

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
def odd(at: Run, servers: ServerAddresses) -> Iterator[None]:
    at("topic", "create", TOPIC, "-q", "2")
    at("offset", "reset", GROUP, TOPIC, "--to", "latest", "-y")
    with online(Odd(), servers):
        yield


def test_a_healthy_cluster_is_healthy(at: Run) -> None:
    done = at("doctor", *NOT_THE_DISK, "-ojson")

    assert (done.exit_code, done.rows) == (0, [])
    assert "no findings" in done.err


def test_a_queue_that_nobody_reads_is_found(at: Run, odd: None) -> None:
    done = at("doctor", "--check", "queue", "-ojson")

    assert done.exit_code == 0
    found = done.rows
    assert cells(found, "severity", "check") == [("warning", "queue")]
    assert found[0]["found"] == "no member reads broker-a:1"
    assert at("doctor", "--check", "queue", "--fail-on", "warning").exit_code == 1
    assert at("doctor", "--check", "queue", "--fail-on", "never").exit_code == 0


def test_messages_that_wait_for_a_group_are_found(at: Run, odd: None) -> None:
    at("message", "send", TOPIC, "waits", "--queue", "0")

    found = at.rows("doctor", "--check", "backlog", "--backlog", "0")

    assert cells(found, "subject", "found") == [
        (f"group {GROUP}, topic {TOPIC}", "1 messages are waiting")
    ]
    assert at.rows("doctor", "--check", "backlog") == []


def test_name_servers_that_differ_are_found(run: Run, servers: ServerAddresses) -> None:
    with EmbeddedServer() as other:
        both = f"{servers.namesrv};{other.addresses.namesrv}"
        words = ("doctor", "--check", "namesrv", "-ojson")
        done = run(*words, "-n", both)
        alone = run(*words, "-n", servers.namesrv)

    assert (done.exit_code, alone.exit_code) == (1, 0)
    registered = [one for one in done.rows if one["subject"].startswith("broker-a (0) at")]
    assert sorted(one["found"] for one in registered) == sorted(
        f"registered at {here}, but not at {there}"
        for here, there in (
            (servers.namesrv, other.addresses.namesrv),
            (other.addresses.namesrv, servers.namesrv),
        )
    )
    silent = run(*words, "-n", f"{servers.namesrv};127.0.0.1:1")
    assert [one["subject"] for one in silent.rows] == ["name server 127.0.0.1:1"]


def test_wrong_words_and_nobody_there(at: Run, run: Run) -> None:
    assert at("doctor", "--check", "weather").exit_code == 2
    assert run("doctor", "-n", "127.0.0.1:1").exit_code == 4


def test_a_screen_that_is_too_short_ends_with_the_worst() -> None:
    findings = [not_run(check, "brokers", "silent") for check in (Check.DISK, Check.CLOCK)]

    assert worst_last(findings, lines_each=LINES_EACH, height=24) == findings
    assert worst_last(findings, lines_each=LINES_EACH, height=8) == findings[::-1]
    assert worst_last([], height=1) == []
