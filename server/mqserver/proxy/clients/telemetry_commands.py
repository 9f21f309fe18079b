"""Commands that wait for the Telemetry stream of one client.

    the answer to settings ──┐
    a broker's question ─────┴─ queue_command ──> COMMANDS_MAX ──> write_all ──> the stream

Rule: a client that does not read gets no further commands, and its own are not read either, so that
it cannot fill our memory. Each command that waits is charged to its connection.

Source: ours; 5.4.0's proxy writes to the stream, however much waits there.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from mqserver.proxy.protocol.requests import TelemetryCommand
from remoting.aio import costs

COMMANDS_MAX: Final = 16


class CommandQueue:
    """The commands for one Telemetry stream.

    Args:
        hold: counts more bytes for the connection, or fewer if the number is negative.
    """

    def __init__(self, hold: Callable[[int], None]) -> None:
        self._hold = hold
        self._waiting: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()

    def queue_command(self, command: TelemetryCommand) -> bool:
        """Queue a command; return False, and drop it, when the client does not read."""
        if len(self._waiting) >= COMMANDS_MAX:
            return False
        data = command.encode()
        self._hold(costs.COMMAND.size + len(data))
        self._waiting.append(data)
        self._changed.set()
        if len(self._waiting) >= COMMANDS_MAX:
            self._has_room.clear()
        return True

    async def wait_for_room(self) -> None:
        """Wait until another command can be queued."""
        await self._has_room.wait()

    async def write_all(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Write commands until this is cancelled."""
        while True:
            while self._waiting:
                data = self._waiting[0]
                await write(data)
                self._waiting.popleft()
                self._hold(-costs.COMMAND.size - len(data))
                self._has_room.set()
            self._changed.clear()
            await self._changed.wait()
