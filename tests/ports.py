"""Ports for servers that are told theirs: free ones, kept for this process alone.

    bind(0), close, start a server there     somebody else may have the port by then
    bind(0), keep,  start a server there     nobody is given it; the server may listen there

Rule: the socket that holds a port never listens, so that connecting there is refused until
a server does. Servers set SO_REUSEADDR and so may share the port, because this socket sets it, too;
but only after it was bound, since otherwise another process could hold the same port. It holds the
port on every address of this machine.
"""

import socket

HOST = "127.0.0.1"
_held: list[socket.socket] = []
"""Until this process ends: a server that was killed comes back on the port it had."""


def free_ports(count: int) -> int:
    """Return the first of ``count`` TCP ports in a row that nobody else is given."""
    while True:
        first = hold(0)
        if first is None:
            continue
        held = [first]
        port = int(first.getsockname()[1])
        for number in range(port + 1, min(port + count, 65_536)):
            more = hold(number)
            if more is None:
                break
            held.append(more)
        if len(held) == count:
            _held.extend(held)
            return port
        for one in held:
            one.close()


def hold(port: int) -> socket.socket | None:
    """Return a socket that is bound to a port, None where it is taken or held."""
    probe = socket.socket()
    try:
        probe.bind(("", port))
    except OSError:
        probe.close()
        return None
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return probe
