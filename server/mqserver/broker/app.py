"""One broker as a running server: sockets, start and stop.

    start:  config/*.json -> store opened and recovered -> port -> services -> registered
    stop:   unregistered -> messages written and flushed -> port closed
            -> offsets, topics, groups saved -> store closed (abort removed)

Rule: everything runs on one event loop; threads only wait for the disk (flush, state files,
housekeeping of the store). No file is saved before all files are loaded.

Source: broker/BrokerController.java, broker/BrokerStartup.java.
"""

import asyncio
import importlib
import logging
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mqserver.broker import handlers
from mqserver.broker.acl.gate import make_gate, open_access
from mqserver.broker.cold_handler import check_with_handler
from mqserver.broker.config import BrokerConfig
from mqserver.broker.disk_work import DiskThreads, DiskWork
from mqserver.broker.files.live_settings import LiveSettings
from mqserver.broker.files.loads import load_state, loss_warnings, missing_files
from mqserver.broker.files.saves import StateFiles
from mqserver.broker.ha.epoch import EpochFile
from mqserver.broker.ha.ha_file import HaFile, before_start, before_start_in_group
from mqserver.broker.ha.replication import Replication
from mqserver.broker.lost_topics import make_lost_topics
from mqserver.broker.ports import open_grpc_port, server_of
from mqserver.broker.registration import Registration
from mqserver.broker.replicas.group_files import GroupFiles, begin_as_slave
from mqserver.broker.replicas.member import ReplicaMember
from mqserver.broker.send.kernel import plain_sends
from mqserver.broker.startup import build_line, log_opening, run
from mqserver.broker.state import Broker
from mqserver.broker.state_tables import StateTables
from mqserver.runtime.clock import Clock, SystemClock
from mqserver.runtime.periodic import Services
from mqserver.runtime.program.limits import connections_size, process_resources
from mqserver.runtime.registry import collect
from mqserver.runtime.request_dispatcher import RequestDispatcher
from mqserver.store.recovery.safe_point import FILE_NAME as SAFE_POINT
from mqserver.store.store import MessageStore
from remoting.aio.client import RemotingClient
from remoting.aio.resources import Resources
from remoting.aio.server import ServerConn
from remoting.frame import RawFrame
from storefmt.formats.hosts import pack_host
from storefmt.paths import StorePaths

if TYPE_CHECKING:
    from mqserver.proxy.endpoint import Endpoint

LOG = logging.getLogger(__name__)


class BrokerApp:
    """A broker that can be started and stopped once.

    Args:
        config: the settings; changed while the broker runs.
        clock: the wall clock and the steady clock.
        restart: restarts the broker; None where no process would start it again.
        resources: limits of its connections; None for those of the process.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        *,
        restart: Callable[[], None] | None = None,
        resources: Resources | None = None,
    ) -> None:
        self._config = config
        self._settings = LiveSettings(config)
        self._restart = restart
        self._clock = clock
        self._files = StateFiles()
        self._services = Services(clock)
        self._client = RemotingClient(tls=config.tls.client)
        self._threads = DiskThreads()
        self._server = server_of(
            config,
            on_frame=self._too_early,
            on_close=self._on_close,
            resources=resources or process_resources(connections_size(config.in_flight_size_max)),
        )
        self._broker: Broker | None = None
        self._replication: Replication | None = None
        self._group_files: GroupFiles | None = None
        """Identity and epochs, with enableControllerMode."""
        self._endpoint: Endpoint | None = None
        self._tables: StateTables | None = None
        self._disk_work: DiskWork | None = None

    @property
    def broker(self) -> Broker:
        """The broker's state.

        Raises:
            RuntimeError: the broker is not started.
        """
        if self._broker is None:
            raise RuntimeError("the broker is not started")
        return self._broker

    async def start(self) -> int:
        """Open the store, listen and register; return the port.

        Raises:
            StoreError: the store directory, one of its state files or brokerIP1 cannot be used.
            OSError: the port cannot be opened.
        """
        config, now_ms = self._config, self._clock.now_ms()
        pack_host(config.broker_ip1, config.listen_port)
        paths = StorePaths(Path(config.store.store_path_root_dir))
        # Every start of this broker writes this file, and the state files as well.
        was_used = (paths.root / SAFE_POINT).exists()
        opening = self._threads.open_with(partial(self._open_store, now_ms))
        store, ha_file, epochs = await opening
        try:
            any_port = config.listen_port == 0
            broker = await self._open(store, paths, was_used=was_used or store.written_offset > 0)
            if was_used and not config.is_slave:
                # In a store of the real broker alone, a topic that it deleted before a crash may
                # have queues again and looks like a lost one; there such topics are only logged.
                make_lost_topics(broker.context, now_ms=now_ms)
            if not config.is_slave:
                broker.complete_last_commit(now_ms=now_ms)
            replication = self._replication = self._make_replication(
                broker, ha_file, epochs, any_port=any_port
            )
            await replication.take_back()
            self._serve_clients(broker)
            await replication.start()
        except BaseException:
            await self._server.stop()
            store.close(self._clock.now_ms())
            self._threads.close()
            raise
        log_opening(broker)
        registration = broker.registration = self._make_registration(broker, replication)
        self._start_services(broker, registration)
        # Ask whether another master was promoted before this one registers.
        await replication.fence.round(self._clock.now_ms())
        # Wait for this, because a client that can connect may ask a name server right away.
        registered = asyncio.Event()
        registration.register_soon(registered.set)
        await registered.wait()
        replication.fence.end_asking()
        await self._open_grpc_port(broker)
        return config.listen_port

    def _open_store(self, now_ms: int) -> tuple[MessageStore, HaFile, EpochFile]:
        """Open the store and what is beside it; waits for the disk."""
        self._settings.load()
        config, root = self._config, Path(self._config.store.store_path_root_dir)
        if config.enable_controller_mode:
            files = self._group_files = GroupFiles.of(config)
            begin_as_slave(config, files.identity)
            ha_file = before_start_in_group(config)
        else:
            ha_file = before_start(config)
        epochs = EpochFile.read(root)
        store = MessageStore.open(config.store, now_ms=now_ms, is_cut=ha_file.is_cut)
        if self._group_files is not None:
            # Before the order to cut is forgotten: a crash in between cuts once more.
            self._group_files.log_ends_at(store.written_offset)
        return store, ha_file.store_opened(), epochs

    def _make_replication(
        self, broker: Broker, ha_file: HaFile, epochs: EpochFile, *, any_port: bool
    ) -> Replication:
        if self._group_files is None:
            return Replication(
                broker, main=self._server, any_port=any_port, client=self._client, file=ha_file,
                epochs=epochs, restart=self._restart,
            )  # fmt: skip
        return ReplicaMember(
            broker, main=self._server, any_port=any_port, client=self._client, file=ha_file,
            epochs=epochs, restart=self._restart, files=self._group_files,
        )  # fmt: skip

    async def _open_grpc_port(self, broker: Broker) -> None:
        """Serve gRPC clients as well if grpcServerPort says so."""
        try:
            self._endpoint = await open_grpc_port(
                self._config, self._clock, access=broker.access, resources=self._server.resources
            )
        except BaseException:
            await self.stop()
            raise

    def _make_registration(self, broker: Broker, replication: Replication) -> Registration:
        fence = replication.fence
        registration = Registration(
            self._config,
            broker.topics,
            filter_servers=broker.filter_servers,
            client=self._client,
            clock=self._clock,
            on_master=replication.set_master_addresses,
            epoch=fence.registered_epoch,
            on_epoch=fence.hear_name_server,
            is_fenced=lambda: replication.is_unregistered,
            state_version=lambda: replication.state_version,
        )
        fence.fenced.add(replication.disconnect_slaves)
        fence.fenced.add(registration.leave)
        return registration

    async def _open(self, store: MessageStore, paths: StorePaths, *, was_used: bool) -> Broker:
        """Load the state and open the port, which refuses requests until ``_serve_clients``."""
        config, loop = self._config, asyncio.get_running_loop()
        stored = load_state(paths, config.store)
        # A slave copies its tables from its master, so it loses nothing.
        if was_used and not config.is_slave:
            for loss in loss_warnings(paths, stored, config.store):
                LOG.warning("%s", loss)
        # The port is part of every message id, so it is opened before the broker is created.
        config.listen_port = await self._server.start(config.bind_address, config.listen_port)
        broker = self._broker = Broker(
            config,
            store,
            clock=self._clock,
            files=self._files,
            stored=stored,
            sends=self._server.outbox,
            settings=self._settings,
        )
        broker.changed_settings.add(self._services.intervals_changed)
        broker.group_commit.open(loop)
        broker.cold.open(loop, broker.group_commit)
        broker.slices.open(loop)
        self._tables = StateTables(broker, paths)
        self._tables.open()
        self._disk_work = DiskWork(broker, self._threads)
        for name in missing_files(stored):
            self._files.mark(name)
        addresses = broker.filter_servers.addresses
        broker.access = open_access(
            config, store, now_ms=self._clock.now_ms, filter_servers=addresses
        )
        self._tables.open_users()
        return broker

    def _start_services(self, broker: Broker, registration: Registration) -> None:
        for part in (registration, self._replication, self._tables, self._disk_work, broker):
            assert part is not None
            part.schedule(self._services)
        self._services.start()

    def _serve_clients(self, broker: Broker) -> None:
        """Connect the port with the handlers."""
        config, access = self._config, broker.access
        gate, table = make_gate(config, access), collect(handlers)
        if access is not None:
            gate, table = check_with_handler(gate, table)
        dispatcher = RequestDispatcher(
            table,
            broker,
            clock=self._clock,
            gate=gate,
            on_response=broker.calls.on_response,
        )
        # Connections accepted from here on pass their frames directly to the dispatcher.
        self._server.on_frame = dispatcher.on_frame
        self._server.on_bytes = plain_sends(broker.sender, self._clock, access)

    async def stop(self) -> None:
        """Stop the parts in order; afterwards all acknowledged messages are on the disk.

        Raises:
            StoreFailed: the last messages could not be written or flushed.
            OSError: a state file could not be written.
        """
        broker = self.broker
        if self._endpoint is not None:
            # First, because its clients give back messages and leave their groups.
            await self._endpoint.stop()
        broker.sender.close()
        broker.store.cleaner.close()
        await self._services.stop()
        if broker.registration is not None:
            await broker.registration.stop()
        await self._client.close()
        broker.deadlines.close()
        broker.cold.close()
        broker.slices.close()
        if self._replication is not None:
            await self._replication.stop_following()
        await broker.group_commit.close()
        if self._replication is not None:
            await self._replication.stop()
        # Flush first: state files may only count what is on the disk.
        if self._disk_work is not None:
            await self._disk_work.finish()
        # The last answers may wait until topics.json has the topics that their messages created.
        await self._files.settle()
        await self._server.stop()
        try:
            if self._tables is not None:
                await self._tables.close()
        finally:
            self._threads.close()
            broker.store.close(self._clock.now_ms())

    # Frames.

    @staticmethod
    def _too_early(conn: ServerConn, raw: RawFrame) -> None:
        """Close a connection that sends before the start has ended."""
        conn.close()

    def _on_close(self, conn: ServerConn) -> None:
        if self._broker is not None:
            self._broker.connection_closed(conn)


def build() -> str:
    """Return what ``--version`` prints after the version."""
    # As at the start of a broker with a gRPC port: handlers and endpoint bring kernels as well.
    collect(handlers)
    importlib.import_module("mqserver.proxy.service")
    return build_line()


def main() -> int:
    """Run ``mqbroker`` until a signal stops it, and return the exit code."""
    return run(
        lambda config, restart: BrokerApp(config, SystemClock(), restart=restart), build=build
    )


if __name__ == "__main__":
    sys.exit(main())
