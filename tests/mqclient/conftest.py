"""The servers and clients of these tests; the contexts are entered for the time of a test."""

import pytest

from mqclient.client.instance import MQClient
from mqserver.pytest_plugin import RocketMQ
from tests.mqclient.fake import FakeServer


@pytest.fixture
def fake() -> FakeServer:
    """Run a server that answers what the test tells it to."""
    return FakeServer()


@pytest.fixture
def client(rocketmq: RocketMQ) -> MQClient:
    """Open a client of the name server and the broker that the tests share."""
    return MQClient(rocketmq.namesrv, timeout_s=60)
