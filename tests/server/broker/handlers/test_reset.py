"""Reset the offsets of a group to a time, over the wire."""

import pytest

from mqserver.broker.clients.client_requests import encode_notice
from mqserver.broker.clients.members import GroupMember
from mqserver.broker.handlers import reset as reset_handler
from remoting.aio.client import RemotingClient
from remoting.bodies import GetConsumerStatusBody, MessageQueue, ResetOffsetBody
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import GetConsumerStatus, ResetOffset
from tests.server.broker.desk import GROUP, TOPIC, Desk, heartbeat
from tests.server.doubles import FakeConn

QUEUE = MessageQueue(topic=TOPIC, broker_name="broker-a", queue_id=0)
END = -1


async def group_at(desk: Desk, queue_offset: int) -> None:
    await desk.create_topic()
    for at in range(4):
        await desk.send(b"m%d" % at)
    await desk.commit(queue_offset)


async def reset(desk: Desk, *, to_ms: int, force: bool = True, topic: str = TOPIC) -> Command:
    header = ResetOffset(topic=topic, group=GROUP, timestamp=to_ms, is_force=force)
    return await desk.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)


async def test_online_group_is_pushed_its_new_offsets_and_the_table_is_left_to_it(
    desk: Desk,
) -> None:
    await group_at(desk, 4)
    await desk.heartbeat()
    answer = await reset(desk, to_ms=0)
    (push,) = [one for one in desk.pushed if one.code == 220]

    assert answer.code == 0
    assert ResetOffsetBody.decode(answer.body).offset_table == {QUEUE: 0}
    assert push.body == answer.body
    assert push.ext == {"topic": TOPIC, "group": GROUP, "timestamp": "0", "isForce": "false"}
    assert desk.app.broker.offsets.get(GROUP, TOPIC, queue_id=0) == 4


async def test_the_offsets_for_many_members_are_one_frame(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bytes] = []

    def counted(command: Command) -> bytes:
        made.append(encode_notice(command))
        return made[-1]

    await group_at(desk, 4)
    await desk.heartbeat()
    group = desk.app.broker.consumers.group(GROUP)
    assert group is not None
    others = [FakeConn(number) for number in range(300)]
    for conn in others:
        group.members[conn] = GroupMember(conn, "c", 0, 407, 2**62)  # type: ignore[arg-type, index]
    monkeypatch.setattr(reset_handler, "encode_notice", counted)
    await reset(desk, to_ms=0)
    assert sum(len(conn.sent) for conn in others) == 300
    assert len(made) == 1


async def test_without_force_a_group_only_moves_back(desk: Desk) -> None:
    await group_at(desk, 2)
    await desk.heartbeat()
    assert [
        ResetOffsetBody.decode((await reset(desk, to_ms=END, force=force)).body).offset_table
        for force in (False, True)
    ] == [{QUEUE: 2}, {QUEUE: 4}]


async def test_offline_and_unknown_groups_and_topics_have_javas_codes(desk: Desk) -> None:
    await group_at(desk, 1)
    offline = await reset(desk, to_ms=0)
    nowhere = await reset(desk, to_ms=0, topic="Nowhere")
    await desk.create_topic("Other")
    other = await reset(desk, to_ms=0, topic="Other")

    assert (offline.code, nowhere.code) == (206, 1)
    assert (offline.remark or "").startswith(
        "Consumer not online, so can not reset offset, Group: G"
    )
    assert (other.code, other.remark) == (1, "THe consumer group <G> not exist")


async def test_members_are_asked_for_their_own_offsets(desk: Desk) -> None:
    table = GetConsumerStatusBody(message_queue_table={QUEUE: 7}).encode()
    member = RemotingClient(on_request=lambda _, ask: ask.response(body=table))
    join = Command.request(RequestCode.HEART_BEAT, body=heartbeat("c2"))
    await member.invoke(desk.address, join)
    code = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
    found = await desk.ask(code, GetConsumerStatus(topic=TOPIC, group=GROUP))
    none = await desk.ask(code, GetConsumerStatus(topic=TOPIC, group="none"))
    await member.close()

    assert GetConsumerStatusBody.decode(found.body).consumer_table == {"c2": {QUEUE: 7}}
    assert none.code == 1
