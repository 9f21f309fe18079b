"""A real master with our slave, and our master with a real slave: the logs come out equal.

    messages of all kinds ─> master ─> slave   killed, started again, the master stopped and
                                               started again; more messages each time
    both stopped: commit logs and consume queues are the same bytes

Every message is also counted on the slave before anything is compared.
"""

import random
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import BrokerRefused
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.send_result import SendStatus
from mqclient.producer.transaction_producer import LocalTransactionState, TransactionProducer
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from storefmt.offline.analyse.compare import compare_logs, compare_queues
from storefmt.offline.views.storedir import StoreDir
from tests.interop.kit import our_clients
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide, Side
from tests.server.broker.desk import heartbeat
from tests.waiting import eventually

_T = TypeVar("_T")
TOPIC, GROUP = "Replicated", "ReplicatedGroup"
LIGHT, LIGHT_GROUP = "%LMQ%phone", "%LMQ%reader"
CATCH_UP_S = 90.0
ADMIN, SECRET = "replicationAdmin", "replicationSecret"
"""What every request is signed with; only a master with accounts looks at it."""


def run(namesrv: Namesrv, act: Callable[[MQClient], Awaitable[_T]]) -> _T:
    return our_clients.run(namesrv.address, act, access_key=ADMIN, secret_key=SECRET)


def settings(name: str, **more: str) -> dict[str, str]:
    return {
        "brokerName": name,
        "haSendHeartbeatInterval": "500",
        "enableLmq": "true",
        "enableMultiDispatch": "true",
        **more,
    }


def again(side: Side, broker: Broker, namesrv: Namesrv) -> Broker:
    """Start a stopped broker again, on the ports that it had."""
    started = Broker(side, store=broker.store, namesrv=namesrv.address, settings=broker.settings)
    started.address = broker.address
    return started.await_ready()


async def log_end(admin: Admin, broker: Broker) -> int:
    try:
        return int((await admin.broker_runtime(broker.address))["commitLogMaxOffset"])
    except BrokerRefused:
        # In its first second the real broker has no statistics, and fails (NoSuchElement).
        return -1


def catch_up(namesrv: Namesrv, master: Broker, slave: Broker) -> int:
    """Return the end of both logs once they have the same one."""

    async def act(client: MQClient) -> int:
        admin = Admin(client)

        async def ends() -> tuple[int, int]:
            return await log_end(admin, master), await log_end(admin, slave)

        found = await eventually(ends, lambda both: both[0] == both[1] > 0, timeout_s=CATCH_UP_S)
        return found[0]

    return run(namesrv, act)


class ByNumber:
    """Commits every second transaction."""

    def execute_local_transaction(self, message: Message, arg: object) -> LocalTransactionState:
        states = (LocalTransactionState.COMMIT_MESSAGE, LocalTransactionState.ROLLBACK_MESSAGE)
        return states[int(message.body or b"0") % 2]

    def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        return LocalTransactionState.UNKNOW


def send(namesrv: Namesrv, master: Broker, *, seed: int, count: int, batches: int = 1) -> None:
    """Send messages of every kind, over the ends of files."""

    async def act(client: MQClient) -> None:
        admin, chooser = Admin(client), random.Random(seed)
        if not seed:
            await admin.create_topic(master.address, TopicConfig(TOPIC, 2, 2))
            await admin.create_group(master.address, SubscriptionGroup(GROUP, retry_max_times=5))
        producer = Producer(client, settings=ProducerSettings(compress_msg_body_over_howmuch=8_192))
        for number in range(count):
            message = Message(
                TOPIC,
                chooser.randbytes(chooser.choice((0, 1, 100, 9_000, 30_000))) or b"x",
                tags=chooser.choice((None, "TagA", "标签")),
                keys=[f"key-{seed}-{number}"],
                properties={
                    "n": str(number),
                    "Zürich": "中文",
                    **({"INNER_MULTI_DISPATCH": f"{LIGHT},%LMQ%pad"} if number % 7 == 0 else {}),
                },
                delay_level=1 if number % 20 == 0 else 0,
            )
            await producer.send(message, queue=MessageQueue(TOPIC, master.name, number % 2))
        batch = [Message(TOPIC, b"%d" % i, keys=f"batch-{seed}") for i in range(300)]
        for _ in range(batches):
            await producer.send_batch(batch, queue=MessageQueue(TOPIC, master.name, 1))
        transactions = TransactionProducer(client, f"TX{seed}", ByNumber())
        await transactions.start()
        for number in range(4):
            await transactions.send_message_in_transaction(Message(TOPIC, b"%d" % number), None)
        await transactions.shutdown()
        queue = MessageQueue(TOPIC, master.name, 0)
        await admin.update_consumer_offset(master.address, GROUP, queue, seed + 3)
        light = MessageQueue(LIGHT, master.name, 0)
        await admin.update_consumer_offset(master.address, LIGHT_GROUP, light, 1)

    run(namesrv, act)


def stop_both(master: Broker, slave: Broker) -> None:
    """Stop the master first, so that nothing is under way when the slave stops."""
    assert master.stop() in (0, 143)
    assert slave.stop() in (0, 143)


def assert_equal(master: Path, slave: Path) -> None:
    """Assert that two stores have the same log and the same queues, byte for byte."""
    with StoreDir.open(master) as a, StoreDir.open(slave) as b:
        log = compare_logs(a, b)
        assert log.same
        assert (log.a_start, log.a_end) == (log.b_start, log.b_end)
        assert list(compare_queues(a, b, log)) == []
    logs = [
        {path.name: path.read_bytes() for path in (root / "commitlog").iterdir()}
        for root in (master, slave)
    ]
    for name in logs[0].keys() & logs[1].keys():
        assert logs[0][name] == logs[1][name]
    for name in logs[0].keys() ^ logs[1].keys():
        # A next file that one of them made ahead.
        assert not any(logs[0].get(name, b"") or logs[1].get(name, b""))


@pytest.mark.parametrize("batches", [1, pytest.param(115, marks=pytest.mark.soak)])
@pytest.mark.parametrize("order", ["java master", "our master"])
def test_slave_of_the_other_side_has_the_same_bytes(
    order: str,
    batches: int,
    java_side: JavaSide,
    our_side: OurSide,
    namesrv: Namesrv,
    tmp_path: Path,
) -> None:
    sides: list[Side] = [java_side, our_side]
    if order == "our master":
        sides.reverse()
    name = f"{order}-{batches}".replace(" ", "-")
    master = Broker(
        sides[0], store=tmp_path / "m", namesrv=namesrv.address, settings=settings(name)
    ).await_ready()
    slave = Broker(
        sides[1],
        store=tmp_path / "s",
        namesrv=namesrv.address,
        settings=settings(name, brokerRole="SLAVE", brokerId="1"),
    ).await_ready()
    try:
        # An empty slave begins with the last file: it has to be there before the second one is.
        send(namesrv, master, seed=0, count=1)
        catch_up(namesrv, master, slave)
        send(namesrv, master, seed=1, count=120, batches=batches)
        catch_up(namesrv, master, slave)
        slave.kill()
        send(namesrv, master, seed=2, count=60, batches=batches)
        slave = again(sides[1], slave, namesrv)
        catch_up(namesrv, master, slave)
        assert master.stop() in (0, 143)
        master = again(sides[0], master, namesrv)
        send(namesrv, master, seed=3, count=60, batches=batches)
        catch_up(namesrv, master, slave)
        tables_are_copied(namesrv, master, slave, position=6)
        # Whatever was delayed is delivered by now, and what the master still does is over.
        assert catch_up(namesrv, master, slave) > 1 << 20
        stop_both(master, slave)
    finally:
        master.kill()
        slave.kill()

    assert_equal(tmp_path / "m", tmp_path / "s")


def tables_are_copied(namesrv: Namesrv, master: Broker, slave: Broker, *, position: int) -> None:
    """Assert that the slave knows topics, groups and offsets as the master does.

    A Java slave passes over the offsets in light queues.
    """
    is_ours = isinstance(slave.side, OurSide)

    async def act(client: MQClient) -> None:
        admin = Admin(client)

        async def of(broker: Broker) -> tuple[object, ...]:
            topics = (await admin.topic_configs(broker.address)).topics
            groups = (await admin.subscription_groups(broker.address)).groups
            offsets = await admin.all_consumer_offsets(broker.address)
            queue = MessageQueue(LIGHT, master.name, 0)
            at = await admin.query_consumer_offset(broker.address, LIGHT_GROUP, queue)
            light = at if is_ours else 1
            return topics.get(TOPIC), groups.get(GROUP), light, offsets.get((TOPIC, GROUP))

        async def both() -> tuple[tuple[object, ...], tuple[object, ...]]:
            return await of(master), await of(slave)

        found = await eventually(
            both, lambda pair: pair[0] == pair[1] and None not in pair[0], timeout_s=CATCH_UP_S
        )
        assert found[0][-2:] == (1, {0: position})

    run(namesrv, act)


@pytest.mark.parametrize("order", ["java master", "our master"])
def test_slave_of_a_master_with_accounts_copies_log_and_tables(
    order: str, java_side: JavaSide, our_side: OurSide, namesrv: Namesrv, tmp_path: Path
) -> None:
    """Ours signs with the keys in conf/tools.yml, and for a Java master only where its settings
    name it; Java's signs nothing, and has to be listed.
    """
    homes = {name: tmp_path / name for name in ("java", "ours")}
    for home in homes.values():
        (home / "conf").mkdir(parents=True)
    of_master, of_slave = ("java", "ours") if order == "java master" else ("ours", "java")
    listed = "[127.0.0.1]" if of_slave == "java" else "[]"
    account = f"{{accessKey: {ADMIN}, secretKey: {SECRET}, admin: true}}"
    (homes[of_master] / "conf" / "plain_acl.yml").write_text(
        f"globalWhiteRemoteAddresses: {listed}\naccounts: [{account}]\n"
    )
    tools = f"accessKey: {ADMIN}\nsecretKey: {SECRET}\n"
    (homes[of_slave] / "conf" / "tools.yml").write_text(tools)
    sides: dict[str, Side] = {
        "java": JavaSide(homes["java"], java_side.class_path),
        "ours": our_side,
    }
    # Of the two only ours has to be told by a setting.
    own = {"ours": {"rocketmqHome": str(homes["ours"])}, "java": {}}
    name = f"accounts-{of_master}"
    accounts = settings(name, aclEnable="true", brokerRole="SYNC_MASTER", **own[of_master])
    address = namesrv.address
    with ExitStack() as running:
        master = running.enter_context(
            Broker(sides[of_master], store=tmp_path / "m", namesrv=address, settings=accounts)
        )
        if of_slave == "ours":
            own["ours"]["brokerAddresses"] = master.address
        follows = settings(name, brokerRole="SLAVE", brokerId="1", **own[of_slave])
        slave = running.enter_context(
            Broker(sides[of_slave], store=tmp_path / "s", namesrv=address, settings=follows)
        )
        send(namesrv, master, seed=0, count=3, batches=0)
        tables_are_copied(namesrv, master, slave, position=3)
        assert catch_up(namesrv, master, slave) > 0
        slave_counts_what_it_copies(namesrv, master, slave)
        slave_acknowledges(namesrv, master)


def slave_counts_what_it_copies(namesrv: Namesrv, master: Broker, slave: Broker) -> None:
    """Assert that a slave tells as many messages put, and as many bytes, as its master."""

    async def act(client: MQClient) -> None:
        admin = Admin(client)

        async def puts() -> list[tuple[str, ...]]:
            infos = [await admin.broker_runtime(broker.address) for broker in (master, slave)]
            keys = ("msgPutTotalTodayNow", "putMessageTimesTotal", "putMessageSizeTotal")
            return [tuple(info[key] for key in keys) for info in infos]

        found = await eventually(puts, lambda both: both[0] == both[1], timeout_s=CATCH_UP_S)
        assert int(found[0][0]) > 0

    run(namesrv, act)


def slave_acknowledges(namesrv: Namesrv, master: Broker) -> None:
    """Assert that a SYNC_MASTER says SEND_OK: its slave has the message."""

    async def act(client: MQClient) -> None:
        producer, queue = Producer(client), MessageQueue(TOPIC, master.name, 0)

        async def status() -> SendStatus:
            return (await producer.send(Message(TOPIC, b"both have it"), queue=queue)).status

        await eventually(status, lambda one: one is SendStatus.SEND_OK, timeout_s=CATCH_UP_S)

    run(namesrv, act)


@pytest.mark.parametrize("order", ["java master", "our master"])
def test_slave_that_clients_have_used_gets_the_tables_and_its_offsets_come_back(
    order: str, java_side: JavaSide, our_side: OurSide, namesrv: Namesrv, tmp_path: Path
) -> None:
    """A new group greets both brokers, and commits to the slave while the master is away."""
    sides: list[Side] = [java_side, our_side]
    if order == "our master":
        sides.reverse()
    name, address = f"used-{order}".replace(" ", "-"), namesrv.address
    with Broker(
        sides[1],
        store=tmp_path / "s",
        namesrv=address,
        settings=settings(name, brokerRole="SLAVE", brokerId="1"),
    ) as slave:
        master = Broker(
            sides[0], store=tmp_path / "m", namesrv=address, settings=settings(name)
        ).await_ready()
        try:
            send(namesrv, master, seed=0, count=3, batches=0)
            group_appears(namesrv, master, slave)
            send(namesrv, master, seed=0, count=3, batches=0)
            tables_are_copied(namesrv, master, slave, position=3)
            catch_up(namesrv, master, slave)
            assert master.stop() in (0, 143)
            run(namesrv, lambda client: commit_at(client, slave, 5))
            master = again(sides[0], master, namesrv)
            found = run(namesrv, lambda client: offset_at(client, master))
        finally:
            master.kill()

    # A Java master takes nothing over.
    assert found == (3 if order == "java master" else 5)


def group_appears(namesrv: Namesrv, master: Broker, slave: Broker) -> None:
    """Let a new group send heartbeats, which creates its retry topic at whoever creates it."""
    body = heartbeat(topics=(TOPIC,), group="NewGroup")

    async def act(client: MQClient) -> None:
        for broker in (slave, master):
            await client.call(broker.address, RequestCode.HEART_BEAT, what="heartbeat", body=body)

    run(namesrv, act)


async def commit_at(client: MQClient, broker: Broker, queue_offset: int) -> None:
    queue = MessageQueue(TOPIC, broker.name, 0)
    await Admin(client).update_consumer_offset(broker.address, GROUP, queue, queue_offset)


async def offset_at(client: MQClient, broker: Broker) -> int | None:
    queue = MessageQueue(TOPIC, broker.name, 0)
    return await Admin(client).query_consumer_offset(broker.address, GROUP, queue)
