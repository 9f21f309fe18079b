"""Run a name server and a broker of this project, or a group of brokers, as a child process.

    mqadmin --stdin pipe--> python -m mqserver.embedded --until-stdin-closes
            <--one json line: addresses--               or mqserver.embedded_group

Rule: the child ends when its standard input closes, so it never outlives this process,
even one that is killed; it is in a process group of its own, so that Ctrl-C reaches the
command in the shell and not the server.
"""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from typing import IO, Final, Self

from mqadmin.child_processes import module_command, module_environment
from mqadmin.errors import CommandError

STOP_WAIT_S: Final = 10.0
ERROR_LINES: Final = 5


@dataclass(frozen=True, slots=True)
class ServerAddresses:
    """The addresses of the servers, and the store; ``grpc`` is "" if its port is taken."""

    namesrv: str = ""
    broker: str = ""
    store: str = ""
    grpc: str = ""


@dataclass(frozen=True, slots=True)
class GroupBroker:
    """One broker of a group: where it listens, its process, and its store."""

    address: str
    pid: int
    store: str


@dataclass(frozen=True, slots=True)
class GroupAddresses:
    """Where the servers of a group listen."""

    namesrv: str
    controller: str
    store: str
    brokers: tuple[GroupBroker, ...]


class EmbeddedProcess:
    """A child process that prints its addresses; it is stopped at the end of the ``with`` block.

    Args:
        words: module and options.
    """

    def __init__(self, *words: str) -> None:
        self._command = module_command(*words, "--until-stdin-closes")
        self._child: subprocess.Popen[str] | None = None
        self._log: IO[bytes] | None = None

    def _started(self, line: str) -> None:
        """Read the line of JSON that the child prints once it serves."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._log = log = tempfile.TemporaryFile()
        self._child = child = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            process_group=0,
            env=module_environment(),
        )
        assert child.stdout is not None
        line = child.stdout.readline()
        if not line:
            child.wait(STOP_WAIT_S)
            log.seek(0)
            lines = log.read().decode("utf-8", "replace").strip().splitlines()
            self.stop()
            said = " | ".join(lines[-ERROR_LINES:]) or "they printed nothing"
            raise CommandError(
                f"the embedded servers did not start: {said}",
                hint="check whether the store or a port is in use",
            )
        self._started(line)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait(self) -> int:
        """Wait until the servers end by themselves and return their exit code."""
        return self._child.wait() if self._child is not None else 0

    def stop(self) -> None:
        """Stop the servers cleanly, or by force if that takes too long."""
        child, self._child = self._child, None
        if child is None:
            return
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                stream.close()
        try:
            child.wait(STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if self._log is not None:
            self._log.close()


class EmbeddedServer(EmbeddedProcess):
    """A name server and a broker.

    Args:
        store: directory of the store; None for a temporary one.
        namesrv_port, broker_port, grpc_port: 0 chooses a free port.
    """

    def __init__(
        self,
        *,
        store: str | None = None,
        namesrv_port: int = 0,
        broker_port: int = 0,
        grpc_port: int = 0,
    ) -> None:
        super().__init__(
            "mqserver.embedded",
            *("--namesrv-port", str(namesrv_port), "--broker-port", str(broker_port)),
            *("--grpc-port", str(grpc_port)),
            *(("--store", store) if store is not None else ()),
        )
        self.addresses = ServerAddresses()

    def _started(self, line: str) -> None:
        self.addresses = ServerAddresses(**json.loads(line))


class EmbeddedReplicas(EmbeddedProcess):
    """A name server, a controller and a group of brokers on free ports.

    Args:
        replicas: how many brokers.
        store: directory of the stores; None for a temporary one.
        namesrv_port: 0 chooses a free port.
    """

    def __init__(self, *, replicas: int, store: str | None = None, namesrv_port: int = 0) -> None:
        super().__init__(
            "mqserver.embedded_group",
            *("--replicas", str(replicas), "--namesrv-port", str(namesrv_port)),
            *(("--store", store) if store is not None else ()),
        )
        self.addresses = GroupAddresses("", "", "", ())

    def _started(self, line: str) -> None:
        addresses = json.loads(line)
        brokers = tuple(GroupBroker(**broker) for broker in addresses["brokers"])
        self.addresses = GroupAddresses(
            addresses["namesrv"], addresses["controller"], addresses["store"], brokers
        )
