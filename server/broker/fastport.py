"""The second port of a master, listenPort - 2, which takes the same requests.

Rule: Java's slaves ask there for the topics, and its clients with vipChannelEnabled use no
other one. A broker whose second port is taken serves everybody else all the same.

Source: broker/BrokerController.java (fastRemotingServer), common/MixAll.java#brokerVIPChannel.
"""

import logging
from collections.abc import Callable

from remoting.aio.server import RemotingServer, ServerConn
from remoting.frame import RawFrame
from server.broker.config import BrokerConfig

LOG = logging.getLogger(__name__)


async def open_fast_port(
    config: BrokerConfig,
    *,
    on_frame: Callable[[ServerConn, RawFrame], None],
    on_close: Callable[[ServerConn], None],
) -> RemotingServer | None:
    """Return the server on the second port, None where the port cannot be had."""
    server = RemotingServer(
        on_frame=on_frame,
        on_close=on_close,
        idle_s=config.server_channel_max_idle_time_s,
        connections_max=config.connections_max,
        per_address_max=config.connections_per_address_max,
        tls=config.tls.server,
    )
    port = config.listen_port - 2
    try:
        await server.start(config.bind_address, max(port, 0))
    except OSError as error:
        LOG.info("port %d, where Java slaves ask for topics, cannot be had: %s", port, error)
        return None
    return server
