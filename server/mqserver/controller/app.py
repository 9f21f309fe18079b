"""One controller: its groups, its port and its periodic work.

    RemotingServer ─ frame ─ RequestDispatcher ─ handlers/*.py ─ BrokerGroups ─ GroupStore
           └─ connection closed ── Detection ─── dead master ──────┘  └─ Notices ─ brokers

Rule: this file only connects the parts, so that each of them can be tested without sockets.
``handlers`` defines what a request means, ``group_rules`` what it changes.

Source: controller/ControllerManager.java, controller/ControllerStartup.java (5.4.0).
"""

import asyncio
import contextlib
import logging
import sys
from pathlib import Path
from typing import Final

from mqserver.controller import handlers
from mqserver.controller.broker_groups import BrokerGroups
from mqserver.controller.controller_config import ControllerConfig, controller_config
from mqserver.controller.controller_state import ControllerState
from mqserver.controller.detection import Detection
from mqserver.controller.etcd import EtcdClient
from mqserver.controller.group_record import GroupRecord
from mqserver.controller.group_store import GroupStore, StoreUnavailable
from mqserver.controller.groups_etcd import GroupsEtcd
from mqserver.controller.groups_file import GroupsFile
from mqserver.controller.leadership import RENEWAL_MS, Leadership, LeaseInEtcd, SoleController
from mqserver.controller.live_brokers import LiveBroker
from mqserver.controller.notices import Notices
from mqserver.controller.request_gate import make_gate
from mqserver.runtime.access.admin_gate import address_list
from mqserver.runtime.access.hostaddress import is_loopback
from mqserver.runtime.clock import Clock, SystemClock
from mqserver.runtime.periodic import Services
from mqserver.runtime.program.entry_point import EntryPoint
from mqserver.runtime.program.limits import process_resources
from mqserver.runtime.registry import collect
from mqserver.runtime.request_dispatcher import RequestDispatcher
from remoting.aio.client import RemotingClient
from remoting.aio.resources import Resources
from remoting.aio.server import RemotingServer, ServerConn
from remoting.frame import RawFrame

LOG = logging.getLogger(__name__)


class ControllerApp:
    """A controller that can be started once and stopped once.

    Args:
        config: its settings.
        clock: the source of time.
        resources: what its connections may use; None for the limits of this process.
    """

    def __init__(
        self, config: ControllerConfig, clock: Clock, *, resources: Resources | None = None
    ) -> None:
        self.config = config
        self._clock = clock
        self._client = RemotingClient(connect_timeout_s=1.0)
        self._notices = Notices(self._client)
        cluster = config.etcd_cluster()
        self._etcd = None if cluster is None else EtcdClient(cluster[0], is_tls=cluster[2])
        self._prefix = "" if cluster is None else cluster[1]
        self._store: GroupStore = (
            GroupsFile(Path(config.controller_store_path))
            if self._etcd is None
            else GroupsEtcd(self._etcd, prefix=self._prefix)
        )
        self.groups = BrokerGroups(
            self._store,
            clock,
            on_new_master=self._notify,
            on_old_epoch=self._notify_again,
            first_election_wait_ms=config.first_election_wait_ms,
        )
        self._detection = Detection(self.groups, clock)
        self._services = Services(clock)
        self._searching: asyncio.Task[None] | None = None
        self._resources = resources or process_resources(config.in_flight_size_max)
        self.state: ControllerState | None = None
        self._server: RemotingServer | None = None

    async def start(self) -> int:
        """Open the store and the port, and return the port's number.

        Raises:
            OSError: the port cannot be opened.
            StoreUnavailable: the store cannot be opened.
        """
        config = self.config
        await self._store.open()
        listed = address_list(config.allowed_addresses, key="allowedAddresses")
        server = self._server = RemotingServer(
            on_frame=_close_too_early,
            on_close=self._connection_closed,
            may_connect=lambda ip: is_loopback(ip) or listed.matches(ip),
            tls=config.tls.server,
            idle_s=config.server_channel_max_idle_time_s,
            connections_max=config.connections_max,
            per_address_max=config.connections_per_address_max,
            resources=self._resources,
        )
        try:
            port = await server.start(config.bind_address, config.controller_listen_port)
        except OSError:
            await self._store.close()
            raise
        # Brokers are given the address of the leader, so the port has to be known first.
        leadership = self._leadership(config.address_for(port))
        await leadership.renew()
        state = self.state = ControllerState(
            config, self._clock, self.groups, leadership, self._notices
        )
        dispatcher = RequestDispatcher(
            collect(handlers), state, clock=self._clock, gate=make_gate(config)
        )
        server.on_frame = dispatcher.on_frame
        self._services.every(RENEWAL_MS, lambda now_ms: leadership.renew(), name="leadership")
        self._services.start()
        self._searching = asyncio.create_task(self._search(state), name="search for masters")
        return port

    def _leadership(self, address: str) -> Leadership:
        if self._etcd is None:
            return SoleController(address)
        return LeaseInEtcd(self._etcd, prefix=self._prefix, address=address, clock=self._clock)

    def _connection_closed(self, conn: ServerConn) -> None:
        self._detection.connection_closed(conn.id)

    def _notify(self, record: GroupRecord) -> None:
        if self.config.notify_broker_role_changed:
            alive = sorted(self.groups.alive(record))
            self._notices.send_all(record, alive, steady_ms=self._clock.steady_ms())

    def _notify_again(self, record: GroupRecord, broker: LiveBroker) -> None:
        if self.config.notify_broker_role_changed:
            now_ms = self._clock.steady_ms()
            self._notices.repeat(record, broker.key.broker_id, steady_ms=now_ms)

    async def _search(self, state: ControllerState) -> None:
        """Look for groups without a living master until the controller stops."""
        problem = ""
        while True:
            interval_s = self.config.scan_not_active_broker_interval / 1000
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(interval_s):
                    await self._detection.changed.wait()
            self._detection.changed.clear()
            try:
                self._detection.expire()
                if state.leadership.is_leader:
                    await self.groups.look_for_masters(self._detection.may_be_dead)
                problem = ""
            except StoreUnavailable as error:
                if str(error) != problem:
                    problem = str(error)
                    LOG.error("the records of groups cannot be read: %s", error)
            except Exception:
                LOG.exception("the search for masters failed; it runs again after its interval")

    async def stop(self) -> None:
        """Stop leading and close every connection; the records are on the disk already."""
        await self._services.stop()
        if self._searching is not None:
            self._searching.cancel()
            await asyncio.gather(self._searching, return_exceptions=True)
        await self._detection.stop()
        if self.state is not None:
            await self.state.stop()
            await self.state.leadership.resign()
        await self._notices.stop()
        if self._server is not None:
            await self._server.stop()
        await self._client.close()
        await self._store.close()


def _close_too_early(conn: ServerConn, raw: RawFrame) -> None:
    """Close a connection that sends before the start has ended."""
    conn.close()


MAIN: Final = EntryPoint(
    "mqcontroller",
    "Runs a RocketMQ controller.",
    configure=controller_config,
    make=lambda config, restart: ControllerApp(config, SystemClock()),
    bind=lambda config: (config.bind_address, config.controller_listen_port),
    ready=lambda config, port: "The Controller boot success. serializeType=JSON",
    expected=(StoreUnavailable,),
    registers=False,
)
main = MAIN.run


if __name__ == "__main__":
    sys.exit(main())
