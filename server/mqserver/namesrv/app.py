"""One name server: its tables, its port and its periodic work.

    RemotingServer ─ frame ─ RequestDispatcher ─ handlers/*.py ─ RouteTable, KvConfig
           └─ connection closed ─────────────────────────── RouteTable

Rule: this file only connects the parts. ``handlers`` defines what a request means; ``routes`` and
``kvconfig`` hold the data. Every 10 s, brokers that were silent for 120 s are dropped.

Source: namesrv/NamesrvController.java, namesrv/NamesrvStartup.java,
namesrv/routeinfo/BrokerHousekeepingService.java.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

from mqserver.controller.app import ControllerApp
from mqserver.controller.group_store import StoreUnavailable
from mqserver.namesrv import handlers
from mqserver.namesrv.kvconfig import KvConfig
from mqserver.namesrv.namesrv_config import NamesrvConfig, namesrv_config
from mqserver.namesrv.namesrv_state import NamesrvState
from mqserver.namesrv.request_gate import make_connection_check, make_gate
from mqserver.runtime.clock import Clock, SystemClock
from mqserver.runtime.periodic import Services
from mqserver.runtime.program.entry_point import EntryPoint
from mqserver.runtime.program.limits import process_resources
from mqserver.runtime.registry import collect
from mqserver.runtime.request_dispatcher import RequestDispatcher, UnknownCode
from remoting.aio.resources import Resources
from remoting.aio.server import RemotingServer
from storefmt.errors import StoreError

EXPIRY_INTERVAL_MS: Final = 10_000
EXPIRY_FIRST_MS: Final = 5_000


class NamesrvApp:
    """A name server that can be started once and stopped once.

    Args:
        config: the settings of the name server.
        clock: the source of time.
        resources: what its connections may use; None for the limits of this process.

    Raises:
        ConfigDamaged: kvConfig.json exists and cannot be read.
    """

    def __init__(
        self, config: NamesrvConfig, clock: Clock, *, resources: Resources | None = None
    ) -> None:
        self.state = NamesrvState(config, KvConfig.open(Path(config.kv_config_path)))
        dispatcher = RequestDispatcher(
            collect(handlers),
            self.state,
            clock=clock,
            unknown=UnknownCode.IGNORE,
            gate=make_gate(config),
        )
        self._services = Services(clock)
        self._services.every(
            EXPIRY_INTERVAL_MS, self.state.expire, name="broker expiry", first_ms=EXPIRY_FIRST_MS
        )
        resources = resources or process_resources(config.in_flight_size_max)
        self.controller = (
            None
            if config.controller is None
            else ControllerApp(config.controller, clock, resources=resources)
        )
        self._server = RemotingServer(
            on_frame=dispatcher.on_frame,
            on_close=self.state.connection_closed,
            may_connect=make_connection_check(config),
            tls=config.tls.server,
            idle_s=config.server_channel_max_idle_time_s,
            connections_max=config.connections_max,
            per_address_max=config.connections_per_address_max,
            resources=resources,
        )

    async def start(self) -> int:
        """Open the port and return its number.

        Raises:
            OSError: the port, or that of the controller, cannot be opened.
            StoreUnavailable: the records of the controller cannot be read.
        """
        config = self.state.config
        port = await self._server.start(config.bind_address, config.listen_port)
        if self.controller is not None:
            try:
                await self.controller.start()
            except BaseException:
                await self._server.stop()
                raise
        self.state.slices.open(asyncio.get_running_loop())
        self._services.start()
        return port

    async def stop(self) -> None:
        """Close every connection; the key values are already on the disk."""
        await self._services.stop()
        if self.controller is not None:
            await self.controller.stop()
        self.state.slices.close()
        await self._server.stop()


MAIN: Final = EntryPoint(
    "mqnamesrv",
    "Runs a RocketMQ name server.",
    configure=namesrv_config,
    set_file=lambda config, path: setattr(config, "config_store_path", str(path)),
    make=lambda config, restart: NamesrvApp(config, SystemClock()),
    bind=lambda config: (config.bind_address, config.listen_port),
    ready=lambda config, port: "The Name Server boot success. serializeType=JSON",
    expected=(StoreError, StoreUnavailable),
    registers=False,
)
main = MAIN.run


if __name__ == "__main__":
    sys.exit(main())
