"""Which groups pop, and which queues their members get; texts and shares as 5.4.0 has them."""

import json
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from remoting.bodies import (
    MessageModel,
    MessageRequestMode,
    MessageRequestModeSerializeWrapper,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from remoting.codes import LaterCode
from remoting.command import Command
from tests.server.broker.desk import GROUP, TOPIC, Desk, running, with_topic
from tests.server.broker.ha.pairs import pair_in
from tests.waiting import until

POP, PULL = MessageRequestMode.POP, MessageRequestMode.PULL
# What 5.4.0 answered and wrote.
WIRE = (
    '{"messageRequestModeMap":{"T":{"G":{"consumerGroup":"G","mode":"POP","popShareQueueNum":1,'
    '"topic":"T"}}}}'
)
FILE = """{
	"messageRequestModeMap":{
		"T":{
			"G":{
				"consumerGroup":"G",
				"mode":"POP",
				"popShareQueueNum":1,
				"topic":"T"
			}
		}
	}
}"""


async def set_mode(desk: Desk, mode: MessageRequestMode, share: int = 0, **more: str) -> Command:
    body = SetMessageRequestModeRequestBody(
        topic=more.get("topic", TOPIC), consumer_group=GROUP, mode=mode, pop_share_queue_num=share
    )
    return await desk.ask(LaterCode.SET_MESSAGE_REQUEST_MODE, body=body.encode())


async def assigned(
    desk: Desk,
    member: str,
    *,
    model: MessageModel = MessageModel.CLUSTERING,
    strategy: str = "AVG",
    topic: str = TOPIC,
) -> tuple[set[MessageRequestMode | None], list[int]] | None:
    """Return modes and queue ids that a member gets; None if it is to keep what it has."""
    body = QueryAssignmentRequestBody(
        topic=topic,
        consumer_group=GROUP,
        client_id=member,
        strategy_name=strategy,
        message_model=model,
    )
    answer = await desk.ask(LaterCode.QUERY_ASSIGNMENT, body=body.encode())
    assert answer.code == 0
    found = QueryAssignmentResponseBody.decode(answer.body).message_queue_assignments
    if found is None:
        return None
    queues = [one.message_queue for one in found]
    assert {(queue.topic, queue.broker_name) for queue in queues} <= {(topic, "broker-a")}
    return {one.mode for one in found}, sorted(queue.queue_id for queue in queues)


async def test_mode_is_saved_as_5_4_0_saves_it_and_known_after_a_start(tmp_path: Path) -> None:
    path = tmp_path / "config" / "messageRequestMode.json"
    async with with_topic(tmp_path) as desk:
        assert (await set_mode(desk, POP, 1)).code == 0

        assert path.read_text() == FILE
    async with running(tmp_path) as desk:
        answer = await desk.ask(LaterCode.GET_ALL_MESSAGE_REQUEST_MODE)

    assert answer.body.decode() == WIRE
    assert json.loads(path.read_text()) == json.loads(WIRE)


async def test_mode_of_a_retry_topic_cannot_be_set(desk: Desk) -> None:
    refused = await set_mode(desk, POP, topic=f"%RETRY%{GROUP}")
    wrong = await set_mode(desk, POP, topic="a b")

    assert (refused.code, refused.remark) == (16, "retry topic is not allowed to set mode")
    assert wrong.code == 29


async def test_members_pull_their_part_until_the_group_pops(desk: Desk) -> None:
    await desk.create_topic(queues=3)
    nobody = await assigned(desk, "c1")
    await desk.heartbeat(client_id="c1")
    pulled = await assigned(desk, "c1")
    await set_mode(desk, POP)
    popped = await assigned(desk, "c1")
    stranger = await assigned(desk, "c9")
    unknown = await assigned(desk, "c1", strategy="XX")
    missing = await assigned(desk, "c1", topic="nope")
    every = await assigned(desk, "c1", strategy="XX", model=MessageModel.BROADCASTING)
    await set_mode(desk, PULL)
    again = await assigned(desk, "c1", strategy="AVG_BY_CIRCLE")

    assert (nobody, unknown, missing) == (None, None, None)
    assert pulled == again == ({PULL}, [0, 1, 2])
    # Every member pops any queue, so that none waits for a rebalance.
    assert popped == stranger == ({POP}, [-1])
    assert every == ({POP}, [0, 1, 2])


@pytest.mark.parametrize(
    ("queues", "share", "wanted"),
    [
        (4, 1, {"c1": [0, 1, 2, 3], "c2": [0, 1, 2, 3]}),
        (5, 1, {"c1": [0, 1, 2, 3, 4], "c2": [0, 1, 2, 3, 4]}),
        (1, 1, {"c1": [0], "c2": [0]}),
    ],
)
async def test_members_share_queues_as_many_as_are_told(
    desk: Desk, queues: int, share: int, wanted: dict[str, list[int]]
) -> None:
    await desk.create_topic(queues=queues)
    second = Desk(desk.app, type(desk.client)(), desk.address)
    await desk.heartbeat(client_id="c1")
    await second.heartbeat(client_id="c2")
    await set_mode(desk, POP, share)

    found = {member: await assigned(desk, member) for member in wanted}
    await second.client.close()

    assert found == {member: ({POP}, ids) for member, ids in wanted.items()}


async def test_slave_copies_the_modes_of_its_master(tmp_path: Path) -> None:
    async with pair_in(tmp_path) as pair:
        master = await pair.start("m", BrokerRole.ASYNC_MASTER)
        await master.create_topic()
        await set_mode(master, POP, 1)
        modes = (await pair.start("s", BrokerRole.SLAVE)).app.broker.pops.modes

        await until(lambda: modes.get(TOPIC, GROUP).mode is POP, what="the master's modes")
    saved = (tmp_path / "s" / "config" / "messageRequestMode.json").read_text()

    assert MessageRequestModeSerializeWrapper.decode(saved.encode()) == modes.table
