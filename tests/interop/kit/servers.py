"""Name servers and brokers as processes of a test: the real RocketMQ 4.9.7, and ours.

    JavaSide, OurSide   how that side's programs are started, where its logs go
    Namesrv             127.0.0.1, a free port
    Broker              127.0.0.1, free ports, a store directory of its own

Both sides read the same broker.conf and print the same words when they serve.

Rule: everything is written below the scratch directory, also what RocketMQ puts into the
user's home; servers are stopped by SIGTERM, a broker also by SIGKILL where a test wants that.

Source: broker/BrokerStartup.java, namesrv/NamesrvStartup.java.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol, Self

import yaml

from tests.golden import REPOSITORY
from tests.interop.kit.process import Child
from tests.ports import free_ports

START_TIMEOUT_S = 120.0

_LOGBACK = """<configuration>
  <appender name="FILE" class="ch.qos.logback.core.FileAppender">
    <file>{directory}/{name}.log</file>
    <encoder><pattern>%d %p %t - %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="FILE"/></root>
</configuration>
"""

SMALL_STORE: Mapping[str, str] = {
    "mappedFileSizeCommitLog": str(1024 * 1024),
    "mappedFileSizeConsumeQueue": "20000",
    "maxHashSlotNum": "5000",
    "maxIndexNum": "20000",
}
"""1 MiB commit log files, 1,000 entries a consume queue file: what rolls over in a test."""

_BROKER_SETTINGS: Mapping[str, str] = {
    "brokerClusterName": "TestCluster",
    "brokerName": "broker-a",
    "brokerId": "0",
    "brokerIP1": "127.0.0.1",
    "brokerIP2": "127.0.0.1",
    "autoCreateTopicEnable": "true",
    "enablePropertyFilter": "true",
    "enableConsumeQueueExt": "false",
    # Two busy cores must not look like an overloaded broker.
    "brokerFastFailureEnable": "false",
    "osPageCacheBusyTimeOutMills": "60000",
    "waitTimeMillsInSendQueue": "60000",
    "syncFlushTimeout": "60000",
    "diskMaxUsedSpaceRatio": "95",
    "registerNameServerPeriod": "10000",
    "flushConsumerOffsetInterval": "500",
    # 5.4.0 compares its timer wheel of 37 MB byte for byte in each flush: every second, that is
    # three quarters of what an idle broker takes of a processor.
    "timerFlushIntervalMs": "10000",
    # Level 3 is the first delay of a message that a consumer refused.
    "messageDelayLevel": "1s 2s 3s 4s",
}


class Side(Protocol):
    """One implementation of RocketMQ."""

    name: ClassVar[str]

    @property
    def directory(self) -> Path:
        """Where everything of it is written."""

    @property
    def logs(self) -> Path:
        """Where its logs go."""

    def namesrv(self, conf: Path) -> list[str]:
        """Return the command line of a name server with these settings."""

    def broker(self, conf: Path) -> list[str]:
        """Return the command line of a broker with these settings."""


@dataclass(frozen=True)
class JavaSide:
    """ROCKETMQ_HOME with quiet logging, and the flags every JVM of a test gets."""

    name = "java"
    directory: Path
    class_path: str
    logs: Path = field(init=False)

    def __post_init__(self) -> None:
        conf = self.directory / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        object.__setattr__(self, "logs", self.directory / "logs")
        self.logs.mkdir(exist_ok=True)
        for name in ("namesrv", "broker", "tools"):
            text = _LOGBACK.format(directory=self.logs, name=name)
            (conf / f"logback_{name}.xml").write_text(text)

    def java(self, main: str, *args: str, heap: str = "512m") -> list[str]:
        """Return the command line of one JVM; ``heap`` is its upper limit."""
        return [
            "java",
            "-Xms64m",
            f"-Xmx{heap}",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
            f"-Duser.home={self.directory}",
            f"-Drocketmq.home.dir={self.directory}",
            f"-Drocketmq.client.logRoot={self.logs}",
            "-Drocketmq.client.logUseSlf4j=false",
            # Clients look for their queues every second, not every 20.
            "-Drocketmq.client.rebalance.waitInterval=1000",
            f"-Djava.io.tmpdir={self.directory}",
            "-cp",
            self.class_path,
            main,
            *args,
        ]

    def namesrv(self, conf: Path) -> list[str]:
        """Return the command line of the real name server."""
        return self.java("org.apache.rocketmq.namesrv.NamesrvStartup", "-c", str(conf), heap="256m")

    def broker(self, conf: Path) -> list[str]:
        """Return the command line of the real broker."""
        return self.java("org.apache.rocketmq.broker.BrokerStartup", "-c", str(conf))


@dataclass(frozen=True)
class OurSide:
    """Our servers, run from this checkout with this interpreter."""

    name = "ours"
    directory: Path
    logs: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "logs", self.directory / "logs")
        self.logs.mkdir(parents=True, exist_ok=True)

    def namesrv(self, conf: Path) -> list[str]:
        """Return the command line of our name server."""
        return self._python("mqserver.namesrv.app", conf)

    def broker(self, conf: Path) -> list[str]:
        """Return the command line of our broker."""
        return self._python("mqserver.broker.app", conf)

    def controller(self, conf: Path) -> list[str]:
        """Return the command line of our controller."""
        return self._python("mqserver.controller.app", conf)

    def _python(self, module: str, conf: Path) -> list[str]:
        # The working directory is a scratch one, and the package need not be installed.
        start = (
            f"import runpy, sys; sys.path.insert(0, {str(REPOSITORY)!r}); "
            f"sys.argv = [{module!r}, '-c', {str(conf)!r}]; "
            f"runpy.run_module({module!r}, run_name='__main__')"
        )
        with conf.open("a") as settings:
            settings.write("bindAddress=127.0.0.1\n")
        return [sys.executable, "-c", start]


class Program:
    """A server in a process of its own; ``with`` waits until it serves, and ends it by a kill."""

    ready = "boot success"
    """What it prints once it serves; a broker has registered then."""
    _child: Child

    def __enter__(self) -> Self:
        try:
            return self.await_ready()
        except BaseException:
            self.kill()
            raise

    def __exit__(self, *error: object) -> None:
        self.kill()

    def await_ready(self) -> Self:
        """Return self once it serves."""
        self._child.await_line(lambda line: self.ready in line, timeout_s=START_TIMEOUT_S)
        return self

    def stop(self) -> int:
        """Stop it in order: a broker flushes everything, and its abort file goes."""
        return self._child.stop()

    def kill(self) -> int:
        """Stop it as a power cut would."""
        return self._child.kill()


class Namesrv(Program):
    """A running name server; ``address`` is where it listens.

    Args:
        side: whose name server.
        settings: keys of its configuration besides port and path.
    """

    def __init__(self, side: Side, *, settings: Mapping[str, str] | None = None) -> None:
        port = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        conf = side.directory / f"namesrv-{port}.conf"
        own = {"listenPort": str(port), "kvConfigPath": f"{conf}.kv.json"}
        write_properties(conf, {**own, **(settings or {})})
        self._child = Child(
            side.namesrv(conf), log=side.logs / "namesrv.err", directory=side.directory
        )


class Controller(Program):
    """A running controller of ours; ``address`` is where it listens.

    Args:
        side: our side.
        directory: where it keeps its records.
        settings: further keys of its configuration.
    """

    def __init__(
        self, side: OurSide, *, directory: Path, settings: Mapping[str, str] | None = None
    ) -> None:
        port = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        conf = side.directory / f"controller-{port}.conf"
        own = {
            "controllerListenPort": str(port),
            "controllerAddress": self.address,
            "controllerStorePath": str(directory),
        }
        write_properties(conf, {**own, **(settings or {})})
        self._child = Child(
            side.controller(conf), log=side.logs / "controller.err", directory=side.directory
        )


class Broker(Program):
    """A running master broker on a store directory.

    Args:
        side: whose broker.
        store: storePathRootDir; made when missing.
        namesrv: address of the name server, or None for a broker on its own.
        settings: broker.conf keys that differ from the test defaults.
        port: where it listens, with three more around it; a free one when None.
    """

    def __init__(
        self,
        side: Side,
        *,
        store: Path,
        namesrv: str | None = None,
        settings: Mapping[str, str] | None = None,
        port: int | None = None,
    ) -> None:
        port = free_ports(4) + 2 if port is None else port
        self.address = f"127.0.0.1:{port}"
        self.side = side
        self.store = store
        self.settings = broker_settings(store, port=port, namesrv=namesrv, settings=settings or {})
        self.name = self.settings["brokerName"]
        self.cluster = self.settings["brokerClusterName"]
        conf = side.directory / f"broker-{port}.conf"
        write_properties(conf, self.settings)
        self._child = Child(
            side.broker(conf), log=side.logs / "broker.err", directory=side.directory
        )

    @property
    def pid(self) -> int:
        """The process."""
        return self._child.pid


@contextmanager
def guarded_broker(
    side: Side, accounts: Mapping[str, object], *, name: str, namesrv: str, store: Path
) -> Iterator[Broker]:
    """Yield a broker whose accounts are those of a file in ``conf`` of its side."""
    conf = side.directory / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "plain_acl.yml").write_text(yaml.safe_dump(dict(accounts)))
    settings = {"aclEnable": "true", "brokerName": name, "brokerClusterName": name.capitalize()}
    if isinstance(side, OurSide):
        settings["rocketmqHome"] = str(side.directory)
    try:
        with Broker(side, store=store, namesrv=namesrv, settings=settings) as broker:
            yield broker
    finally:
        shutil.rmtree(conf / "acl", ignore_errors=True)


class Servers(NamedTuple):
    """A name server and the one broker that is registered there."""

    side: str
    namesrv: Namesrv
    broker: Broker

    @property
    def are_ours(self) -> bool:
        """True for our servers, False for the real ones."""
        return self.side == "ours"


@contextmanager
def running_pair(
    side: Side, store: Path, *, settings: Mapping[str, str] | None = None, in_order: bool = False
) -> Iterator[Servers]:
    """Run a name server and a broker for one block.

    Args:
        side: whose servers.
        store: the broker's store directory.
        settings: broker.conf keys that differ from the test defaults.
        in_order: stop the broker in order, so that its store is complete; else it is killed,
            which is nine seconds faster.
    """
    namesrv = Namesrv(side)
    broker = Broker(side, store=store, namesrv=namesrv.address, settings=settings)
    try:
        yield Servers(side.name, namesrv.await_ready(), broker.await_ready())
    finally:
        _ = broker.stop() if in_order else broker.kill()
        namesrv.stop()


def broker_settings(
    store: Path, *, port: int, namesrv: str | None, settings: Mapping[str, str]
) -> dict[str, str]:
    """Return the keys of a broker.conf.

    Args:
        store: storePathRootDir.
        port: where the broker listens, with three more around it.
        namesrv: address of the name server, or None for a broker on its own.
        settings: what differs from the test defaults.
    """
    return {
        **_BROKER_SETTINGS,
        **SMALL_STORE,
        "listenPort": str(port),
        "haListenPort": str(port + 1),
        "storePathRootDir": str(store),
        "storePathCommitLog": str(store / "commitlog"),
        **({"namesrvAddr": namesrv} if namesrv else {}),
        **settings,
    }


def write_properties(path: Path, settings: Mapping[str, str]) -> None:
    """Write a file of properties, as brokers read it."""
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
