"""Chooses how the sends of a broker are taken: by the kernel where it was built, or in Python.

    RemotingServer.on_bytes ── SendKernel.take ── the first plain sends of a read
                                                  all that follows: on_frame ── Sender.take

Rule: ``MQ_PURE`` in the environment leaves the kernel out, see ``storefmt.formats.kernels``.
"""

import os
from collections.abc import Callable

from remoting.aio.server import ServerConn
from server.broker.send.sender import Kernel, Sender
from server.runtime.clock import Clock
from storefmt.formats.kernels import PURE


def compiled() -> Callable[..., Kernel] | None:
    """Return the class of the kernel; None where it was not built."""
    try:
        from server.broker.send.send_kernel import SendKernel
    except ImportError:
        return None
    return SendKernel


SendKernel = compiled()


def plain_sends(sender: Sender, clock: Clock) -> Callable[[ServerConn, bytes], int] | None:
    """Return what takes the plain sends at the beginning of a read; None without the kernel."""
    if SendKernel is None or os.environ.get(PURE):
        return None
    take = sender.make_kernel(SendKernel).take
    return lambda conn, data: take(conn, data, clock.now_ms())
