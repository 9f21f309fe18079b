"""The exporter at a real broker: what is scraped, and how it ends."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable

from mqadmin.shell.server import Addresses
from tests.mqadmin.conftest import Result

Run = Callable[..., Result]


def prepared(at: Run) -> None:
    at("topic", "create", "EXPORTED", "-q", "1")
    at("message", "send", "EXPORTED", "m")
    at("group", "create", "EXPORTERS")
    at("offset", "reset", "EXPORTERS", "EXPORTED", "--to", "0", "-y")


def test_once_gives_rows(at: Run) -> None:
    prepared(at)

    done = at("exporter", "--once", "-ojson")

    assert done.exit_code == 0, done.err
    found = {(row["metric"], row["labels"].get("topic")): row for row in json.loads(done.out)}
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


def test_it_serves_until_it_is_interrupted(at: Run, servers: Addresses) -> None:
    prepared(at)
    words = ["-m", "mqadmin", "exporter", "-p", "0", "-n", servers.namesrv]
    child = subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True)
    try:
        assert child.stderr is not None
        found = re.search(r"http://\S+", child.stderr.readline())
        assert found is not None
        with urllib.request.urlopen(found[0], timeout=60) as answer:
            text = answer.read().decode()
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
    finally:
        child.kill()
        child.wait()
        child.stderr.close()
    assert "rocketmq_exporter_up 1.0" in text
    assert re.search(r'rocketmq_producer_offset\{.*topic="EXPORTED"\} [1-9]', text)
    assert "# TYPE rocketmq_group_diff gauge" in text


def test_exit_codes(at: Run, run: Run) -> None:
    assert run("exporter", "-n", "127.0.0.1:1").exit_code == 4
    assert at("exporter", "-p", "99999").exit_code == 2
    assert at("exporter", "--watch").exit_code == 2
