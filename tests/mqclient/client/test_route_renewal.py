"""A known route is used until there is a newer one; some callers wait for that for a while."""

import asyncio
import logging
from collections.abc import Coroutine

import pytest

from mqclient.client.route_renewal import WAIT_S, RouteRenewal
from mqclient.client.routes import QUIET_MS, ROUTE_LIFE_MS, RouteCache
from mqclient.errors import ClientError, NoRoute, Unreachable
from remoting.bodies import TopicRouteData
from tests.mqclient.sim.clock import SimLoop, run

OLD = TopicRouteData()
NEW = TopicRouteData(order_topic_conf="b:1")


class Renewal:
    """A renewal on made-up time whose name server answers after a while, or not.

    Attributes:
        count: questions so far.
        answer: what the next ones get.
        late_s: how long they take.
    """

    def __init__(self) -> None:
        self.loop = SimLoop()
        self.known = RouteCache()
        self.count = 0
        self.answer: TopicRouteData | ClientError = NEW
        self.late_s = 1.0
        self.renewal = RouteRenewal(self.known, self._ask, clock_ms=self.loop.now_ms)

    def run(self, work: Coroutine[object, object, None]) -> None:
        self.known.store_route("T", OLD, now_ms=self.loop.now_ms())
        run(work, self.loop)

    async def _ask(self, topic: str) -> TopicRouteData:
        self.count += 1
        answer, late_s = self.answer, self.late_s
        await asyncio.sleep(late_s)
        if isinstance(answer, ClientError):
            raise answer
        self.known.store_route(topic, answer, now_ms=self.loop.now_ms())
        return answer


@pytest.fixture
def asked() -> Renewal:
    return Renewal()


def test_a_topic_without_a_route_is_not_renewed(asked: Renewal) -> None:
    async def go() -> None:
        assert await asked.renewal.route("Other") is None

    asked.run(go())
    assert asked.count == 0


def test_a_route_in_use_is_asked_for_meanwhile_and_once(asked: Renewal) -> None:
    async def go() -> None:
        await asyncio.sleep(ROUTE_LIFE_MS / 1000)
        assert asked.known.get("T", now_ms=asked.loop.now_ms()) is None
        assert [await asked.renewal.route("T") for _ in range(2)] == [OLD, OLD]
        # Who looks meanwhile need not ask.
        assert asked.known.get("T", now_ms=asked.loop.now_ms()) is OLD
        await asyncio.sleep(2 * asked.late_s)
        assert asked.known.get("T", now_ms=asked.loop.now_ms()) is NEW

    asked.run(go())
    assert asked.count == 1


@pytest.mark.parametrize("doubted", [True, False], ids=["doubted", "forgotten for long"])
def test_a_doubtful_route_is_waited_for(asked: Renewal, doubted: bool) -> None:
    async def go() -> None:
        if doubted:
            asked.known.doubt("T")
        else:
            await asyncio.sleep(2 * ROUTE_LIFE_MS / 1000)
        assert await asked.renewal.route("T") is NEW

    asked.run(go())
    assert asked.count == 1


def test_what_does_not_come_soon_is_not_waited_for(asked: Renewal) -> None:
    asked.late_s = 5 * WAIT_S

    async def go() -> None:
        asked.known.doubt("T")
        assert await asked.renewal.route("T") is OLD
        assert asked.loop.time() == pytest.approx(WAIT_S)
        asked.known.doubt("T")
        assert await asked.renewal.route("T") is OLD
        await asyncio.sleep(asked.late_s)
        assert asked.known.last("T") is NEW

    asked.run(go())
    assert asked.count == 1


@pytest.mark.parametrize(
    "error", [Unreachable("no connection"), NoRoute("T", address="ns")], ids=["away", "empty"]
)
def test_without_a_newer_route_the_old_one_stays_and_a_warning_comes_now_and_then(
    asked: Renewal, error: ClientError, caplog: pytest.LogCaptureFixture
) -> None:
    asked.answer = error
    times = 2 * QUIET_MS // ROUTE_LIFE_MS

    async def go() -> None:
        for _ in range(times):
            await asyncio.sleep(ROUTE_LIFE_MS / 1000)
            assert await asked.renewal.route("T") is OLD
        await asyncio.sleep(2 * asked.late_s)

    caplog.set_level(logging.WARNING)
    asked.run(go())

    assert asked.count == times
    assert len(caplog.messages) == 2
    assert str(error) in caplog.messages[0]
    assert "topic T" in caplog.messages[0]


def test_a_forgotten_route_does_not_come_back_with_an_answer_on_its_way(asked: Renewal) -> None:
    async def go() -> None:
        asked.known.doubt("T")
        waiting = asyncio.ensure_future(asked.renewal.route("T"))
        await asyncio.sleep(asked.late_s / 2)
        asked.renewal.forget("T")
        asked.known.drop("T")
        assert await waiting is OLD
        await asyncio.sleep(2 * asked.late_s)
        assert asked.known.last("T") is None

    asked.run(go())


def test_a_closed_renewal_asks_for_nothing(asked: Renewal) -> None:
    async def go() -> None:
        await asyncio.sleep(ROUTE_LIFE_MS / 1000)
        await asked.renewal.route("T")
        asked.renewal.close()
        await asyncio.sleep(2 * asked.late_s)
        assert asked.known.last("T") is OLD

    asked.run(go())
