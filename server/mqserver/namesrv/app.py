"""One name server: its tables, its port and its periodic work.

    RemotingServer ─ frame ─ RequestDispatcher ─ handlers/*.py ─ RouteTable, KvConfig
           └─ connection closed ─────────────────────────── RouteTable

Rule: this file only connects the parts. ``handlers`` defines what a request means; ``routes`` and
``kvconfig`` hold the data. Every 10 s, brokers that were silent for 120 s are dropped.

Source: namesrv/NamesrvController.java, namesrv/NamesrvStartup.java,
namesrv/routeinfo/BrokerHousekeepingService.java.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from mqserver.controller.app import ControllerApp
from mqserver.controller.group_store import StoreUnavailable
from mqserver.namesrv import handlers
from mqserver.namesrv.config import NamesrvConfig, namesrv_config
from mqserver.namesrv.kvconfig import KvConfig
from mqserver.namesrv.request_gate import make_connection_check, make_gate
from mqserver.namesrv.state import NamesrvState
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.clock import Clock, SystemClock
from mqserver.runtime.dispatch import RequestDispatcher, UnknownCode
from mqserver.runtime.program.commandline import Printing, gather, read_flags
from mqserver.runtime.program.limits import process_resources
from mqserver.runtime.program.process import EXIT_OK, print_settings, refuse_settings, serve
from mqserver.runtime.registry import collect
from mqserver.runtime.service import Services
from mqserver.runtime.settings import SettingsError, format_settings
from remoting.aio.resources import Resources
from remoting.aio.server import RemotingServer
from storefmt.errors import StoreError

PROGRAM: Final = "mqnamesrv"
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


def main(argv: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Run ``mqnamesrv`` until a signal arrives, and return its exit code."""
    flags = read_flags(
        sys.argv[1:] if argv is None else argv,
        program=PROGRAM,
        about="Runs a RocketMQ name server.",
        registers=False,
    )
    try:
        config = namesrv_config(gather(flags, os.environ if environment is None else environment))
    except SettingsError as error:
        return refuse_settings(PROGRAM, error)
    if flags.config_file is not None:
        config.config_store_path = str(flags.config_file)
    if flags.printing is not Printing.NOTHING:
        important_only = flags.printing is Printing.IMPORTANT
        print_settings(format_settings(config, important_only=important_only))
        return EXIT_OK
    return serve(
        lambda: NamesrvApp(config, SystemClock()),
        program=PROGRAM,
        log_format=flags.log_format,
        address=join_address(config.bind_address, config.listen_port),
        ready=lambda port: (
            "The Name Server boot success. serializeType=JSON, listening on "
            + join_address(config.bind_address, port)
        ),
        expected=(StoreError, StoreUnavailable),
    )


if __name__ == "__main__":
    sys.exit(main())
