"""A name server, a controller and a group of brokers on loopback, for tests of services.

    python -m mqserver.embedded_group [--replicas 3] [--store DIR] [--namesrv-port 9876]
                                      [--until-stdin-closes]

    this process      name server and controller
    child processes   the brokers, so that each of them can be killed or stopped alone

It prints one line when the group has a master and every broker is in its in-sync set:

    {"namesrv": "127.0.0.1:9876", "controller": "127.0.0.1:40001", "store": "/tmp/rocketmq-x/store",
     "brokers": [{"address": "127.0.0.1:40003", "pid": 71, "store": "…/1"}, …]}

With ``--until-stdin-closes``, ``start ADDRESS`` on stdin starts a broker that ended, on its store
and its ports, and is answered by the same line.

Rule: a broker ends when its stdin does, so none outlives this process, even if it is killed.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mqserver.broker import app as broker_app
from mqserver.controller.controller_config import ControllerConfig
from mqserver.namesrv.app import NamesrvApp
from mqserver.namesrv.namesrv_config import NamesrvConfig
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.jsonfile import write_atomic
from mqserver.runtime.program.event_loop import run
from mqserver.runtime.program.limits import raise_descriptor_limit
from mqserver.runtime.program.logs import configure_logging
from mqserver.runtime.program.process import (
    EXIT_FAILED,
    EXIT_OK,
    StartFailed,
    complain,
    start,
    stop_event,
)
from mqserver.runtime.properties import format_properties

PROGRAM: Final = "embedded_group"
LOOPBACK: Final = "127.0.0.1"
BROKER_NAME: Final = "broker-a"
NAMESRV_PORT: Final = 9876
REPLICAS: Final = 3
READY_WAIT_S: Final = 120.0
STOP_WAIT_S: Final = 20.0
SMALL: Final = {
    "mappedFileSizeCommitLog": str(64 << 20),
    "mappedFileSizeConsumeQueue": "600000",
    "maxHashSlotNum": "50000",
    "maxIndexNum": "200000",
    "enablePropertyFilter": "true",
    "brokerFastFailureEnable": "false",
    "osPageCacheBusyTimeOutMills": "60000",
}
"""Settings of every broker; ROCKETMQ_<key> in the environment wins."""


@dataclass(slots=True)
class BrokerProcess:
    """One broker: where it listens, its files, and its process."""

    address: str
    store: Path
    conf: Path
    process: asyncio.subprocess.Process | None = None

    @property
    def is_running(self) -> bool:
        """Return whether its process runs, or is stopped by SIGSTOP."""
        return self.process is not None and self.process.returncode is None

    async def start(self) -> None:
        """Start the process."""
        with self.conf.with_suffix(".log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", f"mqserver.{PROGRAM}", "--member", str(self.conf)),
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    async def stop(self) -> None:
        """Stop the process in order, or kill it if it does not stop."""
        process = self.process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        process.send_signal(signal.SIGCONT)
        try:
            async with asyncio.timeout(STOP_WAIT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


class EmbeddedGroup:
    """The servers of a group.

    Args:
        directory: for all data; it is created if it is absent.
        replicas: how many brokers.
        namesrv_port: 0 takes a free port.
    """

    def __init__(self, directory: Path, *, replicas: int, namesrv_port: int) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._replicas = replicas
        ports = _free_ports(1 + 2 * replicas)
        self._controller = join_address(LOOPBACK, ports[0])
        self._namesrv_address = join_address(LOOPBACK, namesrv_port)
        self._namesrv = NamesrvApp(
            NamesrvConfig(
                listen_port=namesrv_port,
                bind_address=LOOPBACK,
                kv_config_path=str(directory / "namesrv" / "kvConfig.json"),
                controller=ControllerConfig(
                    controller_listen_port=ports[0],
                    bind_address=LOOPBACK,
                    controller_address=self._controller,
                    controller_store_path=str(directory / "controller"),
                ),
            ),
            SystemClock(),
        )
        self._broker_ports = list(zip(ports[1::2], ports[2::2], strict=True))
        self._members: list[BrokerProcess] = []

    async def start(self) -> None:
        """Start everything and return once all brokers are in the in-sync set.

        Raises:
            StartFailed: a port is taken, or a broker ended or did not join.
        """
        self._namesrv_port = await start(self._namesrv, address=self._namesrv_address)
        for number, ports in enumerate(self._broker_ports, 1):
            self._members.append(self._member(number, *ports))
        await asyncio.gather(*(member.start() for member in self._members))
        try:
            async with asyncio.timeout(READY_WAIT_S):
                while not await self._is_complete():
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise StartFailed(
                f"the brokers did not form a group within {READY_WAIT_S:.0f} s; "
                f"see the logs in {self._directory}"
            ) from None

    async def _is_complete(self) -> bool:
        for member in self._members:
            if not member.is_running:
                log = member.conf.with_suffix(".log")
                raise StartFailed(f"the broker {member.address} ended; see {log}")
        controller = self._namesrv.controller
        assert controller is not None
        record = await controller.groups.read(BROKER_NAME)
        return record is not None and len(record.in_sync_set) == self._replicas

    async def stop(self) -> None:
        """Stop the brokers, then the name server with its controller."""
        await asyncio.gather(*(member.stop() for member in self._members))
        await self._namesrv.stop()

    async def start_member(self, address: str) -> None:
        """Start a broker that ended; one that runs stays as it is.

        Raises:
            StartFailed: there is no broker with this address.
        """
        for member in self._members:
            if member.address == address:
                if not member.is_running:
                    await member.start()
                return
        raise StartFailed(f"the group has no broker {address}")

    def line(self) -> str:
        """Return addresses and processes as a line of JSON."""
        brokers = [
            {
                "address": member.address,
                "pid": 0 if member.process is None else member.process.pid,
                "store": str(member.store),
            }
            for member in self._members
        ]
        return json.dumps(
            {
                "namesrv": join_address(LOOPBACK, self._namesrv_port),
                "controller": self._controller,
                "store": str(self._directory),
                "brokers": brokers,
            }
        )

    def _member(self, number: int, port: int, ha_port: int) -> BrokerProcess:
        store = self._directory / str(number)
        settings = {
            **SMALL,
            "brokerName": BROKER_NAME,
            "brokerIP1": LOOPBACK,
            "brokerIP2": LOOPBACK,
            "bindAddress": LOOPBACK,
            "listenPort": str(port),
            "haListenPort": str(ha_port),
            "namesrvAddr": join_address(LOOPBACK, self._namesrv_port),
            "enableControllerMode": "true",
            "controllerAddr": self._controller,
            "storePathRootDir": str(store),
        }
        conf = self._directory / f"broker-{number}.conf"
        write_atomic(conf, format_properties(settings.items()))
        return BrokerProcess(join_address(LOOPBACK, port), store, conf)


def _free_ports(count: int) -> list[int]:
    """Return ports that are free now; each is held until all of them are known."""
    with contextlib.ExitStack() as held:
        ports = []
        for _ in range(count):
            listening = held.enter_context(socket.socket())
            listening.bind((LOOPBACK, 0))
            ports.append(int(listening.getsockname()[1]))
    return ports


def main(argv: Sequence[str] | None = None) -> int:
    """Run the group until a signal or the end of stdin, and return the exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.member is not None:
        return _run_member(arguments.member)
    configure_logging()
    raise_descriptor_limit()
    try:
        if arguments.store is not None:
            run(_serve(arguments.store.absolute(), arguments))
        else:
            with tempfile.TemporaryDirectory(prefix="rocketmq-") as directory:
                run(_serve(Path(directory) / "store", arguments))
    except (StartFailed, OSError) as error:
        complain(PROGRAM, error)
        return EXIT_FAILED
    return EXIT_OK


async def _serve(directory: Path, arguments: argparse.Namespace) -> None:
    stop = stop_event()
    group = EmbeddedGroup(
        directory, replicas=arguments.replicas, namesrv_port=arguments.namesrv_port
    )
    try:
        await group.start()
        print(group.line(), flush=True)
        if arguments.until_stdin_closes:
            loop = asyncio.get_running_loop()
            lines: asyncio.Queue[str] = asyncio.Queue()
            read_stdin(
                lambda line: loop.call_soon_threadsafe(lines.put_nowait, line),
                at_end=lambda: loop.call_soon_threadsafe(stop.set),
            )
            obeying = asyncio.create_task(_obey(group, lines))
            await stop.wait()
            obeying.cancel()
        else:
            await stop.wait()
    finally:
        await group.stop()
    if arguments.remove_store:
        shutil.rmtree(directory, ignore_errors=True)


async def _obey(group: EmbeddedGroup, lines: "asyncio.Queue[str]") -> None:
    """Carry out the commands of stdin and answer each with a line."""
    while True:
        words = (await lines.get()).split()
        try:
            if len(words) != 2 or words[0] != "start":
                raise StartFailed(f"{' '.join(words)!r} is not a command, expected start ADDRESS")
            await group.start_member(words[1])
        except StartFailed as error:
            print(json.dumps({"error": str(error)}), flush=True)
        else:
            print(group.line(), flush=True)


def read_stdin(on_line: Callable[[str], object], *, at_end: Callable[[], object]) -> None:
    """Read stdin in a thread until it ends, as it does when the parent process is gone.

    It uses ``os.read``, because a buffered reader would hold a lock that the end of the interpreter
    waits for.
    """

    def read() -> None:
        rest = b""
        while data := os.read(sys.stdin.fileno(), 4096):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                on_line(line.decode("utf-8", "replace"))
        # A signal may have ended the loop before stdin ended.
        with contextlib.suppress(RuntimeError):
            at_end()

    threading.Thread(target=read, name="stdin", daemon=True).start()


def _run_member(conf: Path) -> int:
    """Run a broker until a signal, or until the group's process is gone."""
    read_stdin(lambda line: None, at_end=lambda: os.kill(os.getpid(), signal.SIGTERM))
    sys.argv = ["mqbroker", "-c", str(conf)]
    return broker_app.main()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m mqserver.{PROGRAM}",
        description="Runs a name server, a controller and a group of brokers on loopback.",
        epilog="Settings of the brokers may be set by environment variables ROCKETMQ_<key>.",
    )
    parser.add_argument("--replicas", type=int, choices=range(1, 8), default=REPLICAS)
    parser.add_argument("--store", type=Path, metavar="DIR", help="keep the data in DIR")
    parser.add_argument("--namesrv-port", type=int, default=NAMESRV_PORT, metavar="N")
    parser.add_argument("--until-stdin-closes", action="store_true")
    parser.add_argument("--remove-store", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--member", type=Path, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
