"""A group of brokers of 5.4.0 that our controller leads.

namesrv (ours) ── controller (ours) ── two brokers of 5.4.0, one group
"""

import asyncio
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.send_result import SendStatus
from remoting.aio.client import RemotingClient
from remoting.bodies.controller import BrokerReplicasInfo, ReplicasInfo
from remoting.codes import LaterCode
from remoting.command import Command
from tests.interop.kit.our_clients import read_topic, run
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import Broker, Controller, JavaSide, Namesrv, OurSide
from tests.waiting import eventually, wait

TOPIC = "Switched"
TOOLS = "org.apache.rocketmq.tools.command"


class Group(NamedTuple):
    """A running group."""

    namesrv: Namesrv
    controller: Controller
    brokers: list[Broker]
    settings: dict[str, str]

    def broker_at(self, address: str) -> Broker:
        """Return the broker that listens at an address."""
        return next(broker for broker in self.brokers if broker.address == address)


@pytest.fixture(scope="module")
def group(
    five: JavaSide, our_side: OurSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Group]:
    tmp_path = tmp_path_factory.mktemp("group")
    with ExitStack() as stack:
        namesrv = stack.enter_context(Namesrv(our_side))
        controller = stack.enter_context(Controller(our_side, directory=tmp_path / "controller"))
        settings = {
            "brokerName": "g",
            "enableControllerMode": "true",
            "controllerAddr": controller.address,
            "allAckInSyncStateSet": "true",
            # A busy machine must not look like a dead master.
            "controllerHeartBeatTimeoutMills": "60000",
        }
        brokers = [
            Broker(
                five, store=tmp_path / f"store-{number}", namesrv=namesrv.address,
                settings=settings,
            )
            for number in (1, 2)
        ]  # fmt: skip
        for broker in brokers:
            stack.callback(broker.kill)
        for broker in brokers:
            broker.await_ready()
        yield Group(namesrv, controller, brokers, settings)


async def group_of(group: Group) -> ReplicasInfo | None:
    request = Command.request(LaterCode.CONTROLLER_GET_SYNC_STATE_DATA, body=b'["g"]')
    client = RemotingClient()
    answer = await client.invoke(group.controller.address, request, timeout_s=30)
    await client.close()
    return BrokerReplicasInfo.decode(answer.body).replicas_info_table.get("g")


def in_sync_count(info: ReplicasInfo | None) -> int:
    return 0 if info is None else len(info.in_sync_replicas)


COMPARED = (
    "getControllerMetaData -a {controller}",
    "getSyncStateSet -a {controller} -b g",
    "getSyncStateSet -a {controller} -c TestCluster",
    "getBrokerEpoch -b g",
    "getBrokerEpoch -c TestCluster",
    "electMaster -a {controller} -b {slave} -bn g -c TestCluster",
    "updateControllerConfig -a {controller} -k notifyBrokerRoleChanged -v true",
    "cleanBrokerMetadata -a {controller} -bn none -c TestCluster",
    "haStatus -c TestCluster",
    "haStatus -b {first}",
    "haStatus -b {second}",
    "resetMasterFlushOffset -b {first} -o 0",
    "resetMasterFlushOffset -b {second} -o 0",
    "addBroker -c {first} -b /no/such/file",
)
"""Lines of Java's tool; those that change something leave the group as it is."""
REFUSED = ("cleanBrokerMetadata", "addBroker")
"""The answer to these is an error, of which Java's tool prints a trace."""


@pytest.mark.parametrize("line", COMPARED)
def test_lines_of_javas_tool_print_the_same(
    five: JavaSide, group: Group, line: str, tmp_path: Path
) -> None:
    def settled() -> ReplicasInfo | None:
        return asyncio.run(group_of(group))

    info = wait(settled, lambda info: in_sync_count(info) == 2, timeout_s=180)
    assert info is not None
    slave = next(
        replica.broker_id
        for replica in info.in_sync_replicas
        if replica.broker_id != info.master_broker_id
    )
    first, second = (broker.address for broker in group.brokers)
    words = line.format(
        controller=group.controller.address, slave=slave, first=first, second=second
    ).split()
    is_refused = words[0] in REFUSED
    ours = OurMqadmin(group.namesrv.address, {"HOME": str(tmp_path)})
    printed = ours.text(*words, "--compat", "-y", exit_code=1 if is_refused else 0)
    command = five.java(f"{TOOLS}.MQAdminStartup", *words, "-n", group.namesrv.address)
    # The tool gives up after 3 s, which a busy machine may take for its first request.
    java = wait(
        lambda: subprocess.run(command, capture_output=True, text=True, check=False),
        lambda ended: ended.stdout or "CODE" in ended.stderr,
        timeout_s=180,
    )
    if words[0] == "electMaster":
        # Our line has made the slave the master, so Java's line changes nothing.
        assert "#MasterEpoch" in printed
        assert "is still alive" in java.stderr
    else:
        assert comparable(printed) == comparable(java.stdout)


def comparable(text: str) -> list[str]:
    """Return the lines of an output; brokers come in the order of a hash set there.

    Speeds and times of a connection differ between two questions.
    """
    text = re.sub(r"(?m)^(#Last(Read|Write)Time|#TransferSpeed\S*)\t.*", r"\1", text)
    lines = re.sub(r" [0-9]+\.[0-9]{2} ", " ", text).splitlines()
    return sorted(lines) if "#brokerAddr" in text else lines


def test_doctor_top_exporter_and_report_know_a_healthy_group(group: Group, tmp_path: Path) -> None:
    wait(lambda: asyncio.run(group_of(group)), lambda info: in_sync_count(info) == 2, timeout_s=180)
    mqadmin = OurMqadmin(group.namesrv.address, {"HOME": str(tmp_path)})

    findings = mqadmin("doctor", "--check", "replica", "--check", "controller")
    metrics = {
        (row["metric"], row["labels"].get("brokerId")): row["value"]
        for row in mqadmin("exporter", "--once")
    }
    standings = {
        str(row["replica"]).split()[0]
        for row in mqadmin("top", "--once", "--interval", "0.1")
        if row["kind"] == "broker"
    }
    page = tmp_path / "page.html"
    mqadmin.text("report", "--to", str(page))

    assert findings == []
    assert metrics["mqadmin_controller_is_leader", None] == 1
    assert metrics["mqadmin_replicas_in_sync_count", None] == 2
    assert metrics["mqadmin_replica_log_end", "1"] == metrics["mqadmin_replica_log_end", "2"]
    assert ("mqadmin_replica_confirm_offset", "2") in metrics
    assert standings == {"MASTER", "IN_SYNC"}
    assert "replica, epoch" in page.read_text()


async def send(producer: Producer, body: bytes) -> list[bytes]:
    """Return the body in a list if it was acknowledged, else an empty list."""
    try:
        result = await producer.send(Message(TOPIC, body), timeout_s=3)
    except ClientError:
        return []
    return [body] if result.status is SendStatus.SEND_OK else []


def test_after_the_kill_of_its_master_a_group_goes_on_with_every_acknowledged_message(
    group: Group,
) -> None:
    async def play(client: MQClient) -> tuple[ReplicasInfo, ReplicasInfo, set[bytes], set[bytes]]:
        before = await eventually(
            lambda: group_of(group), lambda info: in_sync_count(info) == 2, timeout_s=120
        )
        assert before is not None
        epoch = before.master_epoch or 0
        producer = Producer(client)
        acknowledged: set[bytes] = set()
        while len(acknowledged) < 20:
            acknowledged.update(await send(producer, b"before %d" % len(acknowledged)))
        group.broker_at(str(before.master_address)).kill()
        after = await eventually(
            lambda: group_of(group),
            lambda info: info is not None and (info.master_epoch or 0) > epoch,
            timeout_s=60,
        )
        assert after is not None
        while len(acknowledged) < 40:
            acknowledged.update(await send(producer, b"after %d" % len(acknowledged)))
        messages = await read_topic(client, TOPIC, len(acknowledged))
        return before, after, acknowledged, {message.body for message in messages}

    before, after, acknowledged, bodies = run(group.namesrv.address, play)

    assert after.master_address != before.master_address
    assert [replica.broker_id for replica in after.in_sync_replicas] == [after.master_broker_id]
    assert bodies >= acknowledged


def test_an_unclean_election_loses_what_it_was_said_to_lose(
    five: JavaSide, group: Group, tmp_path: Path
) -> None:
    # The test above has left the new master alone in the set, with messages of its own.
    mqadmin = OurMqadmin(group.namesrv.address, {"HOME": str(tmp_path)})
    where = ("--controller", group.controller.address)
    (master,) = (row for row in mqadmin("ha", "epochs", "-b", "g") if row["broker_id"] == 0)
    wait(
        lambda: asyncio.run(group_of(group)),
        lambda info: info is not None and info.in_sync_replicas[0].max_offset == master["log_end"],
        timeout_s=60,
    )
    group.broker_at(master["address"]).kill()
    (old,) = (broker for broker in group.brokers if broker.address != master["address"])
    port = int(old.address.rpartition(":")[2])
    with ExitStack() as stack:
        back = Broker(
            five, store=old.store, namesrv=group.namesrv.address, settings=group.settings, port=port
        )
        stack.callback(back.kill)
        behind = wait(
            lambda: mqadmin("controller", "status", "g", *where),
            lambda rows: [row["state"] for row in rows if row["is_alive"]] == ["BEHIND"],
            timeout_s=180,
        )
        (candidate,) = (str(row["broker_id"]) for row in behind if row["is_alive"])
        line = ("controller", "elect", "g", candidate, "-c", "TestCluster", *where)
        # A broker that has just started does not have all its queues yet, which have the times.
        (planned,) = wait(
            lambda: mqadmin(*line, "--unclean", "--dry-run"),
            lambda rows: rows[0]["lost_since_ms"] is not None,
            timeout_s=60,
        )
        not_seen = mqadmin.err
        (kept,) = (part for part in master["epochs"][-2:-1])
        (elected,) = mqadmin(*line, "--unclean", "-y")

    assert planned["lost_size_most"] == master["log_end"] - kept["end_offset"]
    assert 0 < planned["lost_size_least"] <= planned["lost_size_most"]
    assert f"{master['address']}) does not answer; its log ended at" in not_seen
    assert str(elected["master_id"]) == candidate
