"""Pytest fixtures: a real RocketMQ for the tests of services, in any language.

    def test_orders(rocketmq_broker):
        client = connect(rocketmq_broker.namesrv)

    rocketmq_broker         one name server and broker for the whole test run
    rocketmq_broker_fresh   a pair of its own, with an empty store, for each test that asks
    rocketmq_start          starts further pairs, with settings; they end with the test
    rocketmq_group          a name server, a controller and three brokers of one group, for each
                            test that asks; it may kill brokers, and the group goes on
    rocketmq_client         a ``mqclient.BlockingClient`` of ``rocketmq_broker``
    rocketmq_topic          the name of a topic of the test's own on ``rocketmq_broker``

Rule: this module is imported into every run of pytest beside which it is installed, so it imports
nothing of the servers; a pair is a process of its own. It starts with the first test that asks for
it, on free loopback ports with a temporary store, and ends with the session (or the test), and also
when pytest is killed, because its standard input ends then. Settings of the broker come from
``rocketmq_settings`` in pytest's configuration and from the environment, as ``ROCKETMQ_<key>``.

With pytest-xdist each worker has a pair of its own; ``rocketmq_shared = true`` in pytest's
configuration gives all workers one, which the process that distributes the tests starts.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from mqclient import BlockingClient

STOP_S = 60.0
SETTING = "ROCKETMQ_"
ADDRESSES = "rocketmq_addresses"
"""The key under which a worker of pytest-xdist finds the addresses of the shared pair."""
Start = Callable[..., "RocketMQ"]
"""Starts a pair: ``rocketmq_start({"enableLmq": "true"})``."""


class RocketMQ:
    """A running pair: ``host:port`` of both, and the store directory.

    Attributes:
        namesrv: the name server.
        broker: the broker.
        store: its store directory.
        grpc: the port for gRPC clients of RocketMQ 5, as ``host:port``.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = dict(settings or {})
        self._process: subprocess.Popen[str] | None = None
        self._ports = ["--namesrv-port", "0", "--broker-port", "0", "--grpc-port", "0"]
        self.namesrv = self.broker = self.grpc = ""
        self.store = Path()

    @classmethod
    def at(cls, addresses: Mapping[str, str]) -> Self:
        """Return a pair that another process has started; it cannot be stopped here."""
        pair = cls()
        pair._adopt(addresses)
        return pair

    @property
    def addresses(self) -> dict[str, str]:
        """Return the addresses and the store as text."""
        return {
            "namesrv": self.namesrv,
            "broker": self.broker,
            "grpc": self.grpc,
            "store": str(self.store),
        }

    def start(self) -> None:
        """Start the pair; after ``stop`` or ``kill``, on the same ports with the same store."""
        import json

        if not self.namesrv:
            import tempfile

            self.store = Path(tempfile.mkdtemp(prefix="rocketmq-"))
        command = [sys.executable, "-P", "-m", "mqserver.embedded", "--until-stdin-closes"]
        self._process = process = subprocess.Popen(
            [*command, *self._ports, "--store", str(self.store), "--remove-store"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {f"{SETTING}{key}": text for key, text in self._settings.items()},
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            pytest.fail(f"the embedded broker did not start, exit code {process.wait()}")
        self._adopt(json.loads(line))

    def stop(self) -> None:
        """Stop the pair in order; its store stays."""
        self._running().terminate()
        self._wait()

    def kill(self) -> None:
        """End the pair as a crash does; its store stays as it is."""
        self._running().kill()
        self._wait()

    def restart(self) -> None:
        """Stop the pair in order and start it again."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop the pair and remove its store; it cannot be started again."""
        import shutil

        if self._process is not None:
            process = self._process
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            finally:
                self._wait()
        shutil.rmtree(self.store, ignore_errors=True)

    def _adopt(self, addresses: Mapping[str, str]) -> None:
        self.namesrv, self.broker = addresses["namesrv"], addresses["broker"]
        self.grpc, self.store = addresses["grpc"], Path(addresses["store"])
        self._ports = []
        for name in ("namesrv", "broker", "grpc"):
            self._ports += [f"--{name}-port", addresses[name].rpartition(":")[2] or "0"]

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RuntimeError("the pair does not run here: start it, or ask for a fresh one")
        return self._process

    def _wait(self) -> None:
        process, self._process = self._running(), None
        process.wait(STOP_S)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


class RocketMQGroup:
    """A running group of brokers, of which a controller makes one the master.

    Attributes:
        namesrv, controller: ``host:port``.
        brokers: process id of each broker by its address.
    """

    def __init__(self, replicas: int = 3) -> None:
        import json

        command = [sys.executable, "-P", "-m", "mqserver.embedded_group", "--until-stdin-closes"]
        self._process = subprocess.Popen(
            [*command, "--namesrv-port", "0", "--replicas", str(replicas)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            pytest.fail(f"the group did not start, exit code {self._process.wait()}")
        said = json.loads(line)
        self.namesrv: str = said["namesrv"]
        self.controller: str = said["controller"]
        self.brokers: dict[str, int] = {}
        self._adopt(said)

    @property
    def master(self) -> str:
        """Return the address of the master that the controller names; "" for none."""
        from mqclient import BlockingAdmin, BlockingClient

        with BlockingClient(self.namesrv) as client, BlockingAdmin(client) as admin:
            table = admin.sync_state_data(self.controller, ["broker-a"])
        return table["broker-a"].master_address or ""

    def kill(self, address: str) -> None:
        """End a broker as a crash does."""
        os.kill(self.brokers[address], signal.SIGKILL)

    def pause(self, address: str) -> None:
        """Let a broker hang, until ``resume``."""
        os.kill(self.brokers[address], signal.SIGSTOP)

    def resume(self, address: str) -> None:
        """Let a broker go on that hangs."""
        os.kill(self.brokers[address], signal.SIGCONT)

    def start(self, address: str) -> None:
        """Start a broker that was killed, on its store and its ports.

        Raises:
            ValueError: the group has no such broker.
        """
        import json

        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"start {address}\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        if "error" in said:
            raise ValueError(said["error"])
        self._adopt(said)

    def close(self) -> None:
        """Stop all servers; a temporary store is removed."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait(STOP_S)

    def _adopt(self, said: Mapping[str, Any]) -> None:
        self.brokers = {broker["address"]: broker["pid"] for broker in said["brokers"]}


@contextmanager
def running_pair(settings: Mapping[str, str] | None = None) -> Iterator[RocketMQ]:
    """Start a name server and a broker, and stop them at the end of the block."""
    pair = RocketMQ(settings)
    try:
        pair.start()
        yield pair
    finally:
        pair.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what pytest's configuration may say."""
    text = "settings of the broker that the fixtures start, a line each: key=value"
    parser.addini("rocketmq_settings", text, type="linelist", default=[])
    text = "whether all workers of pytest-xdist share one pair"
    parser.addini("rocketmq_shared", text, type="bool", default=False)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker of pytest-xdist the addresses of the pair that all of them share."""
    if not node.config.getini("rocketmq_shared"):
        return
    pair = node.config.stash.get(_SHARED, None)
    if pair is None:
        pair = node.config.stash[_SHARED] = RocketMQ(_settings_of(node.config))
        node.config.add_cleanup(pair.close)
        pair.start()
    node.workerinput[ADDRESSES] = pair.addresses


_SHARED = pytest.StashKey[RocketMQ]()


def _settings_of(config: pytest.Config) -> dict[str, str]:
    """Return the settings that pytest's configuration has for the broker."""
    lines = config.getini("rocketmq_settings")
    bad = [line for line in lines if "=" not in line]
    if bad:
        raise pytest.UsageError(f"rocketmq_settings: {bad[0]!r} is not key=value")
    pairs = (line.split("=", 1) for line in lines)
    return {key.strip(): text.strip() for key, text in pairs}


@pytest.fixture(scope="session")
def rocketmq_broker(request: pytest.FixtureRequest) -> Iterator[RocketMQ]:
    """Start a name server and a broker, and stop them after the last test."""
    shared = getattr(request.config, "workerinput", {}).get(ADDRESSES)
    if shared is not None:
        yield RocketMQ.at(shared)
        return
    with running_pair(_settings_of(request.config)) as pair:
        yield pair


@pytest.fixture
def rocketmq_broker_fresh(request: pytest.FixtureRequest) -> Iterator[RocketMQ]:
    """Start a name server and a broker for this test alone; it may restart and kill them."""
    with running_pair(_settings_of(request.config)) as pair:
        yield pair


@pytest.fixture
def rocketmq_start(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Return a function that starts pairs with settings of their own; they end with the test."""
    with ExitStack() as pairs:

        def start(settings: Mapping[str, str] | None = None) -> RocketMQ:
            """Start a pair; ``settings`` go before those of the configuration."""
            own = _settings_of(request.config) | dict(settings or {})
            return pairs.enter_context(running_pair(own))

        yield start


@pytest.fixture
def rocketmq_group() -> Iterator[RocketMQGroup]:
    """Start a group of three brokers for this test alone; it may kill and start them."""
    group = RocketMQGroup()
    try:
        yield group
    finally:
        group.close()


@pytest.fixture(scope="session")
def rocketmq_client(rocketmq_broker: RocketMQ) -> "Iterator[BlockingClient]":
    """Return a blocking client of ``rocketmq_broker``, for the whole run."""
    from mqclient import BlockingClient

    with BlockingClient(rocketmq_broker.namesrv) as client:
        yield client


@pytest.fixture
def rocketmq_topic(rocketmq_broker: RocketMQ, rocketmq_client: "BlockingClient") -> str:
    """Return the name of a new topic with four queues, which no other test has."""
    import uuid

    from mqclient import BlockingAdmin
    from storefmt.config.tables import TopicConfig

    topic = f"test-{uuid.uuid4().hex}"
    with BlockingAdmin(rocketmq_client) as admin:
        admin.create_topic(rocketmq_broker.broker, TopicConfig(topic, 4, 4))
    return topic
