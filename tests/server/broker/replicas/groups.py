"""A controller, a name server and the brokers of one group in one loop, over real sockets."""

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mqserver.broker.app import BrokerApp
from mqserver.broker.config import BrokerConfig
from mqserver.broker.replicas.member import ReplicaMember
from mqserver.broker.replicas.roles import Role
from mqserver.runtime.clock import SystemClock
from remoting.aio.client import RemotingClient
from remoting.codes import LaterCode
from remoting.headers import ElectMaster
from tests.ports import free_ports
from tests.server.broker.desk import Desk, broker_settings, name_server
from tests.server.controller.test_handlers import Caller, controller
from tests.waiting import until

CLUSTER, NAME = "TestCluster", "broker-a"


class Node:
    """One broker of the group, which starts again in this process when it says so."""

    def __init__(self, config: BrokerConfig, client: RemotingClient) -> None:
        self.config = config
        self.client = client
        self.address = f"127.0.0.1:{config.listen_port}"
        self.start_count = 0
        self._app: BrokerApp | None = None
        self._restarting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the broker on its store."""
        config = copy.deepcopy(self.config)
        app = BrokerApp(config, SystemClock(), restart=self._restart)
        self.start_count += 1
        await app.start()
        self._app = app

    def _restart(self) -> None:
        self._restarting = asyncio.create_task(self._start_again())

    async def _start_again(self) -> None:
        app, self._app = self._app, None
        assert app is not None
        await app.stop()
        await self.start()

    async def stop(self) -> None:
        """Stop the broker in order."""
        if self._restarting is not None:
            await self._restarting
        app, self._app = self._app, None
        if app is not None:
            await app.stop()

    @property
    def desk(self) -> Desk:
        assert self._app is not None
        return Desk(self._app, self.client, self.address)

    @property
    def member(self) -> ReplicaMember:
        assert self._app is not None
        member = self._app.broker.ha
        assert isinstance(member, ReplicaMember)
        return member

    @property
    def role(self) -> Role | None:
        """The role; None while it is not running."""
        return None if self._app is None or self._app._broker is None else self.member.machine.role

    @property
    def end(self) -> int:
        return self.desk.app.broker.store.written_offset


class Group:
    """The brokers of one group."""

    def __init__(self, root: Path, namesrv: str, caller: Caller) -> None:
        self.nodes: list[Node] = []
        self.namesrv, self.caller = namesrv, caller
        self._root = root

    async def add(self, **settings: object) -> Node:
        """Start another broker."""
        values: dict[str, object] = {
            "namesrv_addr": self.namesrv,
            "listen_port": free_ports(5) + 3,
            "enable_controller_mode": True,
            "controller_addr": self.caller.address,
            "ha_send_heartbeat_interval_ms": 100,
            "broker_heartbeat_interval_ms": 100,
            # A slow machine is no broker that hangs.
            "controller_heartbeat_timeout_ms": 60_000,
            "ha_max_time_slave_not_catchup_ms": 60_000,
            "slave_timeout_ms": 60_000,
            "slave_read_enable": True,
            **settings,
        }
        name = f"store-{len(self.nodes) + 1}"
        node = Node(broker_settings(self._root / name, **values), self.caller.client)
        self.nodes.append(node)
        await node.start()
        return node

    async def master(self, besides: Node | None = None) -> Node:
        """Wait for a master that takes messages, another one than ``besides``."""

        def leading() -> list[Node]:
            return [
                node
                for node in self.nodes
                if node is not besides
                and node.role is Role.LEADING
                and node.desk.app.broker.store.takes_messages
            ]

        await until(leading, what="a broker leads")
        return leading()[0]

    async def whole(self) -> Node:
        """Wait until every broker is in the in-sync set of the master, and return the master."""
        master = await self.master()

        def all_in_sync() -> bool:
            in_sync = master.member.machine.in_sync
            return in_sync is not None and len(in_sync.committed.members) == len(self.nodes)

        await until(all_in_sync, what="every broker is in the in-sync set")
        return master

    async def elect(self, node: Node) -> None:
        """Let an operator name the master."""
        header = ElectMaster(
            cluster_name=CLUSTER, broker_name=NAME, designate_elect=True,
            broker_id=node.member.machine.broker_id or 0,
        )  # fmt: skip
        ext = {key: str(value) for key, value in header.to_ext().items()}
        answer = await self.caller.ask(LaterCode.CONTROLLER_ELECT_MASTER, ext)
        assert answer.code == 0, answer


@asynccontextmanager
async def group_of(root: Path, count: int, **settings: object) -> AsyncIterator[Group]:
    """Yield a group of so many brokers, with its controller and its name server."""
    async with name_server(root) as namesrv, controller(root / "controller") as (_, caller):
        group = Group(root, namesrv, caller)
        try:
            for _ in range(count):
                await group.add(**settings)
            yield group
        finally:
            for node in group.nodes:
                await node.stop()
