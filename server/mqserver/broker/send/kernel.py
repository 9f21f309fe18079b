"""Choose how a broker handles sends: in the kernel where it was built, else in Python.

RemotingServer.on_bytes ── SendKernel.store_sends ── the first plain sends of a read
                                              all that follows: on_frame ── Sender.handle_send
"""

from collections.abc import Callable
from typing import Final

from mqserver.broker.acl.access import BrokerAccess
from mqserver.broker.send.sender import Kernel, Sender
from mqserver.runtime.clock import Clock
from remoting.aio.server import ServerConn
from storefmt.kernels import load

send_kernel: Final[Callable[..., Kernel] | None] = load(
    "mqserver.broker.send.send_kernel", "SendKernel", pure=None
)
"""The class of the kernel in use; None without one."""


def plain_sends(
    sender: Sender, clock: Clock, access: BrokerAccess | None
) -> Callable[[ServerConn, bytes], int] | None:
    """Return the function that stores the plain sends at the start of a read; None without kernel.

    Args:
        sender: handles all other sends.
        clock: gives the store times.
        access: checks every send; None without access control.
    """
    if send_kernel is None:
        return None
    store_sends = sender.make_kernel(send_kernel, access).store_sends
    return lambda conn, data: store_sends(conn, data, clock.now_ms())
