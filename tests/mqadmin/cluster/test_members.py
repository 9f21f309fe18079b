"""Members are asked side by side with a limit, each once, and silence is an answer."""

import asyncio
from collections import Counter
from typing import cast

import pytest

from mqadmin.cluster.members import (
    PARALLEL_AT_BROKER,
    SILENT_MAX,
    MemberOutcome,
    MemberSurvey,
    disagreement,
    infos_of,
)
from mqclient.admin.admin import Admin
from mqclient.errors import BrokerRefused, ClientError, TimedOut
from remoting.bodies import ConsumerRunningInfo, SubscriptionData
from remoting.codes import ResponseCode

BROKER = "10.0.0.1:10911"
SILENCE = BrokerRefused("no answer", code=ResponseCode.CONSUME_MSG_TIMEOUT)


class Clients:
    """Answers as the clients of a broker would, and counts the questions."""

    def __init__(self, silent: dict[str, ClientError] | None = None) -> None:
        self.asked: Counter[str] = Counter()
        self.most = 0
        self._out = 0
        self._silent = silent or {}

    async def consumer_running_info(
        self, address: str, group: str, client_id: str, *, jstack: bool = False
    ) -> ConsumerRunningInfo:
        self.asked[client_id] += 1
        self._out += 1
        self.most = max(self.most, self._out)
        await asyncio.sleep(0)
        self._out -= 1
        if client_id in self._silent:
            raise self._silent[client_id]
        return ConsumerRunningInfo()


def members_of(clients: Clients) -> MemberSurvey:
    clock = iter(range(0, 1_000_000, 10_000))
    return MemberSurvey(cast(Admin, clients), lambda: next(clock))


def at(count: int) -> dict[str, str]:
    return {f"10.0.0.7@{number}#1": BROKER for number in range(count)}


def test_at_most_a_few_questions_are_out_at_one_broker() -> None:
    clients = Clients()

    answers = asyncio.run(members_of(clients).ask("g", at(20)))

    assert len(infos_of(answers)) == 20
    assert clients.most == PARALLEL_AT_BROKER


def test_a_member_is_asked_once_in_a_command() -> None:
    clients = Clients({"10.0.0.7@0#1": TimedOut("late")})
    members = members_of(clients)

    async def twice() -> None:
        await members.survey("g", at(3))
        await members.survey("g", at(3))

    asyncio.run(twice())

    assert set(clients.asked.values()) == {1}
    assert members.exit_code() == 5
    (note,) = members.notes("its queues are not known")
    assert note.startswith("member 10.0.0.7@0#1 (no answer within ")
    assert note.endswith(" of group g did not answer: its queues are not known")


def test_many_groups_with_silent_members_share_a_note() -> None:
    clients = Clients({"10.0.0.7@0#1": TimedOut("late")})
    members = members_of(clients)

    async def ask_all() -> None:
        for number in range(5):
            await members.survey(f"g{number}", at(1))

    asyncio.run(ask_all())

    assert members.notes("its queues are not known") == (
        "members of groups g0, g1, g2 and 2 more did not answer, such as 10.0.0.7@0#1 "
        "(no answer within 10 s): its queues are not known",
    )


def test_other_clients_of_a_silent_process_are_not_asked() -> None:
    names = [f"10.0.0.7@4711#{number}" for number in range(9)]
    clients = Clients(dict.fromkeys(names, SILENCE))

    answers = asyncio.run(members_of(clients).ask("g", dict.fromkeys(names, BROKER)))

    assert clients.asked.total() == PARALLEL_AT_BROKER
    assert Counter(one.outcome for one in answers.values()) == {
        MemberOutcome.SILENT: PARALLEL_AT_BROKER,
        MemberOutcome.NOT_ASKED: 9 - PARALLEL_AT_BROKER,
    }
    assert "of the same process did not answer" in answers[names[-1]].remark


def test_after_many_silences_the_others_at_a_broker_are_not_asked() -> None:
    clients = Clients(dict.fromkeys(at(40), SILENCE))

    answers = asyncio.run(members_of(clients).ask("g", at(40)))

    assert SILENT_MAX <= clients.asked.total() < SILENT_MAX + PARALLEL_AT_BROKER
    assert all(one.is_silent for one in answers.values())


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (SILENCE, MemberOutcome.SILENT),
        (TimedOut("late"), MemberOutcome.SILENT),
        (BrokerRefused("too old", code=ResponseCode.SYSTEM_ERROR), MemberOutcome.UNABLE),
    ],
)
def test_silence_is_not_what_a_member_cannot_do(error: ClientError, outcome: MemberOutcome) -> None:
    members = members_of(Clients({"10.0.0.7@0#1": error}))

    answers = asyncio.run(members.survey("g", at(1)))

    assert answers["10.0.0.7@0#1"].outcome is outcome
    assert bool(members.exit_code()) is (outcome is MemberOutcome.SILENT)


def test_members_that_disagree_are_told_apart() -> None:
    def wants(*topics: str) -> ConsumerRunningInfo:
        data = [SubscriptionData(topic=topic, sub_string="*") for topic in (*topics, "%RETRY%g")]
        return ConsumerRunningInfo(subscription_set=data)

    assert disagreement({"a": wants("T"), "b": wants("T")}) == ""
    assert disagreement({"a": wants("T"), "b": wants("U"), "c": wants()}) == (
        "members have different subscriptions: a: T (*); b: U (*); c: nothing"
    )
