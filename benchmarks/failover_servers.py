"""The machines and programs of ``benchmarks.failover``: a group of brokers with a controller.

    hub 10.78.0.1    name server, senders, readers
    k1  10.78.0.11   controller; k2 and k3 likewise, each with a member of etcd beside it
    b1  10.78.0.21   broker, b2 and b3 likewise; each is a network namespace

    ``java``   name server, controller and brokers of RocketMQ 5.4.0, or of other jars
    ``ours``   ours; either may be combined with the other's brokers

Rule: everything lives in namespaces of the process (``unshare -n -m``), and is gone with it. Where
namespaces are refused, the machines are addresses of the loopback interface, and there are no
faults of the network.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

from tests.interop.kit.servers import JavaSide, write_properties

BROKER_NAME: Final = "g"
CLUSTER: Final = "FailoverCluster"
PORT: Final = 10911
NAMESRV_PORT: Final = 9876
CONTROLLER_PORT: Final = 9878
ETCD_PORT: Final = 2379
FAULTS: Final = (
    "kill",
    "hang",
    "cut off",
    "cut off from servers",
    "full disk",
    "with its controller",
    "hang with its controller",
    "with etcd's leader",
)
"""Of the master: SIGKILL; SIGSTOP; nobody reaches it; clients and the name server alone reach it;
its disk has no byte left; SIGKILL or SIGSTOP of the master together with a SIGKILL of the leading
controller, which starts again at once; SIGKILL of the master, the leading controller and etcd's
leader, which stay away as long as the master."""
NAMESPACE_FAULTS: Final = frozenset({"cut off", "cut off from servers", "full disk"})
"""Those that need namespaces, of the network or of mounts."""
ETCD_FAULTS: Final = frozenset({"with etcd's leader"})
_CONTROLLER_STARTS_AGAIN: Final = frozenset({"with its controller", "hang with its controller"})
_KILLS: Final = frozenset({"kill", "with its controller", "with etcd's leader"})
_HANGS: Final = frozenset({"hang", "hang with its controller"})
BALLAST: Final = "ballast"
DISK_SIZE: Final = 256 << 20
"""Of a broker, where disks get full."""


@dataclass(frozen=True, slots=True)
class Machines:
    """Names and addresses of the machines; ``apart`` where each is a namespace."""

    hosts: Mapping[str, str]
    apart: bool

    @property
    def namesrv(self) -> str:
        """Return the address of the name server."""
        return f"{self.hosts['hub']}:{NAMESRV_PORT}"

    @property
    def controllers(self) -> dict[str, str]:
        """Return the names of the controllers by their addresses."""
        return {
            f"{host}:{CONTROLLER_PORT}": name
            for name, host in self.hosts.items()
            if name.startswith("k")
        }

    def command(self, name: str, words: list[str]) -> list[str]:
        """Return the command line that runs a program on a machine."""
        inside = self.apart and name != "hub"
        return ["ip", "netns", "exec", name, *words] if inside else words


def sh(line: str) -> None:
    """Run a line of ``ip``."""
    subprocess.run(line.split(), check=True)


def machines(replicas: int, *, controllers: int, apart: bool) -> Machines:
    """Return the machines; with ``apart`` make their namespaces and links first."""
    net = "10.78.0" if apart else "127.0.0"
    names = [f"b{number + 1}" for number in range(replicas)]
    hosts = {"hub": f"{net}.1"}
    hosts |= {f"k{number + 1}": f"{net}.{11 + number}" for number in range(controllers)}
    hosts |= {name: f"{net}.{21 + number}" for number, name in enumerate(names)}
    if apart:
        sh("mount -t tmpfs tmpfs /run")
        sh("ip link set lo up")
        sh("ip link add br0 type bridge")
        sh(f"ip addr add {hosts['hub']}/24 dev br0")
        sh("ip link set br0 up")
        for name, host in hosts.items():
            if name != "hub":
                _connect(name, host)
    return Machines(hosts, apart)


def _connect(name: str, host: str) -> None:
    sh(f"ip netns add {name}")
    sh(f"ip link add to-{name} type veth peer name eth0 netns {name}")
    sh(f"ip link set to-{name} master br0 up")
    sh(f"ip -n {name} addr add {host}/24 dev eth0")
    sh(f"ip -n {name} link set eth0 up")
    sh(f"ip -n {name} link set lo up")


@dataclass(slots=True)
class Program:
    """A server on a machine, which can be started again."""

    name: str
    net: Machines
    words: list[str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        with self.log.open("ab") as log:
            words = self.net.command(self.name, self.words)
            self.process = subprocess.Popen(words, stdout=log, stderr=log)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        """Kill it, also where it is stopped."""
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()


class Group:
    """A name server, a controller and the brokers of one group.

    Args:
        directory: where settings, stores and logs go.
        net: the machines.
        brokers: ``java`` or ``ours``, the side of each broker.
        controller: the side of controller and name server.
        jars: class path of RocketMQ 5.
        settings: broker settings beside those that a group needs.
        disks_get_full: whether each broker has a small disk of its own.
    """

    def __init__(
        self,
        directory: Path,
        net: Machines,
        *,
        brokers: list[str],
        controller: str,
        jars: str,
        settings: Mapping[str, str],
        disks_get_full: bool = False,
    ) -> None:
        self.net = net
        self._directory = directory
        self._java = JavaSide(directory / "java", jars)
        self._settings = settings
        self._away: list[Program] = []
        """Controller and member of etcd that were killed with the master."""
        self.namesrv = self._namesrv(controller)
        self._disks_get_full = disks_get_full
        names = [name for name in net.hosts if name.startswith("k")]
        self.etcds = {name: self._etcd(name, names) for name in names if len(names) > 1}
        self.controllers = {name: self._controller(name, controller) for name in names}
        self.brokers = {
            f"{net.hosts[name]}:{PORT}": self._broker(name, side)
            for name, side in zip(sorted(net.hosts)[: len(brokers)], brokers, strict=True)
        }

    def start(self) -> None:
        """Start everything."""
        for program in self._programs():
            program.start()

    def kill(self) -> None:
        """Kill everything."""
        for program in self._programs():
            program.kill()

    def _programs(self) -> list[Program]:
        controllers, etcds = self.controllers.values(), self.etcds.values()
        return [self.namesrv, *etcds, *controllers, *self.brokers.values()]

    def break_master(self, fault: str, master: str, controller: str) -> None:
        """Let a fault begin.

        Args:
            fault: one of ``FAULTS``.
            master: address of the master.
            controller: name of the machine of the leading controller.
        """
        broker = self.brokers[master]
        if fault in ETCD_FAULTS:
            self._away = [self.controllers[controller], self.etcds[self._etcd_leader()]]
            for program in self._away:
                program.kill()
        if fault in _CONTROLLER_STARTS_AGAIN:
            self.controllers[controller].kill()
        if fault in _KILLS:
            broker.kill()
        elif fault in _HANGS:
            broker.signal(signal.SIGSTOP)
        elif fault == "full disk":
            self._fill_disk(broker.name)
        elif fault == "cut off":
            sh(f"ip link set to-{broker.name} down")
        else:
            self._blackhole(broker.name, "add")
        if fault in _CONTROLLER_STARTS_AGAIN:
            self.controllers[controller].start()

    def mend(self, fault: str, master: str) -> None:
        """Let a fault end; a broker that was killed starts again."""
        broker = self.brokers[master]
        if fault in ETCD_FAULTS:
            for program in self._away:
                program.start()
        if fault in _KILLS:
            broker.start()
        elif fault in _HANGS:
            broker.signal(signal.SIGCONT)
        elif fault == "full disk":
            (self._directory / broker.name / BALLAST).unlink()
        elif fault == "cut off":
            sh(f"ip link set to-{broker.name} up")
        else:
            self._blackhole(broker.name, "del")

    def _fill_disk(self, name: str) -> None:
        with (self._directory / name / BALLAST).open("wb", buffering=0) as ballast:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while ballast.write(bytes(size)):
                        pass

    def _etcd_leader(self) -> str:
        """Return the name of the machine of etcd's leader.

        Raises:
            OSError: none of its members names one.
        """
        for name in self.etcds:
            url = f"http://{self.net.hosts[name]}:{ETCD_PORT}/v3/maintenance/status"
            with contextlib.suppress(OSError), urlopen(Request(url, b"{}"), timeout=2) as answer:
                status = json.load(answer)
                if status["leader"] == status["header"]["member_id"]:
                    return name
        raise OSError("no member of etcd says that it leads")

    def _blackhole(self, name: str, verb: str) -> None:
        """Cut a machine off from every other one but the hub, or undo that."""
        for other, host in self.net.hosts.items():
            if other not in ("hub", name):
                sh(f"ip -n {name} route {verb} blackhole {host}/32")

    def _program(self, name: str, words: list[str]) -> Program:
        return Program(name, self.net, words, self._directory / f"{name}.log")

    def _conf(self, name: str, settings: Mapping[str, str]) -> Path:
        path = self._directory / f"{name}.conf"
        write_properties(path, settings)
        return path

    def _namesrv(self, side: str) -> Program:
        settings = {
            "listenPort": str(NAMESRV_PORT),
            "kvConfigPath": str(self._directory / "kv.json"),
        }
        if side == "java":
            return self._program("hub", self._java.namesrv(self._conf("namesrv", settings)))
        settings |= {"bindAddress": self.net.hosts["hub"], "brokerAddresses": "*"}
        conf = self._conf("namesrv", settings)
        return self._program("hub", _python("mqserver.namesrv.app", conf))

    def _etcd(self, name: str, names: Sequence[str]) -> Program:
        program = os.environ.get("MQ_ETCD") or shutil.which("etcd")
        if program is None:
            raise SystemExit("several controllers need etcd: install it, or set MQ_ETCD")
        hosts = self.net.hosts
        own = f"http://{hosts[name]}"
        cluster = ",".join(f"{other}=http://{hosts[other]}:{ETCD_PORT + 1}" for other in names)
        words = [
            program, "--name", name, "--data-dir", str(self._directory / f"etcd-{name}"),
            "--listen-client-urls", f"{own}:{ETCD_PORT}",
            "--advertise-client-urls", f"{own}:{ETCD_PORT}",
            "--listen-peer-urls", f"{own}:{ETCD_PORT + 1}",
            "--initial-advertise-peer-urls", f"{own}:{ETCD_PORT + 1}",
            "--initial-cluster", cluster, "--logger", "zap", "--log-level", "error",
        ]  # fmt: skip
        log = self._directory / f"etcd-{name}.log"
        return Program(name, self.net, words, log)

    def _controller(self, name: str, side: str) -> Program:
        host, store = self.net.hosts[name], str(self._directory / f"controller-{name}")
        if side == "java":
            settings = {
                "controllerDLegerGroup": "failover",
                "controllerDLegerPeers": f"n0-{host}:{CONTROLLER_PORT}",
                "controllerDLegerSelfId": "n0",
                "controllerStorePath": store,
            }
            start = "org.apache.rocketmq.controller.ControllerStartup"
            words = self._java.java(start, "-c", str(self._conf(name, settings)))
            return self._program(name, words)
        settings = {
            "controllerListenPort": str(CONTROLLER_PORT),
            "bindAddress": host,
            "controllerAddress": f"{host}:{CONTROLLER_PORT}",
            "controllerStorePath": store,
            "brokerAddresses": "*",
        }
        if self.etcds:
            members = ",".join(f"{self.net.hosts[one]}:{ETCD_PORT}" for one in self.etcds)
            settings["controllerStore"] = f"etcd://{members}/rocketmq"
        return self._program(name, _python("mqserver.controller.app", self._conf(name, settings)))

    def _broker(self, name: str, side: str) -> Program:
        host, store = self.net.hosts[name], self._directory / name
        if self._disks_get_full:
            store.mkdir()
            sh(f"mount -t tmpfs -o size={DISK_SIZE} tmpfs {store}")
        settings = {
            "brokerClusterName": CLUSTER,
            "brokerName": BROKER_NAME,
            "brokerIP1": host,
            "brokerIP2": host,
            "listenPort": str(PORT),
            "haListenPort": str(PORT + 1),
            "namesrvAddr": self.net.namesrv,
            "enableControllerMode": "true",
            "controllerAddr": ";".join(self.net.controllers),
            "storePathRootDir": str(store),
            "storePathCommitLog": str(store / "commitlog"),
            "mappedFileSizeCommitLog": str(16 << 20),
            "mappedFileSizeConsumeQueue": "200000",
            "maxHashSlotNum": "5000",
            "maxIndexNum": "20000",
            "brokerFastFailureEnable": "false",
            "osPageCacheBusyTimeOutMills": "20000",
            "diskMaxUsedSpaceRatio": "95",
            **self._settings,
        }
        if side == "java":
            return self._program(name, self._java.broker(self._conf(name, settings)))
        settings |= {
            "bindAddress": host,
            "slaveAddresses": "*",
            "adminAddresses": "*",
            "brokerAddresses": ";".join(
                f"{self.net.hosts[other]}:{PORT}"
                for other in self.net.hosts
                if other.startswith("b") and other != name
            ),
        }
        return self._program(name, _python("mqserver.broker.app", self._conf(name, settings)))


def _python(module: str, conf: Path) -> list[str]:
    return [sys.executable, "-m", module, "-c", str(conf)]
