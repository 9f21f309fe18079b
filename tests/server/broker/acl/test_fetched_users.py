"""A copy of users and rules: what is not known is refused, and a copy is used for a while."""

import pytest

from mqclient.errors import TimedOut
from mqserver.broker.acl.fetched_users import FetchedUsers
from mqserver.broker.acl.user_access import UserSettings
from mqserver.proxy.context import Credentials, ProxyContext
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.protocol.definitions import Resource
from mqserver.proxy.protocol.requests import QueryRouteRequest
from mqserver.proxy.user_source import UserLists
from remoting.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from tests.server.doubles import FakeClock

AGE_MS = 60_000
ALICE = UserInfo(username="alice", password="alicePw", user_type="Normal", user_status="enable")
RULE = PolicyEntryInfo(resource="Topic:T", actions=["Pub"], decision="Allow")
RULES = AclInfo(subject="User:alice", policies=[PolicyInfo(policy_type="Custom", entries=[RULE])])
ROUTE = QueryRouteRequest(topic=Resource(name="T"))


class Desk:
    """A copy whose broker answers with ``lists``, or not at all."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.lists: UserLists | None = UserLists([ALICE], [RULES])
        settings = UserSettings("", checks_rules=True)
        self.users = FetchedUsers(
            self.fetch, settings, age_ms_max=AGE_MS, steady_ms=self.clock.steady_ms
        )

    async def fetch(self) -> UserLists:
        if self.lists is None:
            raise TimedOut("no broker answers")
        return self.lists

    def refusal(self) -> tuple[Code, str] | None:
        """Return how a call of alice is refused."""
        keys = Credentials("alice", "alicePw")
        try:
            self.users.check(ROUTE, ProxyContext("c", "", "", "10.0.0.1:1", None, keys))
        except ProxyRefused as error:
            return error.code, str(error)
        return None

    def unknown(self) -> str:
        """Return the text with which everybody is refused."""
        with pytest.raises(ProxyRefused) as caught:
            self.users.secret_of("alice")
        assert self.refusal() == (Code.INTERNAL_SERVER_ERROR, str(caught.value))
        return str(caught.value)


async def test_everybody_is_refused_before_a_broker_has_answered() -> None:
    desk = Desk()
    desk.lists = None

    before = desk.unknown()
    with pytest.raises(TimedOut):
        await desk.users.refresh(0)

    assert before == desk.unknown()
    assert before == "users are not known yet, because no broker has answered; try again later"


async def test_a_copy_is_used_while_no_broker_answers_and_then_everybody_is_refused() -> None:
    desk = Desk()
    await desk.users.refresh(0)

    desk.lists = None
    desk.clock.ms += AGE_MS
    with pytest.raises(TimedOut):
        await desk.users.refresh(0)
    last = desk.users.secret_of("alice"), desk.refusal()
    desk.clock.ms += 1

    assert last == ("alicePw", None)
    assert desk.unknown() == "users are not known, because no broker has answered for 60 s"

    desk.lists = UserLists([ALICE], [RULES])
    await desk.users.refresh(0)
    assert desk.refusal() is None


async def test_a_change_counts_with_the_next_copy() -> None:
    desk = Desk()
    await desk.users.refresh(0)

    desk.lists = UserLists([ALICE], [])
    unchanged = desk.refusal()
    await desk.users.refresh(0)
    ruleless = desk.refusal()
    desk.lists = UserLists([], [])
    await desk.users.refresh(0)

    assert unchanged is None
    assert ruleless == (
        Code.UNAUTHORIZED,
        "User:alice has no permission to access Topic:T from 10.0.0.1, no matched policies.",
    )
    assert desk.users.secret_of("alice") is None
    assert desk.refusal() == (Code.UNAUTHORIZED, "User:alice not found.")
