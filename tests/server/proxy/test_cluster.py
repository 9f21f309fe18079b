"""What the proxy remembers of brokers: a silent one keeps one call waiting, not all."""

import asyncio

import pytest

from mqclient.errors import ClientError, TimedOut
from mqserver.proxy.cluster import FRESH_MS, RETRY_MS, _Cache


class Broker:
    """Answers when a test lets it."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self.asked = 0
        self.answer: asyncio.Future[str] | None = None

    async def ask(self) -> str | None:
        self.asked += 1
        return "new" if self.answer is None else await self.answer


async def test_value_is_asked_for_again_when_it_is_old() -> None:
    broker = Broker()
    cache: _Cache[str] = _Cache(lambda: broker.now_ms)

    assert [await cache.get("T", broker.ask) for _ in range(3)] == ["new"] * 3
    assert broker.asked == 1
    broker.now_ms += FRESH_MS
    await cache.get("T", broker.ask)
    assert broker.asked == 2


async def test_silent_broker_keeps_one_call_waiting() -> None:
    broker = Broker()
    cache: _Cache[str] = _Cache(lambda: broker.now_ms)
    await cache.get("T", broker.ask)
    broker.now_ms += FRESH_MS
    broker.answer = asyncio.get_running_loop().create_future()

    waiting = asyncio.create_task(cache.get("T", broker.ask))
    await asyncio.sleep(0)
    others = [await cache.get("T", broker.ask) for _ in range(100)]
    broker.answer.set_exception(TimedOut("no answer"))

    assert others == ["new"] * 100
    assert await waiting == "new"
    assert broker.asked == 2
    broker.now_ms += RETRY_MS
    await cache.get("T", broker.ask)
    assert broker.asked == 3


async def test_what_was_never_known_is_an_error() -> None:
    broker = Broker()
    cache: _Cache[str] = _Cache(lambda: broker.now_ms)
    broker.answer = asyncio.get_running_loop().create_future()
    broker.answer.set_exception(TimedOut("no answer"))

    with pytest.raises(ClientError):
        await cache.get("T", broker.ask)
