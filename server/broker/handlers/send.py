"""Send messages (10, 310, 320).

Where the kernel was built, ``send_kernel`` takes plain sends before they come here.

Source: broker/processor/SendMessageProcessor.java#parseRequestHeader.
"""

from remoting.codes import RequestCode
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request


@handles(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
def send(broker: Broker, request: Request) -> None:
    """Store a message or a batch; the answer leaves when it is safe on disk."""
    broker.sender.take(request)
