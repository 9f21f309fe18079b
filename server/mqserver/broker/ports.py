"""The ports of a broker: listenPort, the fast port listenPort - 2 of a master, grpcServerPort.

Rule: both ports accept the same requests with the same limits. Java's slaves ask for the topics on
the fast port, and its clients with vipChannelEnabled use only that one. If the fast port is not
available, the broker runs without it. What serves gRPC clients is loaded only where
grpcServerPort is set.

Source: broker/BrokerController.java (fastRemotingServer), common/MixAll.java#brokerVIPChannel.
"""

import logging
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from mqserver.broker.acl.access import BrokerAccess
from mqserver.broker.acl.first_users import inner_keys
from mqserver.broker.acl.user_access import UserAccess
from mqserver.broker.config import BrokerConfig
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.clock import Clock
from mqserver.runtime.program.process import StartFailed
from remoting.aio.resources import Resources
from remoting.aio.server import RemotingServer, ServerConn
from remoting.aio.tls import ClientTls, TlsMode
from remoting.frame import RawFrame

if TYPE_CHECKING:
    from mqserver.proxy.endpoint import Endpoint

LOG = logging.getLogger(__name__)


def server_of(
    config: BrokerConfig,
    *,
    on_frame: Callable[[ServerConn, RawFrame], None],
    on_close: Callable[[ServerConn], None],
    resources: Resources | None = None,
) -> RemotingServer:
    """Return a server with a broker's settings; it does not listen yet.

    Args:
        config: the settings.
        on_frame: handles each frame.
        on_close: called when a connection has closed.
        resources: limits that it shares with the other ports of its process.
    """
    return RemotingServer(
        on_frame=on_frame,
        on_close=on_close,
        idle_s=config.server_channel_max_idle_time_s,
        connections_max=config.connections_max,
        per_address_max=config.connections_per_address_max,
        backlog=config.server_socket_backlog,
        tls=config.tls.server,
        resources=resources,
    )


async def open_fast_port(server: RemotingServer, config: BrokerConfig) -> RemotingServer | None:
    """Let a server of ``server_of`` listen on the fast port; None if it is not available."""
    port = config.listen_port - 2
    try:
        await server.start(config.bind_address, max(port, 0))
    except OSError as error:
        LOG.info("port %d, where Java slaves ask for topics, cannot be had: %s", port, error)
        return None
    return server


async def open_grpc_port(
    config: BrokerConfig,
    clock: Clock,
    *,
    access: BrokerAccess | None,
    resources: Resources,
) -> "Endpoint | None":
    """Return the endpoint for gRPC clients, which is started, or None without grpcServerPort.

    Args:
        config: the settings; gets the port if the system chose it.
        clock: the time.
        access: the accounts; None without ACL.
        resources: limits that it shares with the other ports of its process.

    Raises:
        StartFailed: the port is not available.
    """
    if config.grpc_server_port is None:
        return None
    from mqserver.broker.acl.call_rights import check_call
    from mqserver.proxy.context import Credentials
    from mqserver.proxy.endpoint import Endpoint
    from mqserver.proxy.proxy_config import ProxyConfig

    keys = authorize = None
    if isinstance(access, UserAccess):
        keys = inner_keys(config.inner_client_authentication_credentials)
        authorize = partial(check_call, access.checks)
    is_enforcing = config.tls.server.mode is TlsMode.ENFORCING
    endpoint = Endpoint(
        ProxyConfig(
            grpc_server_port=config.grpc_server_port,
            bind_address=config.bind_address,
            namesrv_addr=config.namesrv_addr,
            connections_per_address_max=config.connections_per_address_max,
            tls=config.tls,
        ),
        clock,
        broker_tls=config.tls.client or (ClientTls() if is_enforcing else None),
        secret_of=None if access is None else access.secret_of,
        authorize=authorize,
        own=None if keys is None else Credentials(*keys),
        resources=resources,
    )
    try:
        config.grpc_server_port = await endpoint.start()
    except OSError as error:
        address = join_address(config.bind_address, config.grpc_server_port)
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise StartFailed(
            f"cannot listen on {address} for gRPC clients: {reason}; stop what uses it, or choose "
            "another port with grpcServerPort"
        ) from error
    return endpoint
