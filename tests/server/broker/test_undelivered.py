"""Messages whose topic is deleted while they wait: delayed, timer and half messages."""

from pathlib import Path

import pytest

from remoting.codes import RequestCode
from remoting.headers import DeleteTopic
from storefmt.names import UNDELIVERED_TOPIC
from tests.server.broker.desk import TOPIC, Desk, end_transaction, place_of, running
from tests.server.broker.pop.test_pop_restart import Ahead
from tests.waiting import eventually


async def delete(desk: Desk) -> None:
    answer = await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=TOPIC))
    assert answer.code == 0, answer


async def undelivered(desk: Desk) -> list[dict[str, str]]:
    return [record.properties for record in await desk.messages(topic=UNDELIVERED_TOPIC)]


@pytest.mark.parametrize("properties", ["DELAY\0015", "TIMER_DELAY_SEC\00160"])
@pytest.mark.parametrize("made_again", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
async def test_waiting_message_of_a_deleted_topic_is_kept_with_the_reason(
    tmp_path: Path, properties: str, made_again: bool, restarted: bool
) -> None:
    clock = Ahead()
    async with running(tmp_path, clock=clock) as desk:
        await desk.create_topic()
        assert (await desk.send(b"old", properties=properties)).code == 0
        await delete(desk)
        if made_again:
            await desk.create_topic()
            assert (await desk.send(b"new", properties=properties)).code == 0
        if not restarted:
            await due(desk, clock, made_again)
    if restarted:
        async with running(tmp_path, clock=clock) as desk:
            await due(desk, clock, made_again)


async def due(desk: Desk, clock: Ahead, made_again: bool) -> None:
    """Let the time of delivery come, and see what is where."""
    clock.ahead_ms += 120_000
    (named,) = await eventually(lambda: undelivered(desk), bool)
    assert named["REAL_TOPIC"] == TOPIC
    assert named["UNDELIVERED_REASON"] == "topic T was deleted while this message waited"
    if made_again:
        assert await eventually(desk.bodies, bool) == [b"new"]
    else:
        assert not desk.app.broker.store.has(TOPIC)


async def test_commit_of_a_half_message_of_a_deleted_topic_is_kept_with_the_reason(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as desk:
        await desk.create_topic()
        half = await desk.send(b"half", sys_flag=4, properties="TRAN_MSG\1true\2PGROUP\1PG")
        await delete(desk)
        await desk.create_topic()
        answer = await desk.ask(RequestCode.END_TRANSACTION, end_transaction(*place_of(half)))

        assert answer.code == 0
        (named,) = await eventually(lambda: undelivered(desk), bool)
        assert named["REAL_TOPIC"] == TOPIC
        assert await desk.bodies() == []
