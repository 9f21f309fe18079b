"""A simulated network of brokers: requests are delayed, lost, or cut off by a partition.

Rule: everything random comes from one seeded generator, and everything slow from the loop.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable

from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient
from remoting.command import Command
from remoting.errors import ConnectFailed, RequestTimedOut
from tests.mqclient.sim.clock import SimLoop

Server = Callable[["SimClient", Command], Awaitable[Command | None]]


class Network:
    """Who can reach whom, how slowly, and with what loss."""

    def __init__(self, loop: SimLoop, seed: int) -> None:
        self.loop = loop
        self.random = random.Random(seed)
        self.loss = 0.0
        self.delay_s_max = 0.02
        self.servers: dict[str, Server] = {}
        self.cut: set[tuple[str, str]] = set()
        """Pairs of client name and server address without a connection."""

    async def pass_on(self) -> bool:
        """Take the time of one way; return whether the message arrives."""
        await asyncio.sleep(self.random.uniform(0.0001, self.delay_s_max))
        return self.random.random() >= self.loss

    def reachable(self, client: str, address: str) -> bool:
        return address in self.servers and (client, address) not in self.cut


class SimRemoting:
    """The connections of one client, in place of ``remoting.aio.client``."""

    def __init__(self, network: Network, client: "SimClient") -> None:
        self._network = network
        self._client = client

    async def invoke(self, address: str, command: Command, *, timeout_s: float) -> Command:
        network, name = self._network, self._client.name
        if not network.reachable(name, address):
            await asyncio.sleep(0.05)
            raise ConnectFailed(f"no connection to {address}", address=address)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                if await network.pass_on() and network.reachable(name, address):
                    answer = await network.servers[address](self._client, command)
                    if (
                        answer is not None
                        and network.reachable(name, address)
                        and await network.pass_on()
                    ):
                        return answer
                await asyncio.sleep(timeout_s + 1)
        raise RequestTimedOut(
            f"{address} did not answer", address=address, timeout_ms=int(timeout_s * 1000)
        )

    def standing(self, address: str) -> None:
        """Return None: there is no connection to write on."""

    async def invoke_oneway(self, address: str, command: Command) -> None:
        network = self._network
        if not network.reachable(self._client.name, address):
            raise ConnectFailed(f"no connection to {address}", address=address)
        if await network.pass_on() and network.reachable(self._client.name, address):
            await network.servers[address](self._client, command)

    async def close(self) -> None:
        """Nothing is open."""


class SimClient(MQClient):
    """The real client on the made-up network."""

    def __init__(self, network: Network, name: str) -> None:
        super().__init__(
            "namesrv:9876",
            ClientSettings(instance_name=name),
            timeout_s=3.0,
            clock_ms=network.loop.now_ms,
        )
        self.name = name
        self.network = network
        self._remoting = SimRemoting(network, self)  # type: ignore[assignment]

    async def told(self, address: str, command: Command) -> None:
        """Get a request of a broker, when it arrives."""
        if self.network.reachable(self.name, address) and await self.network.pass_on():
            await self.members.answer(address, command)
