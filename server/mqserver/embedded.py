"""A name server and a broker in one process, for development and tests.

    python -m mqserver.embedded [--store DIR] [--host 127.0.0.1]
                              [--namesrv-port 9876] [--broker-port 10911]
                              [--grpc-port 8081] [--until-stdin-closes]

prints one line when both serve, then runs until SIGTERM, SIGINT or the end of stdin:

    {"namesrv": "127.0.0.1:9876", "broker": "127.0.0.1:10911", "store": "/tmp/rocketmq-x/store",
     "grpc": "127.0.0.1:8081"}

Rule: it listens on loopback unless ``--host`` names another interface. Without ``--store`` the
data is in a temporary directory that is removed at the end. Files are small (64 MiB logs), but in
an existing store the sizes found there win. It shares its machine with the programs that it
serves, so it refuses no sends because a write takes a second, as a standalone broker does.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mqserver.broker.app import BrokerApp
from mqserver.broker.config import BrokerConfig, broker_config
from mqserver.namesrv.app import NamesrvApp
from mqserver.namesrv.namesrv_config import NamesrvConfig
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.clock import Clock, SystemClock
from mqserver.runtime.program.event_loop import run
from mqserver.runtime.program.limits import (
    connections_size,
    in_flight_size,
    process_resources,
    raise_descriptor_limit,
)
from mqserver.runtime.program.logs import configure_logging
from mqserver.runtime.program.process import (
    EXIT_FAILED,
    EXIT_OK,
    StartFailed,
    complain,
    start,
    stop_event,
)
from mqserver.runtime.typed_config import SettingsError, Value, read_environment
from remoting.aio.resources import Budget, Resources
from storefmt.errors import StoreError

LOG = logging.getLogger(__name__)

PROGRAM: Final = "embedded"
LOOPBACK: Final = "127.0.0.1"
NAMESRV_PORT: Final = 9876
BROKER_PORT: Final = 10911
GRPC_PORT: Final = 8081
BROKER_NAME: Final = "broker-a"

LOG_FILE_SIZE: Final = 64 << 20
QUEUE_FILE_SIZE: Final = 600_000
INDEX_SLOT_COUNT: Final = 50_000
INDEX_ENTRY_COUNT: Final = 200_000
PATIENCE_MS: Final = 60_000


class EmbeddedAddresses(NamedTuple):
    """The addresses of a started pair and its store directory; ``grpc`` is "" without a port."""

    namesrv: str
    broker: str
    store: str
    grpc: str = ""


class Embedded:
    """A name server and the one broker that registers with it.

    Args:
        store: directory of the broker's data; it is created if it is absent.
        host: the interface that both listen on.
        namesrv_port: 0 takes a free port.
        broker_port: 0 takes a free port.
        grpc_port: the port for gRPC clients; 0 takes a free one, None opens none.
        clock: the clock of both servers.
        settings: further settings of the broker.
    """

    def __init__(
        self,
        store: Path,
        *,
        host: str = LOOPBACK,
        namesrv_port: int = 0,
        broker_port: int = 0,
        grpc_port: int | None = None,
        clock: Clock | None = None,
        settings: Sequence[Value] = (),
    ) -> None:
        self._settings = settings
        self._store = store
        self._host = host
        self._broker_port = broker_port
        self._grpc_port = grpc_port
        self._clock = clock or SystemClock()
        self._namesrv_address = join_address(host, namesrv_port)
        self._resources = process_resources(in_flight_size())
        self._namesrv = NamesrvApp(
            NamesrvConfig(
                listen_port=namesrv_port,
                bind_address=host,
                kv_config_path=str(store / "namesrv" / "kvConfig.json"),
            ),
            self._clock,
            resources=self._resources,
        )
        self._broker: BrokerApp | None = None

    async def start(self) -> EmbeddedAddresses:
        """Start both and return once the broker is registered.

        Raises:
            StartFailed: a port is taken.
            SettingsError: a setting cannot be used.
            StoreError: the store cannot be opened.
        """
        namesrv_port = await start(self._namesrv, address=self._namesrv_address)
        namesrv = join_address(self._host, namesrv_port)
        try:
            self._store.mkdir(parents=True, exist_ok=True)
            config = self._broker_config(namesrv)
            # Both take their connections from what the one process may open.
            budget = Budget(connections_size(config.in_flight_size_max))
            resources = Resources(self._resources.places, budget)
            broker = BrokerApp(config, self._clock, resources=resources)
            port = await start(broker, address=join_address(self._host, self._broker_port))
        except BaseException:
            await self._namesrv.stop()
            raise
        self._broker = broker
        grpc = ""
        if config.grpc_server_port is not None:
            grpc = join_address(self._host, config.grpc_server_port)
        return EmbeddedAddresses(namesrv, join_address(self._host, port), str(self._store), grpc)

    async def stop(self) -> None:
        """Stop the broker, which says goodbye to the name server, then the name server."""
        if self._broker is not None:
            await self._broker.stop()
        await self._namesrv.stop()

    def _broker_config(self, namesrv: str) -> BrokerConfig:
        small = {
            "mappedFileSizeCommitLog": LOG_FILE_SIZE,
            "mappedFileSizeConsumeQueue": QUEUE_FILE_SIZE,
            "maxHashSlotNum": INDEX_SLOT_COUNT,
            "maxIndexNum": INDEX_ENTRY_COUNT,
            "brokerName": BROKER_NAME,
            "brokerFastFailureEnable": "false",
            "enablePropertyFilter": "true",
            "osPageCacheBusyTimeOutMills": PATIENCE_MS,
            "syncFlushTimeout": PATIENCE_MS,
        }
        own = {
            "brokerIP1": self._host,
            "brokerIP2": self._host,
            "bindAddress": self._host,
            "namesrvAddr": namesrv,
            "storePathRootDir": self._store,
        }
        config = broker_config(
            [
                *(Value(key, str(value), PROGRAM) for key, value in small.items()),
                *self._settings,
                *(Value(key, str(value), PROGRAM) for key, value in own.items()),
            ]
        )
        config.listen_port = self._broker_port
        if self._grpc_port is not None:
            config.grpc_server_port = self._grpc_port
        return config


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pair until a signal or the end of stdin, and return the exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.remove_store and not (arguments.store and arguments.until_stdin_closes):
        parser.error("--remove-store needs --store and --until-stdin-closes")
    configure_logging()
    raise_descriptor_limit()
    try:
        if arguments.store is not None:
            store = arguments.store.absolute()
            is_left = run(_serve(store, arguments))
            if is_left and arguments.remove_store:
                shutil.rmtree(store)
        else:
            with tempfile.TemporaryDirectory(prefix="rocketmq-") as directory:
                run(_serve(Path(directory) / "store", arguments))
    except (StartFailed, SettingsError, StoreError, OSError) as error:
        complain(PROGRAM, error)
        return EXIT_FAILED
    return EXIT_OK


async def _serve(store: Path, arguments: argparse.Namespace) -> bool:
    """Serve until a signal or the end of stdin; return whether stdin ended, so the parent left."""
    stop, left = stop_event(), asyncio.Event()
    if arguments.until_stdin_closes:
        _stop_at_end_of_stdin(stop, left)
    pair = Embedded(
        store,
        host=arguments.host,
        namesrv_port=arguments.namesrv_port,
        broker_port=arguments.broker_port,
        grpc_port=_grpc_port(arguments),
        settings=read_environment(os.environ),
    )
    print(json.dumps((await pair.start())._asdict()), flush=True)
    await stop.wait()
    await pair.stop()
    return left.is_set()


def _grpc_port(arguments: argparse.Namespace) -> int | None:
    """Return the port for gRPC clients, or None where the usual one is taken."""
    if arguments.grpc_port is not None:
        return int(arguments.grpc_port)
    if not arguments.namesrv_port:
        # If the system chooses the other ports, many pairs may run at once.
        return 0
    if _is_taken(arguments.host, GRPC_PORT):
        LOG.warning("no port for gRPC clients: %d is taken; --grpc-port names another", GRPC_PORT)
        return None
    return GRPC_PORT


def _is_taken(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((host, port))
        except OSError:
            return True
    return False


def _stop_at_end_of_stdin(stop: asyncio.Event, left: asyncio.Event) -> None:
    """Set both events when stdin ends, as it does when the parent process is gone.

    A thread waits for it because the loop cannot watch every kind of stdin. It uses ``os.read``
    because a buffered reader would hold a lock that the end of the interpreter waits for.
    """
    loop = asyncio.get_running_loop()

    def end() -> None:
        left.set()
        stop.set()

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        # A signal may have ended the loop before stdin ended.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(end)

    threading.Thread(target=wait, name="stdin", daemon=True).start()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m mqserver.{PROGRAM}",
        description="Runs a name server and a broker in one process, for development and tests.",
        epilog="Settings of the broker may be set by environment variables ROCKETMQ_<key>, as "
        "ROCKETMQ_autoCreateTopicEnable=false.",
    )
    parser.add_argument("--store", type=Path, metavar="DIR", help="keep the data in DIR")
    parser.add_argument("--host", default=LOOPBACK, help=f"interface (default {LOOPBACK})")
    for name, port in (("namesrv", NAMESRV_PORT), ("broker", BROKER_PORT)):
        parser.add_argument(
            f"--{name}-port",
            type=_port,
            default=port,
            metavar="N",
            help=f"port of the {name} (default {port}, 0 takes a free one)",
        )
    parser.add_argument(
        "--grpc-port",
        type=_port,
        metavar="N",
        help=f"port for gRPC clients (default {GRPC_PORT}, or a free one with --namesrv-port 0)",
    )
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="also stop when standard input ends"
    )
    parser.add_argument(
        "--remove-store",
        action="store_true",
        help="delete the directory of --store when standard input ends, but not after a signal",
    )
    return parser


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, expected 0 to 65535")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
