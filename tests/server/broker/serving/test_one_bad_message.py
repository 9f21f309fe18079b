"""A turn of a broker in which one message fails in one step: the others are stored and answered."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqserver.broker.delay.schedule import DelayService
from mqserver.broker.pop.popper import Popper
from mqserver.broker.pull.pull_hold import HeldPulls
from mqserver.broker.pull.puller import Puller
from mqserver.store.store import MessageStore
from tests.server.broker.desk import GROUP, Desk, with_topic

COUNT = 20
BAD = b"7"


class Fault(Exception):
    """What a step raises."""


def failing(*args: Any, **kwargs: Any) -> Any:
    raise Fault


STEPS: dict[str, tuple[type, str]] = {
    "held pulls hear of it": (Puller, "dispatched"),
    "one held pull hears of it": (HeldPulls, "arrived"),
    "held pulls are woken": (HeldPulls, "wake"),
    "a held pull is served": (Puller, "_serve"),
    "held pops hear of it": (Popper, "dispatched"),
    "held pops are woken": (Popper, "answer_woken"),
    "the delay service hears of it": (DelayService, "arrived"),
}


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("name", STEPS)
async def test_every_send_of_the_turn_is_answered_and_stored(
    name: str, sync: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, method = STEPS[name]
    async with with_topic(tmp_path, sync=sync) as desk:
        held = asyncio.create_task(hold_a_pull(desk))
        while not len(desk.app.broker.puller.held):
            await asyncio.sleep(0)
        with monkeypatch.context() as patch:
            patch.setattr(kind, method, failing)
            answers = await asyncio.gather(
                *(desk.send(str(number).encode(), **delayed(number)) for number in range(COUNT))
            )
        held.cancel()

        assert [answer.code for answer in answers] == [0] * COUNT
        stored = [str(n).encode() for n in range(COUNT) if not delayed(n)]
        assert sorted(await desk.bodies()) == sorted(stored)


def delayed(number: int) -> dict[str, object]:
    """Return what makes every fifth message a delayed one."""
    return {} if number % 5 else {"properties": "DELAY\00118\2"}


async def hold_a_pull(desk: Desk) -> None:
    await desk.pull(sys_flag=6, suspend_timeout_millis=30_000, consumer_group=GROUP)


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("sys_flag", [-1, -(1 << 31), (1 << 31) - 1, -13, 0x30, 0xFF00])
async def test_send_with_any_sys_flag_fails_no_other(
    sys_flag: int, sync: bool, tmp_path: Path
) -> None:
    async with with_topic(tmp_path, sync=sync) as desk:
        answers = await asyncio.gather(
            *(
                desk.send(str(n).encode(), sys_flag=sys_flag if n == int(BAD) else 0)
                for n in range(COUNT)
            )
        )

        assert [answer.code for answer in answers] == [0] * COUNT
        others = {str(n).encode() for n in range(COUNT)} - {BAD}
        assert others <= set(await desk.bodies())


@pytest.mark.parametrize("sync", [False, True])
async def test_turn_whose_write_has_an_unknown_error_is_refused_and_the_next_one_is_stored(
    sync: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with with_topic(tmp_path, sync=sync) as desk:
        with monkeypatch.context() as patch:
            patch.setattr(MessageStore, "begin_write", failing)
            assert (await desk.send(b"in doubt")).code == 14
        assert (await desk.send(b"stored")).code == 0
        assert (await desk.bodies())[-1] == b"stored"


@pytest.mark.parametrize("sync", [False, True])
async def test_callback_and_observer_that_raise_leave_the_answers_alone(
    sync: bool, tmp_path: Path
) -> None:
    async with with_topic(tmp_path, sync=sync) as desk:
        group_commit = desk.app.broker.group_commit
        group_commit.written.add(failing)
        group_commit.when_safe(failing)
        group_commit.await_slaves = group_commit.hold_done = failing_wait
        codes: list[int] = []
        group_commit.when_safe(codes.append)

        assert (await desk.send(b"one")).code == 12
        assert codes == [12]
        group_commit.await_slaves = group_commit.hold_done = None
        assert (await desk.send(b"two")).code == 0
        assert await desk.bodies() == [b"one", b"two"]


failing_wait: Callable[..., Any] = failing
