"""A slave and its master with ACL 2.0: the slave signs as the inner user, and both check."""

import pytest

from mqserver.broker.config import BrokerRole
from remoting import bodies, headers
from remoting.acl import sign
from remoting.bodies import encode_value
from remoting.codes import LaterCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.header import Header
from remoting.headers import QueryConsumerOffset, UpdateConsumerOffset
from storefmt.config.tables import SubscriptionGroup
from tests.server.broker.desk import TOPIC, Desk, create, send
from tests.server.broker.ha.pairs import Pair, equal_ends, state_of, until

ROOT, INNER, PASSWORD, GROUP = "root", "inner", "innerPw", "G"
USERS: dict[str, object] = {
    "authentication_enabled": True,
    "authorization_enabled": True,
    "init_authentication_user": '{"username":"root","password":"rootPw"}',
    "inner_client_authentication_credentials": '{"accessKey":"inner","secretKey":"innerPw"}',
}
SECRETS = {ROOT: "rootPw", INNER: PASSWORD, "guest": "guestPw"}
NO_RULE = "User:guest has no permission to access"


async def ask(
    desk: Desk, code: int, header: Header | None = None, *, body: bytes = b"", by: str = ROOT
) -> Command:
    """Send a request that a user signed."""
    command = Command.request(code, header, body=body)
    sign(command, by, SECRETS[by])
    return await desk.client.invoke(desk.address, command, timeout_s=30)


async def add_user(desk: Desk, name: str) -> None:
    """Create a user without rules; each broker has its own."""
    user = bodies.UserInfo(username=name, password=SECRETS[name])
    header = headers.CreateUser(username=name)
    answer = await ask(desk, LaterCode.AUTH_CREATE_USER, header, body=user.encode())
    assert answer.code == 0, answer


async def fill(master: Desk) -> None:
    """Make a topic, a group, three messages and an offset."""
    group = SubscriptionGroup(GROUP, retry_max_times=3)
    place = UpdateConsumerOffset(consumer_group=GROUP, topic=TOPIC, queue_id=0, commit_offset=2)
    group_body = encode_value(group)
    for code, header, body in (
        (RequestCode.UPDATE_AND_CREATE_TOPIC, create(TOPIC, 1), b""),
        (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, group_body),
        *((RequestCode.SEND_MESSAGE_V2, send(), b"%d" % number) for number in range(3)),
        (RequestCode.UPDATE_CONSUMER_OFFSET, place, b""),
    ):
        answer = await ask(master, code, header, body=body)
        assert answer.code == 0, answer


async def test_a_slave_copies_everything_and_both_refuse_who_has_no_rules(pair: Pair) -> None:
    master = await pair.start("m", BrokerRole.ASYNC_MASTER, **USERS)
    await fill(master)
    slave = await pair.start("s", BrokerRole.SLAVE, **USERS)
    await equal_ends(master, slave)
    broker = slave.app.broker
    await until(lambda: broker.offsets.get(GROUP, TOPIC, queue_id=0) == 2, what="offsets")
    copied = broker.topics.get(TOPIC), broker.groups.get(GROUP)

    # The log follows what comes later, also after its end was held against the master's.
    await pair.stop("s")
    slave = await pair.start("s", BrokerRole.SLAVE, **USERS)
    await until(lambda: state_of(slave) == "RECEIVING", what="the logs are compared")
    sent = await ask(master, RequestCode.SEND_MESSAGE_V2, send(), body=b"later")
    await equal_ends(master, slave)

    place = QueryConsumerOffset(consumer_group=GROUP, topic=TOPIC, queue_id=0)
    code = RequestCode.QUERY_CONSUMER_OFFSET
    for desk in (master, slave):
        await add_user(desk, "guest")
    refused = [await ask(desk, code, place, by="guest") for desk in (master, slave)]
    unsigned = [await desk.ask(code, place) for desk in (master, slave)]
    allowed = [await ask(desk, code, place) for desk in (master, slave)]

    of_master = master.app.broker
    assert copied == (of_master.topics.get(TOPIC), of_master.groups.get(GROUP))
    assert copied[1] is not None
    assert copied[1].retry_max_times == 3
    assert sent.code == 0
    for answer in refused:
        assert answer.code == ResponseCode.NO_PERMISSION
        assert (answer.remark or "").startswith(NO_RULE)
    assert [answer.code for answer in unsigned] == [ResponseCode.NO_PERMISSION] * 2
    assert [answer.ext["offset"] for answer in allowed] == ["2", "2"]


@pytest.mark.parametrize(
    "keys",
    [
        "",
        '{"accessKey":"stranger","secretKey":"x"}',
        '{"accessKey":"inner","secretKey":"wrong"}',
    ],
    ids=["none", "unknown", "wrong"],
)
async def test_a_slave_whose_keys_are_refused_says_so_and_takes_nothing(
    pair: Pair, keys: str
) -> None:
    master = await pair.start("m", BrokerRole.ASYNC_MASTER, **USERS)
    await fill(master)
    slave = await pair.start(
        "s", BrokerRole.SLAVE, **USERS | {"inner_client_authentication_credentials": keys}
    )

    def problem() -> str:
        return slave.app.broker.ha.numbers()["haProblem"]

    await until(lambda: "innerClientAuthenticationCredentials" in problem(), what="the reason")
    # It signs nothing for a master that does not prove to have the same user.
    assert "username cannot be null." in problem()
    assert state_of(slave) != "RECEIVING"
    assert slave.app.broker.topics.get(TOPIC) is None
