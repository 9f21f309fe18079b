"""A slave of a master with accounts signs its requests, or says that it has to."""

from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from remoting.acl import sign
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.header import Header
from remoting.headers import UpdateConsumerOffset
from remoting.toolskeys import TOOLS_FILE
from tests.server.broker.desk import TOPIC, Desk, create, send
from tests.server.broker.ha.pairs import Pair, equal_ends, pair_in, state_of, until

ADMIN, SECRET = "pairAdmin", "pairSecret"
ACCOUNTS = f"""accounts:
- accessKey: {ADMIN}
  secretKey: {SECRET}
  admin: true
- accessKey: visitor
  secretKey: visitorSecret
"""


def home(root: Path, *, accounts: str = "", tools: str = "") -> Path:
    """Return a ROCKETMQ_HOME with these files."""
    conf = root / "conf"
    conf.mkdir(parents=True)
    if accounts:
        (conf / "plain_acl.yml").write_text(accounts)
    if tools:
        (root / TOOLS_FILE).write_text(tools)
    return root


async def signed(desk: Desk, code: int, header: Header, *, body: bytes = b"") -> None:
    command = Command.request(code, header, body=body)
    sign(command, ADMIN, SECRET)
    answer = await desk.client.invoke(desk.address, command, timeout_s=30)
    assert answer.code == 0, answer


async def test_slave_with_the_keys_of_an_admin_copies_a_master_with_accounts(
    tmp_path: Path,
) -> None:
    keys = f"accessKey: {ADMIN}\nsecretKey: {SECRET}\n"

    async with pair_in(tmp_path) as pair:
        master = await pair.start(
            "m", BrokerRole.ASYNC_MASTER, acl_enable=True,
            rocketmq_home=home(tmp_path / "home-m", accounts=ACCOUNTS),
        )  # fmt: skip
        await signed(master, RequestCode.UPDATE_AND_CREATE_TOPIC, create(TOPIC, 1))
        for number in range(3):
            await signed(master, RequestCode.SEND_MESSAGE_V2, send(), body=b"%d" % number)
        place = UpdateConsumerOffset(consumer_group="G", topic=TOPIC, queue_id=0, commit_offset=2)
        await signed(master, RequestCode.UPDATE_CONSUMER_OFFSET, place)
        slave = await pair.start(
            "s", BrokerRole.SLAVE, rocketmq_home=home(tmp_path / "home-s", tools=keys)
        )
        await equal_ends(master, slave)
        broker = slave.app.broker
        await until(lambda: broker.offsets.get("G", TOPIC, queue_id=0) == 2, what="offsets")
        assert broker.topics.get(TOPIC) == master.app.broker.topics.get(TOPIC)
        # Its end is held against the master's by a request that needs a key, too.
        await pair.stop("s")
        slave = await pair.start("s", BrokerRole.SLAVE, rocketmq_home=tmp_path / "home-s")
        await until(lambda: state_of(slave) == "RECEIVING", what="the logs are compared")


@pytest.mark.parametrize("tools", ["", "accessKey: visitor\nsecretKey: visitorSecret\n"])
async def test_slave_without_the_keys_of_an_admin_says_so_and_takes_nothing(
    pair: Pair, tmp_path: Path, tools: str
) -> None:
    await pair.start(
        "m", BrokerRole.ASYNC_MASTER, acl_enable=True,
        rocketmq_home=home(tmp_path / "home-m", accounts=ACCOUNTS),
    )  # fmt: skip
    slave = await pair.start(
        "s", BrokerRole.SLAVE, rocketmq_home=home(tmp_path / "home-s", tools=tools)
    )

    def problem() -> str:
        return slave.app.broker.ha.numbers()["haProblem"]

    await until(lambda: "conf/tools.yml" in problem(), what="the reason")
    assert "AclException" in problem()
    assert state_of(slave) != "RECEIVING"
