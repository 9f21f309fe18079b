"""The ports of a broker: listenPort, and listenPort - 2, where a master takes the same requests.

Rule: the same settings say who may connect to either. Java's slaves ask the second one for the
topics, and its clients with vipChannelEnabled use no other. A broker whose second port is taken
serves everybody else all the same.

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
        resources: what it shares with the other ports of its process.
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
    """Return the server on the second port, None where the port cannot be had."""
    server = server_of(config, on_frame=on_frame, on_close=on_close, resources=resources)
    port = config.listen_port - 2
    try:
        await server.start(config.bind_address, max(port, 0))
    except OSError as error:
        LOG.info("port %d, where Java slaves ask for topics, cannot be had: %s", port, error)
        return None
    return server
