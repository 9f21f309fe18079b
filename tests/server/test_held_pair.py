"""A pair whose master or slave has a disk that holds a log write: who needs no disk is answered.

Asked meanwhile: pulls, heartbeats and offset commits at both, a topic that is created at the master
and has to reach the name server, and a route and a Telemetry stream on the gRPC port of the master.
Afterwards both have every message that was acknowledged, in order.
"""

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import grpc.aio
import pytest

from mqserver.proxy.protocol.definitions import Resource
from mqserver.proxy.protocol.requests import QueryRouteRequest, QueryRouteResponse
from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import GetRouteInfo
from tests.programs import serving
from tests.server.broker.desk import TOPIC, Desk
from tests.server.held_calls import HeldCalls
from tests.server.proxy.client import Client, producer
from tests.server.test_held_disk import HOLD_S, LONGEST_S, bodies
from tests.server.test_processes import address_of, broker_conf
from tests.waiting import eventually, until


class Pair:
    """The clients of a master and its slave.

    Attributes:
        namesrv: the address of their name server.
        master, slave: remoting clients of each.
        client: a gRPC client of the master.
    """

    def __init__(
        self, remoting: RemotingClient, channel: grpc.aio.Channel, namesrv: str, brokers: list[str]
    ) -> None:
        self.namesrv = namesrv
        self.master, self.slave = (
            Desk(None, remoting, address)  # type: ignore[arg-type]
            for address in brokers
        )
        self.client = Client(channel)
        self._remoting = remoting

    async def is_registered(self, topic: str) -> bool:
        """Tell whether the name server has a route of a topic."""
        header = GetRouteInfo(topic=topic)
        command = Command.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        return (await self._remoting.invoke(self.namesrv, command, timeout_s=60)).code == 0

    async def register_topic(self, topic: str) -> None:
        """Create a topic at the master, and wait until the name server has it."""
        await self.master.create_topic(topic)
        await eventually(lambda: self.is_registered(topic), pause_s=0.005)

    async def route_by_grpc(self) -> None:
        """Ask the master's gRPC port for the route of the topic."""
        request = QueryRouteRequest(topic=Resource(name=TOPIC))
        answer = await self.client.ask("QueryRoute", request, QueryRouteResponse)
        assert answer.message_queues

    async def settings_by_grpc(self) -> None:
        """Open a Telemetry stream at the master and wait for its settings."""
        async with self.client.telemetry(producer(TOPIC)):
            pass


async def longest_answer(pair: Pair, is_over: Callable[[], bool]) -> float:
    """Ask for what needs no disk until it is over; return the longest answer (s)."""
    longest_s, number = 0.0, 0
    while not is_over():
        asks: list[Callable[[], Awaitable[object]]] = [
            pair.route_by_grpc,
            pair.settings_by_grpc,
            lambda topic=f"new-{number}": pair.register_topic(topic),
        ]
        for desk in (pair.master, pair.slave):
            asks += [
                lambda desk=desk: desk.pull(queue_offset=0, max_msg_nums=1),
                desk.heartbeat,
                lambda desk=desk: desk.commit(0),
            ]
        for ask in asks:
            began_s = time.perf_counter()
            await ask()
            longest_s = max(longest_s, time.perf_counter() - began_s)
        number += 1
    return longest_s


async def session(pair: Pair, calls: HeldCalls) -> float:
    """Hold a log write of one broker of the pair; return the longest answer (s)."""
    await pair.register_topic(TOPIC)
    await pair.master.send(b"before")
    await eventually(lambda: has(pair.slave, [b"before"]))
    released = asyncio.Event()

    def let_go() -> None:
        calls.release()
        released.set()

    with calls.held("pwrite", "/commitlog/"):
        sends = [asyncio.create_task(pair.master.send(b"%03d" % number)) for number in range(20)]
        await until(lambda: calls.held_count > 0)
        # By a timer, because a broker whose loop is held answers nothing.
        asyncio.get_running_loop().call_later(HOLD_S, let_go)
        longest_s = await longest_answer(pair, released.is_set)
    answers = await asyncio.gather(*sends)
    stored = [b"%03d" % number for number, answer in enumerate(answers) if answer.code == 0]
    assert stored
    assert await bodies(pair.master) == [b"before", *stored]
    await eventually(lambda: has(pair.slave, [b"before", *stored]))
    return longest_s


async def has(desk: Desk, expected: list[bytes]) -> bool:
    """Tell whether a broker shows exactly these messages."""
    return await bodies(desk) == expected


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.timeout(180)
@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
@pytest.mark.parametrize("held", ["MASTER", "SLAVE"])
def test_held_write_of_one_broker_delays_only_who_waits_for_it(
    held: str, flush: str, tmp_path: Path
) -> None:
    grpc_port = free_port()
    with ExitStack() as running:
        calls = running.enter_context(HeldCalls(tmp_path))
        conf = tmp_path / "namesrv.conf"
        conf.write_text(f"listenPort=0\nbindAddress=127.0.0.1\nkvConfigPath={tmp_path}/kv.json\n")
        namesrv = address_of(running.enter_context(serving("mqserver.namesrv.app", conf)))
        addresses = []
        for role, broker_id in (("MASTER", 0), ("SLAVE", 1)):
            directory = tmp_path / role
            directory.mkdir()
            text = (
                f"brokerName=a\nbrokerId={broker_id}\nnamesrvAddr={namesrv}\n"
                f"brokerRole={'ASYNC_MASTER' if role == 'MASTER' else 'SLAVE'}\n"
                f"flushDiskType={flush}\nhaListenPort=0\nbrokerIP1=127.0.0.1\n"
                "slaveReadEnable=true\n"
            )
            if role == "MASTER":
                text += f"grpcServerPort={grpc_port}\n"
            env = {**os.environ, **(calls.env if role == held else {})}
            broker = running.enter_context(
                serving("mqserver.broker.app", broker_conf(directory, text), env=env)
            )
            addresses.append(address_of(broker))

        async def run() -> float:
            async with AsyncExitStack() as clients:
                remoting = RemotingClient()
                clients.push_async_callback(remoting.close)
                channel = grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port}")
                await clients.enter_async_context(channel)
                return await session(Pair(remoting, channel, namesrv, addresses), calls)

        longest_s = asyncio.run(run())
    print(f"{held}, {flush}: the longest answer took {longest_s * 1000:.1f} ms")
    assert longest_s < LONGEST_S
