"""The exporter at a real broker: what is scraped, and how it ends."""

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mqadmin.shell.server import EmbeddedServer, ServerAddresses
from tests.mqadmin.conftest import Run


def prepared(at: Run) -> None:
    at("topic", "create", "EXPORTED", "-q", "1")
    at("message", "send", "EXPORTED", "m")
    at("group", "create", "EXPORTERS")
    at("offset", "reset", "EXPORTERS", "EXPORTED", "--to", "0", "-y")


def test_once_gives_rows(at: Run) -> None:
    prepared(at)

    metrics = at.rows("exporter", "--once")

    found = {(row["metric"], row["labels"].get("topic")): row for row in metrics}
    assert found["rocketmq_producer_offset", "EXPORTED"]["value"] >= 1
    lag = found["rocketmq_group_diff", "EXPORTED"]
    assert lag["value"] >= 1
    assert lag["labels"] == {
        "group": "EXPORTERS",
        "topic": "EXPORTED",
        "countOfOnlineConsumers": "0",
        "msgModel": "1",
    }
    assert ("rocketmq_brokeruntime_commitlog_maxoffset", None) in found


@contextmanager
def exporting(namesrv: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run an exporter on a free port, and yield its process and its address."""
    words = ["-m", "mqadmin", "exporter", "-p", "0", "-n", namesrv, *options]
    child = subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True)
    try:
        assert child.stderr is not None
        found = re.search(r"http://[^/]+", child.stderr.readline())
        assert found is not None
        yield child, found[0]
    finally:
        child.kill()
        child.wait()
        child.stderr.close()


def health(address: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_it_serves_until_it_is_interrupted(at: Run, servers: ServerAddresses) -> None:
    prepared(at)
    with exporting(servers.namesrv) as (child, address):
        with urllib.request.urlopen(f"{address}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
    assert "rocketmq_exporter_up 1.0" in text
    assert re.search(r'rocketmq_producer_offset\{.*topic="EXPORTED"\} [1-9]', text)
    assert "# TYPE rocketmq_group_diff gauge" in text


def test_health_is_200_until_nobody_answers() -> None:
    with EmbeddedServer() as server, exporting(server.addresses.namesrv) as (_, address):
        assert health(address) == (200, {"healthy": True, "findings": []})
        server.stop()
        status, told = health(address)

    assert status == 503
    assert told["healthy"] is False
    assert server.addresses.namesrv in told["error"]


def test_exit_codes(at: Run, run: Run) -> None:
    assert run("exporter", "-n", "127.0.0.1:1").exit_code == 4
    assert at("exporter", "-p", "99999").exit_code == 2
    assert at("exporter", "--watch").exit_code == 2
