"""The port of gRPC clients: when connections end, and what limits them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio
import pytest

from mqserver.proxy.http2.calls import Calls, GrpcCall, GrpcMethod
from mqserver.proxy.port import GrpcPort
from remoting.aio.resources import Places, Resources
from remoting.aio.tls import ServerTls, TlsMode
from tests.waiting import until


class Served:
    """A port with one method, which lasts until it is let go."""

    def __init__(self, port: GrpcPort) -> None:
        self.port = port
        self.has_begun = asyncio.Event()
        self.may_end = asyncio.Event()

    async def run(self, call: GrpcCall) -> bytes:
        self.has_begun.set()
        await self.may_end.wait()
        return call.request


@asynccontextmanager
async def served(
    resources: Resources | None = None, *, per_address_max: int = 0
) -> AsyncIterator[Served]:
    found: Served

    async def run(call: GrpcCall) -> bytes:
        return await found.run(call)

    calls = Calls({"/Test/Run": GrpcMethod(run)}, size_max=1 << 20)
    tls = ServerTls(mode=TlsMode.DISABLED)
    port = GrpcPort(
        calls, tls=tls, resources=resources or Resources(), per_address_max=per_address_max
    )
    found = Served(port)
    await found.port.start("127.0.0.1", 0)
    try:
        yield found
    finally:
        await found.port.stop()


@asynccontextmanager
async def calling() -> AsyncIterator[tuple[Served, Any]]:
    """Yield a port, and a call of its method that has begun."""
    async with (
        served() as desk,
        grpc.aio.insecure_channel(f"127.0.0.1:{desk.port.port}") as channel,
    ):
        call = channel.unary_unary("/Test/Run")(b"m")
        await desk.has_begun.wait()
        yield desk, call


async def test_a_connection_without_calls_ends_after_a_while() -> None:
    async with served() as desk:
        reader, writer = await asyncio.open_connection("127.0.0.1", desk.port.port)
        await reader.read(1)

        desk.port.drop_idle(60)
        assert not reader.at_eof()
        desk.port.drop_idle(-1)

        await reader.read()
        assert reader.at_eof()
        writer.close()


async def test_a_connection_with_a_call_is_never_idle() -> None:
    async with calling() as (desk, call):
        desk.port.drop_idle(-1)
        desk.may_end.set()

        assert await call == b"m"


async def test_a_stop_lets_calls_end_for_a_moment_and_no_longer() -> None:
    async with calling() as (desk, call):
        await desk.port.stop()

        with pytest.raises(grpc.aio.AioRpcError) as told:
            await call
        assert told.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_connection_needs_a_descriptor() -> None:
    resources = Resources(places=Places(1))
    async with served(resources) as desk:
        first, writer = await asyncio.open_connection("127.0.0.1", desk.port.port)
        await first.read(1)
        second, other = await asyncio.open_connection("127.0.0.1", desk.port.port)

        assert await second.read() == b""

        other.close()
        writer.close()
        await until(lambda: resources.places.count == 0)


async def test_an_address_has_no_more_connections_than_its_limit() -> None:
    resources = Resources()
    async with served(resources, per_address_max=1) as desk:
        first, writer = await asyncio.open_connection("127.0.0.1", desk.port.port)
        await first.read(1)
        second, other = await asyncio.open_connection("127.0.0.1", desk.port.port)

        assert await second.read() == b""
        assert resources.places.count == 1

        other.close()
        writer.close()
        await until(lambda: resources.places.count == 0)
        third, again = await asyncio.open_connection("127.0.0.1", desk.port.port)
        assert await third.read(1)
        again.close()
