"""One gRPC endpoint as a part of a process: its port, its clients, its periodic work.

    start:  port open
    stop:   port closed -> calls ended -> messages given back -> clients leave their groups

A broker starts one in its process, ``mqproxy`` runs one alone; both reach brokers by the network.
"""

from typing import Final

from mqclient.client.instance import MQClient
from mqserver.proxy.cluster import Cluster
from mqserver.proxy.context import Authorize, Credentials, SecretOf
from mqserver.proxy.http2.calls import Calls
from mqserver.proxy.port import GrpcPort
from mqserver.proxy.proxy_config import ProxyConfig
from mqserver.proxy.service import Service, methods_of
from mqserver.runtime.clock import Clock
from mqserver.runtime.periodic import Action, Services
from remoting.aio.resources import Resources
from remoting.aio.tls import ClientTls

EXPIRY_MS: Final = 10_000
ACCOUNTS_SCAN_MS: Final = 2_000


class Endpoint:
    """A gRPC endpoint that can be started and stopped once.

    Args:
        config: the settings.
        clock: the time.
        broker_tls: how connections to brokers are encrypted; None leaves them plain.
        secret_of: the accounts that requests are signed with; None when access control is off.
        authorize: checks what a client asks for; None if only brokers do.
        own: sign questions to brokers about topics and groups; None for the keys of clients.
        reload_accounts: brings the accounts up to date; None if the broker does that.
        reload_ms: the time between two calls of ``reload_accounts``.
        resources: limits that it shares with the other ports of the process.
    """

    def __init__(
        self,
        config: ProxyConfig,
        clock: Clock,
        *,
        broker_tls: ClientTls | None = None,
        secret_of: SecretOf | None = None,
        authorize: Authorize | None = None,
        own: Credentials | None = None,
        reload_accounts: Action | None = None,
        reload_ms: int = ACCOUNTS_SCAN_MS,
        resources: Resources | None = None,
    ) -> None:
        self._config = config
        self._client = MQClient(config.namesrv_addr, clock_ms=clock.now_ms, tls=config.tls.client)
        resources = resources or Resources()
        self._cluster = Cluster(self._client, tls=broker_tls, pieces=resources.pieces, own=own)
        self.service = Service(config, self._cluster, lambda: self._port.port, resources=resources)
        methods = methods_of(self.service, secret_of=secret_of, authorize=authorize)
        self._calls = Calls(
            methods,
            size_max=config.grpc_max_inbound_message_size,
            pieces=resources.pieces,
        )
        self._port = GrpcPort(
            self._calls,
            tls=config.tls.server,
            resources=resources,
            per_address_max=config.connections_per_address_max,
        )
        self._services = Services(clock)
        sessions = self.service.sessions
        every = self._services.every
        every(config.heartbeat_period_ms, sessions.heartbeats, name="gRPC clients")
        every(config.renew_period_ms, sessions.renew, name="receipt handles")
        every(EXPIRY_MS, self.service.transactions.drop_expired, name="transactions")
        every(config.heartbeat_period_ms, self._drop_idle, name="gRPC connections")
        if reload_accounts is not None:
            every(reload_ms, reload_accounts, name="accounts", first_ms=0)

    async def start(self) -> int:
        """Open the port and return its number.

        Raises:
            OSError: the port cannot be opened.
        """
        port = await self._port.start(self._config.bind_address, self._config.grpc_server_port)
        self._services.start()
        return port

    async def stop(self) -> None:
        """Close every connection; clients leave their groups."""
        await self._services.stop()
        await self._port.stop()
        self._calls.close()
        await self.service.receiving.close()
        await self.service.sessions.close()
        await self._cluster.close()
        await self._client.close()

    async def _drop_idle(self, now_ms: int) -> None:
        self._port.drop_idle(self._config.client_idle_ms / 1000)
