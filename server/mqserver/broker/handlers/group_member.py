"""Requests to a broker of a group with a controller.

Source: broker/processor/AdminBrokerProcessor.java (5.4.0).
"""

from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request
from remoting.codes import LaterCode
from remoting.command import Command
from remoting.headers import ExchangeHaInfo


@handles(LaterCode.NOTIFY_BROKER_ROLE_CHANGED)
def master_changed(broker: Broker, request: Request) -> Command:
    """Ask the controller who the master is now.

    The content of the notice is ignored, because any client can send one.
    """
    broker.ha.master_changed()
    return request.command.response()


@handles(LaterCode.EXCHANGE_BROKER_HA_INFO)
def exchange_ha_info(broker: Broker, request: Request) -> Command:
    """Return the address for slaves. (Java also lets any peer set it; this broker does not.)"""
    question = request.command.header(ExchangeHaInfo)
    return request.command.response(header=broker.ha.exchange_ha_info(question))


@handles(LaterCode.GET_BROKER_EPOCH_CACHE)
def get_epoch_cache(broker: Broker, request: Request) -> Command:
    """Return the epochs of the log, that is, under which masters it was written."""
    return request.command.response(body=broker.ha.epoch_cache().encode())
