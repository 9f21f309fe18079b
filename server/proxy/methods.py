"""The methods of the service as gRPC calls: who calls, and which status a wrong request gets."""

import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from server.proxy.context import Call as Caller
from server.proxy.context import SecretOf, call_of
from server.proxy.http2.calls import Call, CallFailed, CallStatus, Method, Request
from server.proxy.protocol.protobuf import BadMessage
from server.proxy.service import NAME, RECEIVE, TELEMETRY, CallOf, Service, StreamFailed

_Run = Callable[[Call, CallOf], Coroutine[Any, Any, bytes | None]]


def methods_of(service: Service, *, secret_of: SecretOf | None) -> dict[str, Method]:
    """Return each method of a service by the path of its calls.

    Args:
        service: the methods.
        secret_of: the accounts; None when nobody needs one.
    """

    async def receive(call: Call, caller: CallOf) -> None:
        async for part in service.receive(call.message, caller):
            await call.write(part)

    def answer(name: str) -> _Run:
        return lambda call, caller: service.answer(name, call.message, caller)

    def method(request: Request, run: _Run) -> Method:
        return Method(request, partial(_told, run, secret_of))

    found = {name: method(Request.MESSAGE, answer(name)) for name in service.methods}
    found[RECEIVE] = method(Request.MESSAGE, receive)
    found[TELEMETRY] = method(
        Request.STREAM,
        lambda call, caller: service.telemetry(call.messages(), caller, call.write),
    )
    return {f"/{NAME}/{name}": found[name] for name in found}


async def _told(run: _Run, secret_of: SecretOf | None, call: Call) -> bytes | None:
    """Run a method; what it cannot tell in a response becomes the status of the call."""
    try:
        return await run(call, lambda: _caller(call, secret_of))
    except BadMessage as error:
        text = f"the request is no message of {NAME}: {error}"
        raise CallFailed(CallStatus.INVALID_ARGUMENT, text) from error
    except StreamFailed as error:
        of_client = error.is_fault_of_client
        status = CallStatus.INVALID_ARGUMENT if of_client else CallStatus.INTERNAL
        raise CallFailed(status, str(error)) from error


def _caller(call: Call, secret_of: SecretOf | None) -> Caller:
    left_s = call.time_left_s
    now_ms = time.time_ns() // 1_000_000
    return call_of(
        call.metadata,
        address=call.address,
        deadline_ms=None if left_s is None else now_ms + int(left_s * 1000),
        secret_of=secret_of,
    )
