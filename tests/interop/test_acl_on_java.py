"""Our signatures before a real broker that checks them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqclient.admin import Admin
from mqclient.errors import BrokerRefused
from mqclient.instance import MQClient
from mqclient.message import Message
from mqclient.producer import Producer
from remoting.bodies import MessageQueue
from storefmt.configs import TopicConfig
from tests.interop.rocketmq import Broker, JavaSide, Namesrv
from tests.interop.waiting import read_queue

pytestmark = pytest.mark.java

ACCESS_KEY, SECRET_KEY = "interopKey", "interopSecret"
_ACCOUNTS = f"""globalWhiteRemoteAddresses: []
accounts:
  - accessKey: {ACCESS_KEY}
    secretKey: {SECRET_KEY}
    admin: true
    defaultTopicPerm: PUB|SUB
    defaultGroupPerm: PUB|SUB
"""


@pytest.fixture(scope="module")
def guarded(
    java_side: JavaSide, java_namesrv: Namesrv, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """Yield a real broker with ACL on."""
    (java_side.directory / "conf" / "plain_acl.yml").write_text(_ACCOUNTS)
    store: Path = tmp_path_factory.mktemp("acl") / "store"
    settings = {"aclEnable": "true", "brokerName": "guarded", "brokerClusterName": "Guarded"}
    running = Broker(java_side, store=store, namesrv=java_namesrv.address, settings=settings)
    try:
        yield running.await_ready()
    finally:
        running.kill()


def test_signed_requests_pass_also_queries_by_key(guarded: Broker, java_namesrv: Namesrv) -> None:
    async def go() -> None:
        async with MQClient(
            java_namesrv.address, timeout_s=20.0, access_key=ACCESS_KEY, secret_key=SECRET_KEY
        ) as client:
            admin, queue = Admin(client), MessageQueue("Guarded1", "guarded", 0)
            await admin.create_topic(guarded.address, TopicConfig("Guarded1", 1, 1))
            message = Message("Guarded1", b"z" * 9_000, tags="A", keys="k", properties={"ü": "中"})
            sent = await Producer(client).send(message, queue=queue)
            batch = [Message("Guarded1", b"x", keys="b")] * 2
            await Producer(client).send_batch(batch, queue=queue)
            stored = await read_queue(client, queue, 3)
            by_key = await admin.query_message("Guarded1", "k")
            by_id = await admin.query_message("Guarded1", sent.unique_key, unique=True)

        assert [m.body for m in stored] == [message.body, b"x", b"x"]
        assert [m.unique_key for m in by_key + by_id] == [sent.unique_key] * 2

    asyncio.run(go())


@pytest.mark.parametrize("keys", [{}, {"access_key": ACCESS_KEY, "secret_key": "wrong one"}])
def test_unsigned_and_wrongly_signed_requests_are_refused(
    guarded: Broker, java_namesrv: Namesrv, keys: dict[str, str]
) -> None:
    async def go() -> BrokerRefused:
        async with MQClient(java_namesrv.address, **keys) as client:
            with pytest.raises(BrokerRefused) as refused:
                await Admin(client).topic_configs(guarded.address)
            return refused.value

    error = asyncio.run(go())

    assert error.code == 1
    assert "AclException" in error.remark
