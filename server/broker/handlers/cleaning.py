"""Delete old data on request: commit log files (329), queues without messages (306).

Rule: only expired data is deleted (``server.store.cleanup.retention``); a request only decides
when this happens.

Source: broker/processor/AdminBrokerProcessor.java.
"""

from remoting.codes import RequestCode
from remoting.command import Command
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request


@handles(RequestCode.DELETE_EXPIRED_COMMITLOG)
def delete_expired_log(broker: Broker, request: Request) -> Command:
    """Delete expired commit log files now instead of at the hour of deleteWhen."""
    broker.store.cleaner.delete_by_hand()
    return request.command.response()


@handles(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
def clean_expired_queues(broker: Broker, request: Request) -> Command | None:
    """Remove the queues whose messages are all deleted; the answer follows when that is done."""
    broker.store.cleaner.remove_expired_queues(lambda: request.reply(request.command.response()))
    return None
