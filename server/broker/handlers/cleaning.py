"""Old data deleted by hand: commit log files (329), queues without messages (306).

Rule: only what is expired goes (``server.store.cleanup.retention``); a request changes when, and
never what.

Source: broker/processor/AdminBrokerProcessor.java.
"""

from remoting.codes import RequestCode
from remoting.command import Command
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request


@handles(RequestCode.DELETE_EXPIRED_COMMITLOG)
def delete_expired_log(broker: Broker, request: Request) -> Command:
    """Let expired commit log files be deleted now rather than at the hour of deleteWhen."""
    broker.store.cleaner.delete_by_hand()
    return request.command.response()


@handles(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
def clean_expired_queues(broker: Broker, request: Request) -> Command | None:
    """Remove queues all of whose messages are deleted; answered when they are removed."""
    broker.store.cleaner.remove_expired_queues(lambda: request.reply(request.command.response()))
    return None
