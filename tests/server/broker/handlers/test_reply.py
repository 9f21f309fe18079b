"""Replies of request-reply messages, over the wire."""

import asyncio
from pathlib import Path

import pytest

from mqserver.broker.handlers.reply import ANSWER_WAIT_MS
from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import ReplyMessage
from storefmt.formats.properties import parse_properties
from tests.server.broker.desk import Desk, heartbeat, running, send, send_with_long_names
from tests.waiting import until

TOPIC = "TestCluster_REPLY_TOPIC"
PROPERTIES = "MSG_TYPE\1reply\2REPLY_TO_CLIENT\1asker\2KEYS\1k\2TTL\x013000\2CORRELATION_ID\1c1"


async def requester(desk: Desk, *, code: int = 0) -> tuple[RemotingClient, list[Command]]:
    """Return a producer that takes replies, and what it was sent."""
    asked: list[Command] = []

    def answer(address: str, command: Command) -> Command | None:
        asked.append(command)
        return None if command.is_oneway else command.response(code)

    client = RemotingClient(on_request=answer)
    hello = Command.request(RequestCode.HEART_BEAT, body=heartbeat("asker"))
    await client.invoke(desk.address, hello)
    return client, asked


async def reply(desk: Desk, properties: str = PROPERTIES, **changes: object) -> Command:
    header = send(**{"topic": TOPIC, "properties": properties, **changes})
    return await desk.ask(RequestCode.SEND_REPLY_MESSAGE_V2, header, body=b"pong")


@pytest.mark.parametrize("is_stored", [True, False])
async def test_reply_goes_to_the_requester_and_is_stored_when_wished(
    tmp_path: Path, is_stored: bool
) -> None:
    async with running(tmp_path, store_reply_message_enable=is_stored) as desk:
        client, asked = await requester(desk)
        answer = await reply(desk, sys_flag=1)
        stored = await desk.messages(topic=TOPIC)
        await client.close()
    (pushed,) = [one for one in asked if one.code == RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT]
    header = pushed.header(ReplyMessage)
    told = parse_properties(header.properties or "")
    assert (answer.code, answer.remark) == (0, None)
    assert answer.ext.keys() == {"msgId", "queueId", "queueOffset", "MSG_REGION", "TRACE_ON"}
    assert (answer.ext["msgId"] == "0") is not is_stored
    assert (pushed.body, header.topic, header.sys_flag) == (b"pong", TOPIC, 1)
    assert told.pop("PUSH_REPLY_TIME") == str(header.store_timestamp)
    assert told == parse_properties(PROPERTIES)
    assert [(one.body, one.sys_flag, one.properties_raw.decode()) for one in stored] == (
        [(b"pong", 0, header.properties)] if is_stored else []
    )


async def test_long_field_names_are_taken_too(desk: Desk) -> None:
    header = send_with_long_names(topic=TOPIC, queue_id=-1, properties=PROPERTIES)
    client, asked = await requester(desk)
    answer = await desk.ask(RequestCode.SEND_REPLY_MESSAGE, header, body=b"pong")
    await client.close()

    assert (answer.code, answer.ext["queueId"]) == (0, "0")
    assert [one.code for one in asked].count(326) == 1


async def test_reply_that_nobody_takes_is_an_error_and_stored_all_the_same(desk: Desk) -> None:
    answers = [await reply(desk), await reply(desk, "KEYS\1k")]
    client, _ = await requester(desk, code=1)
    answers.append(await reply(desk))
    stored = await desk.messages(topic=TOPIC)
    await client.close()

    assert [(answer.code, answer.remark) for answer in answers] == [
        (1, "push reply message fail, channel of <asker> not found."),
        (1, "reply message properties[REPLY_TO_CLIENT] is null"),
        (1, "push reply message to askerfail."),
    ]
    assert [answer.ext["queueOffset"] for answer in answers] == ["0", "1", "2"]
    assert [one.properties_raw for one in stored[:2]] == [PROPERTIES.encode(), b"KEYS\1k"]


async def test_requester_that_is_silent_is_given_up_after_ten_seconds(desk: Desk) -> None:
    await desk.heartbeat(client_id="asker")
    waiting = asyncio.create_task(reply(desk))
    await until(lambda: any(one.code == 326 for one in desk.pushed))
    desk.app.broker.calls.expire(desk.app.broker.clock.now_ms() + ANSWER_WAIT_MS)
    answer = await waiting

    assert (answer.code, answer.remark) == (1, "push reply message to askerfail.")


async def test_topic_and_queue_are_checked_as_for_a_send(desk: Desk) -> None:
    queue = await reply(desk, queue_id=9)
    topic = await reply(desk, topic="bad name")

    assert (queue.code, topic.code) == (1, 1)
    assert "request queueId[9] is illegal" in (queue.remark or "")
    assert queue.ext == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
