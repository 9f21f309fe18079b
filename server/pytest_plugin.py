"""The pytest fixture ``rocketmq``: a running name server and broker for a test session.

    def test_orders(rocketmq):
        client = connect(rocketmq.namesrv)

Rule: the pair is a process of its own on free loopback ports with a temporary store; it
starts with the first test that asks for it and ends with the session, also when pytest
itself is killed, since its stdin ends then.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

STOP_S = 10.0


class RocketMQ(NamedTuple):
    """A running pair: ``host:port`` of both, and the store directory."""

    namesrv: str
    broker: str
    store: Path


@pytest.fixture(scope="session")
def rocketmq() -> Iterator[RocketMQ]:
    """Start a name server and a broker, and stop them after the last test."""
    command = [sys.executable, "-m", "server.embedded", "--until-stdin-closes"]
    with subprocess.Popen(
        [*command, "--namesrv-port", "0", "--broker-port", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            pytest.fail(f"the embedded broker did not start, exit code {process.wait()}")
        ready = json.loads(line)
        yield RocketMQ(ready["namesrv"], ready["broker"], Path(ready["store"]))
        process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
