"""Runs one server as a process: start it, print the ready line, wait for a signal, stop it.

    exit 0  stopped by SIGTERM or SIGINT
    exit 1  could not start; one line on stderr says why
    exit 2  the command line or a setting is wrong

Rule: the first signal requests a clean stop. A second one kills the process, because the
signal handlers have been removed by then. stdout gets requested output, stderr gets the log.
"""

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from mqserver.runtime.program.event_loop import loop_name, run
from mqserver.runtime.program.limits import keep_freed_memory, raise_descriptor_limit
from mqserver.runtime.program.logs import LogFormat, configure_logging
from mqserver.runtime.typed_config import SettingsError
from remoting.errors import BadCall

LOG = logging.getLogger(__name__)

SWITCH_S: Final = 0.001
"""Time (s) after which a running thread yields to a waiting one; Python's default is 5 ms."""
EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_PORT_ERRORS = (errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL)


class Server(Protocol):
    """A server that can be started and stopped, such as the name server and the broker."""

    async def start(self) -> int:
        """Begin to serve and return the port."""
        ...

    async def stop(self) -> None:
        """Stop cleanly; afterwards everything that must survive is on the disk."""
        ...


class StartFailed(Exception):
    """A server cannot start; the text is one line for whoever started it."""


async def start(server: Server, *, address: str) -> int:
    """Start ``server`` and return its port; ``address`` is the ``host:port`` it listens on.

    Raises:
        StartFailed: the port is in use or not permitted.
    """
    try:
        return await server.start()
    except OSError as error:
        if error.errno not in _PORT_ERRORS:
            raise
        reason = os.strerror(error.errno).lower()
        raise StartFailed(
            f"cannot listen on {address}: {reason}; stop what uses it, or choose another "
            "address with listenPort or bindAddress"
        ) from error


def serve(
    make: Callable[[], Server],
    *,
    program: str,
    address: str,
    ready: Callable[[int], str],
    expected: tuple[type[Exception], ...] = (),
    again: asyncio.Event | None = None,
    log_format: LogFormat = LogFormat.TEXT,
) -> int:
    """Run a server until a signal arrives, and return the exit code of the process.

    Args:
        make: builds the server inside its event loop.
        program: name at the beginning of error lines.
        address: ``host:port`` for the text of a port conflict.
        ready: returns the line to print on stdout once the port is open.
        expected: errors of a start that are printed in one line, without a traceback.
        again: an event; when the server sets it, the server is stopped and a new one is made.
        log_format: how the lines of the log are written.
    """
    configure_logging(log_format)
    # While a thread encodes a large answer, the event loop soon gets its turn.
    sys.setswitchinterval(SWITCH_S)
    raise_descriptor_limit()
    keep_freed_memory()
    # A BadCall means that the TLS files cannot be used.
    in_one_line: tuple[type[Exception], ...] = (StartFailed, OSError, BadCall, *expected)
    try:
        run(_serve(make, address=address, ready=ready, again=again or asyncio.Event()))
    except in_one_line as error:
        complain(program, error)
        return EXIT_FAILED
    return EXIT_OK


def stop_event() -> asyncio.Event:
    """Return an event that the first SIGTERM or SIGINT sets; call it inside the loop."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def first_signal() -> None:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        stop.set()

    for number in _SIGNALS:
        loop.add_signal_handler(number, first_signal)
    return stop


def complain(program: str, error: Exception) -> None:
    """Print an error on stderr, with the name of the program before each line."""
    for line in str(error).splitlines() or [type(error).__name__]:
        print(f"{program}: {line}", file=sys.stderr)


def notify_systemd(state: str) -> None:
    """Report a state to systemd if it waits for one (``Type=notify``)."""
    address = os.environ.get("NOTIFY_SOCKET")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
            # An abstract address, whose first byte is 0, is written with an @.
            notified.connect(f"\0{address[1:]}" if address.startswith("@") else address)
            notified.sendall(state.encode())


def print_settings(pairs: Iterable[tuple[str, str]]) -> None:
    """Print ``key=value`` lines on stdout, as ``-p`` and ``-m`` ask for."""
    for key, text in pairs:
        print(f"{key}={text}")


def refuse_settings(program: str, error: SettingsError) -> int:
    """Print what is wrong with the configuration and return its exit code."""
    complain(program, error)
    return EXIT_USAGE


async def _serve(
    make: Callable[[], Server], *, address: str, ready: Callable[[int], str], again: asyncio.Event
) -> None:
    LOG.info("event loop: %s", loop_name(asyncio.get_running_loop()))
    # Created before the start, so that a signal during a long recovery is not lost.
    stop = stop_event()
    while not stop.is_set():
        again.clear()
        server = make()
        port = await start(server, address=address)
        print(ready(port), flush=True)
        notify_systemd("READY=1")
        # Modules live as long as the process. A full collection that walks them holds the loop
        # for 40 to 50 ms, and whoever makes us decode lists chooses when.
        gc.collect()
        gc.freeze()
        waiting = [asyncio.create_task(event.wait()) for event in (stop, again)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        if stop.is_set():
            notify_systemd("STOPPING=1")
        gc.unfreeze()
        await server.stop()
