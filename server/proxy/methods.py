"""The methods of the service as gRPC calls: who calls, and which status a wrong request gets."""

import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from server.proxy.context import Call as Caller
from server.proxy.context import SecretOf, call_of
from server.proxy.http2.calls import Call, CallFailed, CallStatus, Method, Request
from server.proxy.protocol.protobuf import BadMessage
from server.proxy.service import NAME, RECEIVE, TELEMETRY, Service, StreamFailed

Run = Callable[[Call], Coroutine[Any, Any, bytes | None]]


class Methods:
    """Runs the calls of one service.

    Args:
        service: the methods.
        secret_of: the accounts; None when nobody needs one.
    """

    def __init__(self, service: Service, *, secret_of: SecretOf | None) -> None:
        self._service = service
        self._secret_of = secret_of

    def by_path(self) -> dict[str, Method]:
        """Return each method by the path of its calls."""
        found = {
            f"/{NAME}/{name}": Method(Request.MESSAGE, self._unary(name))
            for name in self._service.methods
        }
        found[f"/{NAME}/{RECEIVE}"] = Method(Request.MESSAGE, self._receive)
        found[f"/{NAME}/{TELEMETRY}"] = Method(Request.STREAM, self._telemetry)
        return found

    def _unary(self, name: str) -> Run:
        async def run(call: Call) -> bytes:
            try:
                return await self._service.answer(name, call.message, lambda: self._caller(call))
            except BadMessage as error:
                raise _no_message(error) from error

        return run

    async def _receive(self, call: Call) -> None:
        try:
            async for part in self._service.receive(call.message, lambda: self._caller(call)):
                await call.write(part)
        except BadMessage as error:
            raise _no_message(error) from error

    async def _telemetry(self, call: Call) -> None:
        try:
            commands = call.messages()
            await self._service.telemetry(commands, lambda: self._caller(call), call.write)
        except BadMessage as error:
            raise _no_message(error) from error
        except StreamFailed as error:
            of_client = error.is_fault_of_client
            status = CallStatus.INVALID_ARGUMENT if of_client else CallStatus.INTERNAL
            raise CallFailed(status, str(error)) from error

    def _caller(self, call: Call) -> Caller:
        left_s = call.time_left_s
        now_ms = time.time_ns() // 1_000_000
        return call_of(
            call.metadata,
            address=call.address,
            deadline_ms=None if left_s is None else now_ms + int(left_s * 1000),
            secret_of=self._secret_of,
        )


_NO_MESSAGE: Final = f"the request is no message of {NAME}"


def _no_message(error: BadMessage) -> CallFailed:
    return CallFailed(CallStatus.INVALID_ARGUMENT, f"{_NO_MESSAGE}: {error}")
