"""A name server, a master and slaves of ours in one loop, over real sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mqserver.broker.app import BrokerApp
from mqserver.broker.config import BrokerRole
from mqserver.runtime.clock import SystemClock
from remoting.aio.client import RemotingClient
from remoting.codes import ExtensionCode
from remoting.command import Command
from remoting.headers import PromoteSlave
from tests.server.broker.desk import Desk, broker_settings, name_server
from tests.waiting import until


class Pair:
    """Brokers of one name, each with its store below ``root``; ``light`` is for light queues."""

    def __init__(
        self, root: Path, namesrv: str, client: RemotingClient, *, light: bool = False
    ) -> None:
        self.root = root
        self.light = light
        self.namesrv = namesrv
        self.client = client
        self.running: dict[str, Desk] = {}

    async def start(self, name: str, role: BrokerRole, **settings: object) -> Desk:
        """Start a broker on the store of that name."""
        values: dict[str, object] = {
            "namesrv_addr": self.namesrv,
            "broker_role": role,
            "broker_id": int(role is BrokerRole.SLAVE),
            "register_name_server_period_ms": 200,
            "ha_send_heartbeat_interval_ms": 100,
            # Otherwise epochs that come on the HA port are not believed.
            "slave_addresses": "127.0.0.1",
            # A slow disk is no slave that hangs.
            "slave_timeout_ms": 60_000,
            **settings,
        }
        config = broker_settings(self.root / name, **values)
        config.store.enable_lmq = config.store.enable_multi_dispatch = self.light
        app = BrokerApp(config, SystemClock())
        port = await app.start()
        desk = self.running[name] = Desk(app, self.client, f"127.0.0.1:{port}")
        return desk

    async def stop(self, name: str) -> None:
        """Stop a broker in order."""
        await self.running.pop(name).app.stop()

    async def restart(self, name: str, role: BrokerRole, **settings: object) -> Desk:
        """Stop a broker in order, and start it again."""
        await self.stop(name)
        return await self.start(name, role, **settings)

    async def promote(self, name: str, *, force: bool = False) -> Command:
        """Order a broker to become the master."""
        return await self.running[name].ask(
            ExtensionCode.PROMOTE_SLAVE, PromoteSlave(force=force), timeout_s=60
        )


@asynccontextmanager
async def pair_in(root: Path, *, light: bool = False) -> AsyncIterator[Pair]:
    """Yield brokers to be, with their name server."""
    async with name_server(root) as namesrv:
        client = RemotingClient()
        pair = Pair(root, namesrv, client, light=light)
        try:
            yield pair
        finally:
            for name in list(pair.running):
                await pair.stop(name)
            await client.close()


async def equal_ends(master: Desk, slave: Desk) -> None:
    """Return when a slave has all that its master has, on its disk."""
    a, b = master.app.broker.store, slave.app.broker.store

    def are_equal() -> bool:
        return a.written_offset == b.flushed_offset == b.raw.whole_offset

    await until(are_equal, what="the slave has it all")


def state_of(desk: Desk) -> str:
    """Return what a slave says that it is at."""
    return desk.app.broker.ha.numbers().get("haState", "")
