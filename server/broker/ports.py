"""The ports of a broker: listenPort, and the fast port listenPort - 2 of a master.

Rule: both ports accept the same requests with the same limits. Java's slaves ask for the topics on
the fast port, and its clients with vipChannelEnabled use only that one. If the fast port is not
available, the broker runs without it.

Source: broker/BrokerController.java (fastRemotingServer), common/MixAll.java#brokerVIPChannel.
"""

import logging
from collections.abc import Callable

from remoting.aio.resources import Resources
from remoting.aio.server import RemotingServer, ServerConn
from remoting.frame import RawFrame
from server.broker.config import BrokerConfig

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


async def open_fast_port(
    config: BrokerConfig,
    *,
    on_frame: Callable[[ServerConn, RawFrame], None],
    on_close: Callable[[ServerConn], None],
    resources: Resources | None = None,
) -> RemotingServer | None:
    """Return a server that listens on the fast port, or None if the port is not available.

    Args:
        config: the settings.
        on_frame: handles each frame.
        on_close: called when a connection has closed.
        resources: limits that it shares with the other ports of its process.
    """
    server = server_of(config, on_frame=on_frame, on_close=on_close, resources=resources)
    port = config.listen_port - 2
    try:
        await server.start(config.bind_address, max(port, 0))
    except OSError as error:
        LOG.info("port %d, where Java slaves ask for topics, cannot be had: %s", port, error)
        return None
    return server
