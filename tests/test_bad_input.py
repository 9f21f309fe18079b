"""Bad input end to end: a clear error, the documented code, and a server that goes on serving.

Each case goes through the real door: the installed command line, or a socket, against the
embedded servers as a process of their own.
"""

import json
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.pytest_plugin import RocketMQ
from tests.programs import python

BODY_SIZE_MAX = 4 << 20


def mqadmin(*words: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "mqadmin", *words, code=None)


@pytest.fixture
def served(rocketmq: RocketMQ) -> Iterator[RocketMQ]:
    """The embedded pair; afterwards it must still store and find a message."""
    yield rocketmq
    alive = mqadmin("-n", rocketmq.namesrv, "message", "send", "alive", "ok", "-o", "json")
    assert alive.returncode == 0, alive.stderr
    assert json.loads(alive.stdout)[0]["status"] == "SEND_OK"


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_an_unknown_topic_is_not_found(served: RocketMQ) -> None:
    done = mqadmin("-n", served.namesrv, "topic", "show", "nobody_made_this")

    assert done.returncode == 3
    assert "nobody_made_this" in one_line(done)


@pytest.mark.parametrize("name", ["a/b", "../../etc", "..", "x" * 128, "with blank", ""])
def test_a_bad_topic_name_is_wrong_usage(served: RocketMQ, name: str) -> None:
    done = mqadmin("-n", served.namesrv, "topic", "create", name, "-y")

    assert done.returncode == 2
    one_line(done)


def test_a_body_over_4_mib_is_refused(served: RocketMQ, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * (BODY_SIZE_MAX + 1))

    done = mqadmin("-n", served.namesrv, "message", "send", "T", "--file", str(large))

    assert done.returncode in (1, 2)
    assert str(BODY_SIZE_MAX) in one_line(done)


def test_properties_over_32767_bytes_are_refused(served: RocketMQ) -> None:
    words = ("message", "send", "T", "body", "--property", "p=" + "x" * 32_768)

    done = mqadmin("-n", served.namesrv, *words)

    assert done.returncode in (1, 2)
    assert "32767" in one_line(done)


def test_errors_are_json_where_the_output_is(served: RocketMQ) -> None:
    done = mqadmin("-n", served.namesrv, "-o", "json", "topic", "show", "nobody_made_this")

    assert done.returncode == 3
    error = json.loads(done.stderr)["error"]
    assert error["code"] == "not_found"
    assert "nobody_made_this" in error["message"]


def test_no_server_is_unreachable() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        done = mqadmin("-n", address, "topic", "list")

    assert done.returncode == 4
    assert address in one_line(done)


JSON_HEADER = b'{"code":10,"opaque":1}'
BAD_FRAMES = {
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "too long": struct.pack(">ii", 1 << 30, 10),
    "negative": struct.pack(">ii", -5, 10),
    "header past the frame": struct.pack(">ii", 30, 4000) + bytes(26),
    "unknown serialisation": struct.pack(">iI", 30, 9 << 24 | 20) + bytes(26),
    "no json": struct.pack(">ii", 4 + 10, 10) + b"not a json",
    "deep json": struct.pack(">ii", 4 + 20_000, 20_000) + b"[" * 20_000,
    "no code": struct.pack(">ii", 4 + 12, 12) + b'{"opaque":1}',
}


@pytest.mark.parametrize("case", sorted(BAD_FRAMES))
@pytest.mark.parametrize("door", ["broker", "namesrv"])
def test_a_bad_frame_closes_its_connection_only(served: RocketMQ, door: str, case: str) -> None:
    host, port = getattr(served, door).rsplit(":", 1)

    with socket.create_connection((host, int(port)), timeout=60) as link:
        link.sendall(BAD_FRAMES[case])
        answer = link.recv(1024)

    assert answer == b""


def test_a_send_without_its_fields_is_answered(served: RocketMQ) -> None:
    host, port = served.broker.rsplit(":", 1)

    with socket.create_connection((host, int(port)), timeout=60) as link:
        link.sendall(struct.pack(">ii", 4 + len(JSON_HEADER), len(JSON_HEADER)) + JSON_HEADER)
        size, mark = struct.unpack(">iI", link.recv(8))
        header = json.loads(link.recv(size)[: mark & 0xFFFFFF])

    assert header["code"] == 1
    assert header["opaque"] == 1
    assert header["remark"]


@pytest.mark.parametrize("verb", ["info", "ls", "log", "offsets", "checkpoint", "verify"])
def test_a_directory_that_is_no_store_says_so(tmp_path: Path, verb: str) -> None:
    done = mqadmin("store", verb, str(tmp_path))

    assert done.returncode == 3
    assert str(tmp_path) in one_line(done)
    assert list(tmp_path.iterdir()) == []


def test_half_a_json_file_is_read_from_its_good_backup(basic: Path) -> None:
    offsets = basic / "config" / "consumerOffset.json"
    whole = offsets.read_text()
    offsets.with_name(offsets.name + ".bak").write_text(whole)
    expected = mqadmin("store", "offsets", str(basic), "-o", "json").stdout
    offsets.write_text(whole[: len(whole) // 2])

    done = mqadmin("store", "offsets", str(basic), "-o", "json")

    assert done.returncode == 0
    assert json.loads(done.stdout) == json.loads(expected) != []
    assert "consumerOffset.json" in done.stderr


def test_a_broker_starts_from_the_good_backup_and_not_from_two_bad_files(basic: Path) -> None:
    topics = basic / "config" / "topics.json"
    topics.with_name("topics.json.bak").write_text(topics.read_text())
    topics.write_text(topics.read_text()[:100])

    assert "clicks_v1" in topics_served_from(basic)

    topics.write_text("{")
    topics.with_name("topics.json.bak").write_text("")
    refused = python(
        "-m", "mqserver.embedded", "--store", str(basic), "--namesrv-port", "0", code=1
    )
    assert "topics.json" in refused.stderr
    assert "Traceback" not in refused.stderr


def topics_served_from(store: Path) -> str:
    words = ("shell", "--embedded", "--store", store)
    return python("-m", "mqadmin", *words, input="topic list -o name\n").stdout
