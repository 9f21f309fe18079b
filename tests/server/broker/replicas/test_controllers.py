"""Whom a broker asks, and what it makes of the answers."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.replicas.controllers import Controllers
from mqserver.broker.replicas.in_sync_set import Committed
from mqserver.broker.replicas.role_actions import (
    AlterSet,
    Answer,
    ApplyId,
    AskMaster,
    AskNextId,
    Beat,
    Elect,
    MasterView,
    Question,
    Register,
)
from remoting.aio.client import RemotingClient
from remoting.codes import LaterCode
from remoting.codes import LaterResponseCode as Code
from remoting.command import Command
from remoting.errors import ConnectFailed
from tests.server.doubles import FakeClock
from tests.waiting import until

A, B = "10.0.0.1:9878", "10.0.0.2:9878"
SET = b'{"syncStateSet":[1,2],"syncStateSetEpoch":7}'


class PlayedControllers:
    """Takes the place of the connections."""

    def __init__(self) -> None:
        self.leaders: dict[str, str] = {A: A, B: A}
        """Whom each controller names as the leader; one that is missing does not answer."""
        self.answer: Callable[[Command], Command] = lambda request: request.response()
        self.asked: list[tuple[str, Command]] = []

    async def invoke(self, address: str, command: Command, *, timeout_s: float) -> Command:
        if address not in self.leaders:
            raise ConnectFailed("cannot connect", address=address)
        if command.code == LaterCode.CONTROLLER_GET_METADATA_INFO:
            return with_ext(command, {"controllerLeaderAddress": self.leaders[address]})
        self.asked.append((address, command))
        if self.leaders[address] != address:
            return command.response(Code.CONTROLLER_NOT_LEADER)
        return self.answer(command)

    async def invoke_oneway(self, address: str, command: Command) -> None:
        self.asked.append((address, command))
        if address not in self.leaders:
            raise ConnectFailed("cannot connect", address=address)


def with_ext(request: Command, ext: dict[str, str], *, code: int = 0, body: bytes = b"") -> Command:
    answer = request.response(code, body=body)
    answer.ext = ext
    return answer


def controllers(played: PlayedControllers, clock: FakeClock | None = None) -> Controllers:
    config = BrokerConfig(
        broker_name="g", broker_cluster_name="C", broker_ip1="10.0.0.9", listen_port=10911,
        controller_addr=f"{A};{B}",
    )  # fmt: skip
    return Controllers(cast(RemotingClient, played), config, clock or FakeClock(1_000))


VIEW = {"masterBrokerId": "2", "masterAddress": "m:1", "masterEpoch": "3"}
SEEN = MasterView(2, "m:1", 3, Committed(frozenset({1, 2}), 7))

ALTERED = MasterView(committed=SEEN.committed)


@pytest.mark.parametrize(
    ("question", "sent", "ext", "code", "body", "expected"),
    [
        (AskNextId(), {}, {"nextBrokerId": "4", "clusterName": "C", "brokerName": "g"}, 0, b"",
         Answer(0, next_id=4)),
        (ApplyId(4, "c;1"), {"appliedBrokerId": "4", "registerCheckCode": "c;1"}, {}, 2014, b"",
         Answer(2014)),
        (Register(4), {"brokerId": "4", "brokerAddress": "10.0.0.9:10911"},
         {**VIEW, "clusterName": "C", "brokerName": "g"}, 0, SET, Answer(0, view=SEEN)),
        (AskMaster(), {}, VIEW, 0, SET, Answer(0, view=SEEN)),
        (AskMaster(), {}, {"masterEpoch": "3"}, 0, SET,
         Answer(0, view=SEEN._replace(master_id=None, address=None))),
        (Elect(4), {"brokerId": "4", "designateElect": "false"},
         {**VIEW, "syncStateSetEpoch": "7"}, 2011, SET, Answer(2011, view=SEEN)),
        (Elect(4), {}, {}, 2012, b"", Answer(2012)),
        (AlterSet(1, 3, frozenset({2, 1}), 6), {"masterBrokerId": "1", "masterEpoch": "3"},
         {"newSyncStateSetEpoch": "7"}, 0, SET, Answer(0, view=ALTERED)),
        (AlterSet(1, 3, frozenset({2, 1}), 6), {}, {}, 2001, b"", Answer(2001)),
    ],
    ids=[
        "next id", "apply", "register", "master", "no master", "still there", "not elected",
        "altered", "not altered",
    ],
)  # fmt: skip
async def test_questions_and_answers(
    question: Question,
    sent: dict[str, str],
    ext: dict[str, str],
    code: int,
    body: bytes,
    expected: Answer,
) -> None:
    played = PlayedControllers()
    played.answer = lambda request: with_ext(request, ext, code=code, body=body)

    answer = await controllers(played).ask(question)

    assert answer == expected
    ((address, command),) = played.asked
    assert address == A
    assert sent.items() <= command.ext.items()


async def test_the_set_that_is_asked_for_names_the_one_that_it_replaces() -> None:
    played = PlayedControllers()
    await controllers(played).ask(AlterSet(1, 3, frozenset({2, 1}), 6))

    assert played.asked[0][1].body == b'{"syncStateSet":[1,2],"syncStateSetEpoch":6}'


async def test_another_leader_is_found_when_the_first_one_is_gone() -> None:
    played = PlayedControllers()
    asking = controllers(played)
    await asking.ask(AskNextId())
    played.leaders = {B: B}

    assert await asking.ask(AskMaster()) is None
    assert asking.leader == B
    assert await asking.ask(AskMaster()) is not None


async def test_a_controller_that_leads_no_more_is_not_believed() -> None:
    played = PlayedControllers()
    asking = controllers(played)
    await asking.ask(AskNextId())
    played.leaders = {A: B, B: B}

    assert await asking.ask(AskMaster()) is None
    assert await asking.ask(AskMaster()) is not None
    assert played.asked[-1][0] == B


async def test_without_a_controller_there_is_no_answer() -> None:
    played = PlayedControllers()
    played.leaders = {}

    assert await controllers(played).ask(AskMaster()) is None


async def test_heartbeats_go_to_every_controller() -> None:
    played = PlayedControllers()
    played.leaders = {B: B}
    asking = controllers(played)

    asking.beat(Beat(2, 100, 50), epoch=3)
    await until(lambda: len(played.asked) == 2)
    await asking.stop()

    assert {address for address, _ in played.asked} == {A, B}
    ext = played.asked[0][1].ext
    assert ext["brokerId"] == "2"
    assert (ext["maxOffset"], ext["confirmOffset"], ext["epoch"]) == ("100", "50", "3")
    assert ext["heartbeatTimeoutMills"] == "2000"


async def test_a_heartbeat_is_tried_again_until_the_controller_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mqserver.broker.replicas.controllers.BEAT_RETRY_MS", 0)
    played = PlayedControllers()
    played.leaders = {B: B}
    asking = controllers(played)

    asking.beat(Beat(2, 100, 50), epoch=3)
    await until(lambda: len(played.asked) >= 4)
    played.leaders[A] = A
    tried = len(played.asked)
    await until(lambda: len(played.asked) > tried)
    for _ in range(20):
        await asyncio.sleep(0)
    await asking.stop()

    assert [to for to, _ in played.asked[tried:]] == [A]


async def test_a_heartbeat_is_given_up_before_the_next_one_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mqserver.broker.replicas.controllers.BEAT_RETRY_MS", 0)
    clock, played = FakeClock(1_000), PlayedControllers()
    played.leaders = {B: B}
    asking = controllers(played, clock)

    asking.beat(Beat(2, 100, 50), epoch=3)
    await until(lambda: len(played.asked) >= 4)
    clock.ms += 501

    def is_tried_with_the_next_one() -> bool:
        asking.beat(Beat(2, 200, 50), epoch=3)
        return any(to == A and sent.ext["maxOffset"] == "200" for to, sent in played.asked)

    await until(is_tried_with_the_next_one)
    await asking.stop()
