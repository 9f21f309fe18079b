"""The embedded pair as a process: ready line, clean end, nothing left behind."""

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mqserver.embedded import GRPC_PORT, main
from remoting.aio.client import RemotingClient
from remoting.bodies import TopicRouteData
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import GetRouteInfo
from tests.ports import free_ports
from tests.server.broker.desk import send as send_header

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a pair on free ports and kills it after the test."""
    running: list[subprocess.Popen[str]] = []

    def start_pair(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "mqserver.embedded", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start_pair
    for process in running:
        with process:
            if process.poll() is None:
                process.kill()


FREE = ("--namesrv-port", "0", "--broker-port", "0")


def ready(process: subprocess.Popen[str]) -> dict[str, str]:
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    return json.loads(line)


def ask(address: str, command: Command) -> Command:
    async def exchange() -> Command:
        client = RemotingClient()
        answer = await client.invoke(address, command, timeout_s=60)
        await client.close()
        return answer

    return asyncio.run(exchange())


def send(address: str, body: bytes) -> Command:
    header = send_header(topic="T")
    return ask(address, Command.request(RequestCode.SEND_MESSAGE_V2, header, body=body))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_both_serve_at_the_ready_line_and_a_signal_leaves_nothing(start: Start, number) -> None:
    process = start(*FREE)
    pair = ready(process)

    request = Command.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfo(topic="TBW102"))
    route = TopicRouteData.decode(ask(pair["namesrv"], request).body)
    stored = Path(pair["store"])
    was_there = stored.is_dir()
    process.send_signal(number)

    assert process.wait(timeout=60) == 0
    assert route.broker_datas[0].broker_addrs == {0: pair["broker"]}
    assert (was_there, stored.parent.exists()) == (True, False)
    assert "Traceback" not in process.communicate()[1]


def test_a_message_is_stored_and_its_topic_registered(start: Start) -> None:
    pair = ready(start(*FREE))

    answer = send(pair["broker"], b"hello")

    assert (answer.code, answer.ext["queueOffset"]) == (0, "0")


def test_a_store_that_is_named_is_kept_and_continued(start: Start, tmp_path: Path) -> None:
    offsets = []
    for _ in range(2):
        process = start("--store", str(tmp_path / "mine"), *FREE)
        pair = ready(process)
        offsets.append(send(pair["broker"], b"hello").ext["queueOffset"])
        process.terminate()
        assert process.wait(timeout=60) == 0

    assert pair["store"] == str(tmp_path / "mine")
    assert offsets == ["0", "1"]
    assert not (tmp_path / "mine" / "abort").exists()


def test_a_killed_pair_loses_nothing_that_was_answered(start: Start, tmp_path: Path) -> None:
    first = start("--store", str(tmp_path / "mine"), *FREE)
    broker = ready(first)["broker"]
    for count in range(3):
        assert send(broker, b"x" * count).code == 0
    first.kill()
    first.wait(timeout=60)

    pair = ready(start("--store", str(tmp_path / "mine"), *FREE))

    assert send(pair["broker"], b"next").ext["queueOffset"] == "3"


def test_the_end_of_stdin_stops_it_when_asked_to(start: Start) -> None:
    process = start("--until-stdin-closes", *FREE)
    ready(process)

    process.stdin.close()

    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize(
    ("flag", "taken"), [("--namesrv-port", "namesrv"), ("--broker-port", "broker")]
)
def test_a_taken_port_is_one_line_and_exit_1(start: Start, flag, taken) -> None:
    address = ready(start(*FREE))[taken]

    second = start(*FREE, flag, address.rpartition(":")[2])
    error = second.communicate(timeout=60)[1]

    assert second.returncode == 1
    assert f"embedded: cannot listen on {address}: address already in use" in error
    assert "Traceback" not in error


def test_without_the_usual_port_for_grpc_the_pair_starts_all_the_same(start: Start) -> None:
    at = free_ports(2)
    with socket.socket() as taken:
        # Somebody else may have it already, which is as good.
        with contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", GRPC_PORT))
        process = start("--namesrv-port", str(at), "--broker-port", str(at + 1))
        told = ready(process)
        process.terminate()
        error = process.communicate(timeout=60)[1]

    assert told["grpc"] == ""
    assert f"{GRPC_PORT} is taken; --grpc-port names another" in error


def test_one_store_serves_one_broker(start: Start, tmp_path: Path) -> None:
    ready(start("--store", str(tmp_path / "mine"), *FREE))

    second = start("--store", str(tmp_path / "mine"), *FREE)
    error = second.communicate(timeout=60)[1]

    assert second.returncode == 1
    assert "lock" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("argv", [["--broker-port", "x"], ["--namesrv-port", "70000"], ["extra"]])
def test_a_wrong_flag_exits_with_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)

    assert caught.value.code == 2
