"""Choose how the sends of a broker are taken: by the kernel where it was built, or in Python.

RemotingServer.on_bytes ── SendKernel.take ── the first plain sends of a read
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
    """Return what takes the plain sends at the beginning of a read; None without the kernel.

    Args:
        sender: takes all other sends.
        clock: gives the store times.
        access: checks every send; None without access control.
    """
    if send_kernel is None:
        return None
    take = sender.make_kernel(send_kernel, access).take
    return lambda conn, data: take(conn, data, clock.now_ms())
