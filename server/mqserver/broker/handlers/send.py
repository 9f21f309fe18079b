"""Send messages (10, 310, 320).

Where the kernel was built, ``send_kernel`` takes plain sends before they come here.

Source: broker/processor/SendMessageProcessor.java#parseRequestHeader.
"""

from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request
from remoting.codes import RequestCode


@handles(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
def send(broker: Broker, request: Request) -> None:
    """Store a message or a batch; the answer leaves when it is safe on disk."""
    broker.sender.handle_send(request)
