"""Pytest fixtures: a real RocketMQ for the tests of services, in any language.

    def test_orders(rocketmq_broker):
        client = connect(rocketmq_broker.namesrv)

    rocketmq_broker         one name server and broker for the whole test run
    rocketmq_broker_fresh   a pair of its own, with an empty store, for each test that asks

Rule: a pair is a process of its own on free loopback ports with a temporary store; it
starts with the first test that asks for it and ends with the session (or the test), also when
pytest itself is killed, since its stdin ends then. Broker settings come from the environment:
``ROCKETMQ_<key>``.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

STOP_S = 60.0


class RocketMQ(NamedTuple):
    """A running pair: ``host:port`` of both, and the store directory.

    Attributes:
        namesrv: the name server.
        broker: the broker.
        store: its store directory.
        grpc: the port for gRPC clients of RocketMQ 5.
    """

    namesrv: str
    broker: str
    store: Path
    grpc: str = ""


@pytest.fixture(scope="session")
def rocketmq_broker() -> Iterator[RocketMQ]:
    """Start a name server and a broker, and stop them after the last test."""
    with running_pair() as pair:
        yield pair


@pytest.fixture
def rocketmq_broker_fresh() -> Iterator[RocketMQ]:
    """Start a name server and a broker for this test alone."""
    with running_pair() as pair:
        yield pair


@contextmanager
def running_pair() -> Iterator[RocketMQ]:
    """Start a name server and a broker, and stop them at the end of the block."""
    command = [sys.executable, "-m", "mqserver.embedded", "--until-stdin-closes"]
    with subprocess.Popen(
        [*command, "--namesrv-port", "0", "--broker-port", "0", "--grpc-port", "0"],
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
        try:
            yield RocketMQ(ready["namesrv"], ready["broker"], Path(ready["store"]), ready["grpc"])
        finally:
            process.stdin.close()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
