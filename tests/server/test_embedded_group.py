"""A group on loopback: its master is killed, another broker leads, and the old one comes back."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mqclient import BlockingAdmin, BlockingClient
from mqclient.errors import ClientError
from mqclient.message import Message
from mqserver.pytest_plugin import RocketMQGroup
from remoting.bodies import ReplicasInfo
from storefmt.config.tables import TopicConfig
from tests.waiting import wait

TOPIC = "Survives"


def info_of(group: RocketMQGroup) -> ReplicasInfo | None:
    with BlockingClient(group.namesrv) as client, BlockingAdmin(client) as admin:
        return admin.sync_state_data(group.controller, ["broker-a"]).get("broker-a")


def accepted(client: BlockingClient, body: bytes) -> bool:
    try:
        client.send(Message(TOPIC, body), timeout_s=2)
    except ClientError:
        return False
    return True


def test_after_the_kill_of_the_master_sends_go_on(rocketmq_group: RocketMQGroup) -> None:
    first = rocketmq_group.master
    with BlockingClient(rocketmq_group.namesrv) as client, BlockingAdmin(client) as admin:
        admin.create_topic(first, TopicConfig(TOPIC, 1, 1))
    with BlockingClient(rocketmq_group.namesrv) as client:
        wait(lambda: accepted(client, b"before"), bool)
        rocketmq_group.kill(first)
        second = wait(lambda: rocketmq_group.master, lambda at: at not in ("", first))
    with BlockingClient(rocketmq_group.namesrv) as client:
        wait(lambda: accepted(client, b"after"), bool)

    rocketmq_group.start(first)
    back = wait(
        lambda: info_of(rocketmq_group),
        lambda info: info is not None and len(info.in_sync_replicas) == 3,
        timeout_s=120,
    )

    assert second in rocketmq_group.brokers
    assert back is not None
    assert back.master_address == second


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_no_broker_outlives_the_group(
    end: signal.Signals, made_group: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    child = made_group()
    line = child.stdout.readline() if child.stdout is not None else ""
    pids = [int(part.split(",")[0]) for part in line.split('"pid": ')[1:]]

    child.send_signal(end)

    assert len(pids) == 1
    wait(lambda: [pid for pid in pids if is_running(pid)], lambda left: not left, timeout_s=60)


@pytest.fixture
def made_group(tmp_path: Path) -> "Callable[[], subprocess.Popen[str]]":
    """Return a function that starts a group of one broker."""
    command = [sys.executable, "-m", "mqserver.embedded_group", "--replicas", "1"]
    command += ["--namesrv-port", "0", "--store", str(tmp_path / "store"), "--until-stdin-closes"]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    return start


def is_running(pid: int) -> bool:
    try:
        # One that ended and was not waited for counts as gone.
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_an_unknown_broker_is_answered_with_an_error(rocketmq_group: RocketMQGroup) -> None:
    with pytest.raises(ValueError, match="no broker 127"):
        rocketmq_group.start("127.0.0.1:1")
