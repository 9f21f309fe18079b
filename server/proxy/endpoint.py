"""One gRPC endpoint as a part of a process: its port, its clients, its periodic work.

    start:  port open          (grpcio is loaded when the first client connects)
    stop:   port closed -> calls ended -> messages given back -> clients leave their groups

A broker starts one beside itself, ``mqproxy`` runs one alone; both go to brokers by the network.
"""

import asyncio
import importlib
from typing import Final, Protocol

from mqclient.client.instance import MQClient
from remoting.aio.resources import Resources
from remoting.aio.tls import ClientTls
from server.proxy.cluster import Cluster
from server.proxy.config import ProxyConfig
from server.proxy.context import SecretOf
from server.proxy.front import MISSING, Front, has_grpc
from server.proxy.service import Service
from server.runtime.clock import Clock
from server.runtime.program.process import StartFailed
from server.runtime.service import Services

EXPIRY_MS: Final = 10_000
_SERVER: Final = "server.proxy.grpc_server"


class _Stops(Protocol):
    """The gRPC server, whose module is loaded late."""

    async def stop(self) -> None: ...


class Endpoint:
    """A gRPC endpoint that can be started and stopped once.

    Args:
        config: the settings.
        clock: the time.
        broker_tls: how connections to brokers are encrypted; None leaves them plain.
        secret_of: the accounts that requests are signed with; None when nobody needs one.
        resources: limits that it shares with the other ports of the process.
    """

    def __init__(
        self,
        config: ProxyConfig,
        clock: Clock,
        *,
        broker_tls: ClientTls | None = None,
        secret_of: SecretOf | None = None,
        resources: Resources | None = None,
    ) -> None:
        self._config = config
        self._secret_of = secret_of
        self._client = MQClient(config.namesrv_addr, clock_ms=clock.now_ms, tls=config.tls.client)
        self._cluster = Cluster(self._client, tls=broker_tls)
        self._front = Front(
            self._start_server, tls=config.tls.server, resources=resources or Resources()
        )
        self.service = Service(config, self._cluster, lambda: self._front.port)
        self._server: _Stops | None = None
        self._services = Services(clock)
        sessions = self.service.sessions
        every = self._services.every
        every(config.heartbeat_period_ms, sessions.heartbeats, name="gRPC clients")
        every(config.renew_period_ms, sessions.renew, name="receipt handles")
        every(EXPIRY_MS, self.service.transactions.drop_expired, name="transactions")

    async def start(self) -> int:
        """Open the port and return its number.

        Raises:
            StartFailed: grpcio is not installed.
            OSError: the port cannot be opened.
        """
        if not has_grpc():
            raise StartFailed(MISSING)
        port = await self._front.start(self._config.bind_address, self._config.grpc_server_port)
        self._services.start()
        return port

    async def stop(self) -> None:
        """Close every connection; clients leave their groups."""
        await self._services.stop()
        self._front.close()
        if self._server is not None:
            await self._server.stop()
        await self.service.receiving.close()
        await self.service.sessions.close()
        await self._cluster.close()
        await self._client.close()

    async def _start_server(self) -> int:
        # A thread, because the loop has other clients to serve while this is loaded.
        module = await asyncio.to_thread(importlib.import_module, _SERVER)
        server = module.GrpcServer(
            self.service, self._config, secret_of=self._secret_of, peers=self._front.peers
        )
        port: int = await server.start()
        self._server = server
        return port
