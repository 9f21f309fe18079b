"""Filter servers: they register (301), and ask whether a consumer may upload a filter (302).

Source: broker/processor/AdminBrokerProcessor.java#registerFilterServer; 302 is an extension of
this broker, in 4.2 only filter servers answered it.
"""

from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import (
    RegisterFilterServer,
    RegisterFilterServerResponse,
    RegisterMessageFilterClass,
)
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request


@handles(RequestCode.REGISTER_FILTER_SERVER)
def register_filter_server(broker: Broker, request: Request) -> Command:
    """Register a filter server, which routes of this broker's topics then list."""
    address = request.command.header(RegisterFilterServer).filter_server_addr
    if broker.filter_servers.register(request.conn, address, now_ms=request.now_ms):
        broker.filter_servers_changed()
    config = broker.config
    header = RegisterFilterServerResponse(
        broker_name=config.broker_name, broker_id=config.broker_id
    )
    return request.command.response(header=header)


@handles(RequestCode.REGISTER_MESSAGE_FILTER_CLASS)
def may_upload(broker: Broker, request: Request) -> Command:
    """Tell a filter server that a consumer may upload; permissions were checked before this."""
    request.command.header(RegisterMessageFilterClass)
    return request.command.response()
