"""The service behind grpcio: a server on a loopback port, which ``front`` passes connections to.

Rule: this is the only module that imports grpcio, and nothing imports it before the first client
connects. It takes calls from ``front`` alone: a connection that did not come through the front has
no address there, and is refused.
"""

import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import grpc
import grpc.aio

from server.proxy.config import ProxyConfig
from server.proxy.context import Call, SecretOf, call_of
from server.proxy.protocol.protobuf import BadMessage
from server.proxy.service import NAME, RECEIVE, TELEMETRY, Service, StreamFailed

LOG = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
STOP_S: Final = 1.0
_PING_MS: Final = 5_000
"""Clients may ping this often; grpcio would close connections that ping twice in five minutes."""

Context = Any
"""A ``grpc.aio.ServicerContext``; grpcio has no types."""


class GrpcServer:
    """A gRPC server for one service.

    Args:
        service: the methods.
        config: the limits.
        secret_of: the accounts; None when nobody needs one.
        peers: the address of each client by the loopback port that it comes from.
    """

    def __init__(
        self,
        service: Service,
        config: ProxyConfig,
        *,
        secret_of: SecretOf | None,
        peers: Mapping[int, str],
    ) -> None:
        self._service = service
        self._secret_of = secret_of
        self._peers = peers
        self._server = grpc.aio.server(
            options=(
                ("grpc.max_receive_message_length", config.grpc_max_inbound_message_size),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", 0),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", _PING_MS),
                ("grpc.http2.max_ping_strikes", 0),
            )
        )
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(NAME, self._handlers()),)
        )

    async def start(self) -> int:
        """Listen, and return the port."""
        port: int = self._server.add_insecure_port(f"{LOOPBACK}:0")
        await self._server.start()
        return port

    async def stop(self) -> None:
        """Take no more calls, and end those that last."""
        await self._server.stop(STOP_S)

    def _handlers(self) -> dict[str, Any]:
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(self._unary(name))
            for name in self._service.methods
        }
        handlers[RECEIVE] = grpc.unary_stream_rpc_method_handler(self._receive)
        handlers[TELEMETRY] = grpc.stream_stream_rpc_method_handler(self._telemetry)
        return handlers

    def _unary(self, name: str) -> Callable[[bytes, Context], Any]:
        async def answer(data: bytes, context: Context) -> bytes:
            try:
                return await self._service.answer(name, data, lambda: self._call(context))
            except BadMessage as error:
                return await self._abort(context, error)

        return answer

    async def _receive(self, data: bytes, context: Context) -> None:
        try:
            async for part in self._service.receive(data, lambda: self._call(context)):
                await context.write(part)
        except BadMessage as error:
            await self._abort(context, error)

    async def _telemetry(self, commands: AsyncIterator[bytes], context: Context) -> None:
        try:
            await self._service.telemetry(commands, lambda: self._call(context), context.write)
        except BadMessage as error:
            await self._abort(context, error)
        except StreamFailed as error:
            code = grpc.StatusCode.INTERNAL
            if error.is_fault_of_client:
                code = grpc.StatusCode.INVALID_ARGUMENT
            await context.abort(code, str(error))

    async def _abort(self, context: Context, error: BadMessage) -> bytes:
        text = f"the request is no message of {NAME}: {error}"
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, text)
        raise error

    def _call(self, context: Context) -> Call:
        left_s = context.time_remaining()
        now_ms = time.time_ns() // 1_000_000
        metadata = context.invocation_metadata() or ()
        return call_of(
            {key: value for key, value in metadata if isinstance(value, str)},
            address=self._address(context),
            deadline_ms=None if left_s is None else now_ms + int(left_s * 1000),
            secret_of=self._secret_of,
        )

    def _address(self, context: Context) -> str:
        peer: str = context.peer()
        port = peer.rpartition(":")[2]
        return self._peers.get(int(port), "") if port.isdecimal() else ""
