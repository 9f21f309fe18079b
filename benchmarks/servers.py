"""The sides of a benchmark: the real Java broker, ours, and the port to Rust, each by itself.

All get the same keys and a store of their own on the same file system, and a name server: its own,
or ours for the port to Rust.
The broker is a process by itself, so that its CPU time and memory are its alone.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.golden import REPOSITORY
from tests.interop.kit.java_build import class_path
from tests.interop.kit.servers import write_properties
from tests.ports import free_ports

OPENED = [
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
]
# The Java servers refuse to start without a logging configuration in their home.
QUIET_LOG = '<configuration><root level="OFF"/></configuration>'
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used, all threads, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def machine_s() -> tuple[float, float]:
    """Return the CPU seconds for which all cores together were busy, and had nothing to do."""
    ticks = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / CLOCK_TICKS, idle / CLOCK_TICKS


def heap_mb(pid: int) -> float:
    """Return the resident anonymous memory of a process, without mapped files, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"no RssAnon in /proc/{pid}/status")


@dataclass(frozen=True, slots=True)
class Side:
    """A running name server and broker."""

    name: str
    namesrv: str
    broker_port: int
    broker_pid: int
    started_s: float
    """Seconds from starting the broker's process to its port accepting."""
    slave_pid: int | None = None

    def cpu_s(self) -> float:
        """Return the CPU seconds the broker has used, all threads, user and system."""
        return cpu_s(self.broker_pid)

    def slave_cpu_s(self) -> float:
        """Return the CPU seconds that the slave has used, 0 without one."""
        return 0.0 if self.slave_pid is None else cpu_s(self.slave_pid)

    def heap_mb(self) -> float:
        """Return the broker's resident anonymous memory, without mapped files, in MB."""
        return heap_mb(self.broker_pid)


SYNC_MASTER: Final = "SYNC_MASTER"


@contextmanager
def side(name: str, scratch: Path, *, settings: dict[str, str], jars: str = "") -> Iterator[Side]:
    """Run a name server and a broker of the side ``name`` (``java``, ``rust`` or ``ours``).

    Args:
        name: of the side.
        scratch: where everything is written.
        settings: keys of broker.conf; a brokerRole of SYNC_MASTER brings a slave of the same kind.
        jars: the class path of another RocketMQ than 4.9.7.
    """
    # The broker's port has its fast port two below and its replication port behind it.
    namesrv_port = free_ports(5)
    broker_port = namesrv_port + 3
    home = scratch / f"{name}-{broker_port}"
    (home / "conf").mkdir(parents=True)
    for role in ("namesrv", "broker"):
        (home / "conf" / f"logback_{role}.xml").write_text(QUIET_LOG)
    conf = home / "broker.conf"
    keys = {
        "brokerClusterName": "Bench",
        "brokerName": "bench",
        "brokerIP1": "127.0.0.1",
        "brokerIP2": "127.0.0.1",
        "listenPort": str(broker_port),
        "haListenPort": str(broker_port + 1),
        "namesrvAddr": f"127.0.0.1:{namesrv_port}",
        "storePathRootDir": str(home / "store"),
        "storePathCommitLog": str(home / "store" / "commitlog"),
        **settings,
    }
    write_properties(conf, keys)
    if name == "rust":
        conf = home / "broker.toml"
        conf.write_text(rust_settings(keys))
    namesrv_conf = home / "namesrv.conf"
    namesrv_conf.write_text(f"listenPort={namesrv_port}\nkvConfigPath={home / 'kv.json'}\n")
    running: list[subprocess.Popen[bytes]] = []
    try:
        running.append(start(name, "namesrv", home, namesrv_conf, jars))
        wait_for(namesrv_port, running[-1])
        begin = time.monotonic()
        running.append(start(name, "broker", home, conf, jars))
        wait_for(broker_port, running[-1])
        started_s = time.monotonic() - begin
        broker_pid, slave_pid = running[-1].pid, None
        if keys.get("brokerRole") == SYNC_MASTER:
            running.append(start_slave(name, home / "slave", keys, jars))
            slave_pid = running[-1].pid
            time.sleep(10)  # a Java slave may wait for 5 s until it connects
        time.sleep(3)  # all register with their name server soon after they serve
        namesrv = f"127.0.0.1:{namesrv_port}"
        yield Side(name, namesrv, broker_port, broker_pid, started_s, slave_pid)
    finally:
        for process in reversed(running):
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        shutil.rmtree(home)


def start_slave(
    name: str, home: Path, keys: dict[str, str], jars: str
) -> "subprocess.Popen[bytes]":
    """Start a slave of the broker with these settings, and wait until it serves."""
    shutil.copytree(home.parent / "conf", home / "conf")
    port = free_ports(4) + 2
    own = {
        "brokerId": "1",
        "brokerRole": "SLAVE",
        "listenPort": str(port),
        "haListenPort": str(port + 1),
        "storePathRootDir": str(home / "store"),
        "storePathCommitLog": str(home / "store" / "commitlog"),
    }
    conf = home / "broker.conf"
    write_properties(conf, keys | own)
    process = start(name, "broker", home, conf, jars)
    wait_for(port, process)
    return process


def start(name: str, role: str, home: Path, conf: Path, jars: str = "") -> subprocess.Popen[bytes]:
    """Start a name server or broker of a side; what it says goes into a file in ``home``."""
    log = (home / f"{role}.log").open("wb")
    environment = dict(os.environ)
    if name == "ours" or (name == "rust" and role == "namesrv"):
        command = [sys.executable, "-m", f"mqserver.{role}.app", "-c", str(conf)]
    elif name == "rust":
        command = ["rocketmq-broker-rust", "-c", str(conf), "--log-filter", "off"]
        environment |= {
            "ROCKETMQ_HOME": str(home),
            "ROCKETMQ_SECURITY_PROFILE": "development-insecure-loopback",
        }
    else:
        command = java_words(role, "-c", str(conf), home=home, class_path=jars or class_path())
    return subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )


def rust_settings(keys: dict[str, str]) -> str:
    """Return the settings of the port to Rust (1.0.0) that are the same as in broker.conf.

    Its topics have 8 queues by default, as the benchmark wants them.
    """
    return f"""
[broker]
namesrvAddr = "{keys["namesrvAddr"]}"
brokerIp1 = "{keys["brokerIP1"]}"
listenPort = {keys["listenPort"]}
storePathRootDir = "{keys["storePathRootDir"]}"
[broker.brokerServerConfig]
bindAddress = "127.0.0.1"
[broker.brokerIdentity]
brokerName = "{keys["brokerName"]}"
brokerClusterName = "{keys["brokerClusterName"]}"
brokerId = 0
[store]
storeType = "LocalFile"
brokerRole = "ASYNC_MASTER"
flushDiskType = "{keys["flushDiskType"]}"
storePathRootDir = "{keys["storePathRootDir"]}"
haListenAddress = "127.0.0.1"
haListenPort = {keys["haListenPort"]}
"""


def java_words(role: str, *words: str, home: Path, class_path: str) -> list[str]:
    """Return the command line of a real server; a name server gets a small heap."""
    main = {
        "namesrv": "namesrv.NamesrvStartup",
        "broker": "broker.BrokerStartup",
        "proxy": "proxy.ProxyStartup",
    }[role]
    heap = ["-Xmx256m"] if role == "namesrv" else ["-Xms2g", "-Xmx2g", "-XX:+UseG1GC"]
    return [
        *("java", *heap, *OPENED, f"-Duser.home={home}", f"-Drocketmq.home.dir={home}"),
        *("-cp", class_path, f"org.apache.rocketmq.{main}", *words),
    ]


def wait_for(port: int, process: subprocess.Popen[bytes], wait_s_max: float = 60) -> None:
    """Return when a process accepts connections on its port."""
    deadline = time.monotonic() + wait_s_max
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ChildProcessError(f"{process.args!r} ended with {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise TimeoutError(f"nothing listens on port {port} after {wait_s_max} s")
