"""A client of ours for one question to a running pair."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mqclient.client.instance import MQClient

_T = TypeVar("_T")


def run(
    namesrv: str,
    act: Callable[[MQClient], Awaitable[_T]],
    *,
    access_key: str | None = None,
    secret_key: str | None = None,
) -> _T:
    """Return what ``act`` returns for a client that is started for it and closed behind it."""

    async def go() -> _T:
        # Servers and clients of a whole test run share the machine.
        async with MQClient(
            namesrv, timeout_s=20.0, access_key=access_key, secret_key=secret_key
        ) as client:
            return await act(client)

    return asyncio.run(go())
