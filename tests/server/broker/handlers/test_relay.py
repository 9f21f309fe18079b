"""Requests that the broker relays to a live consumer, over the wire."""

import asyncio
from dataclasses import dataclass, field

from mqserver.broker.handlers.relay import ANSWER_WAIT_MS
from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.header import Header, key
from remoting.headers import ConsumeMessageDirectly, GetConsumerRunningInfo
from storefmt.formats.message import decode_record
from tests.server.broker.desk import GROUP, Desk, heartbeat
from tests.waiting import until


async def relayed(desk: Desk, header: Header, code: int) -> tuple[Command, list[Command]]:
    """Ask through a consumer that answers every request."""
    asked: list[Command] = []

    def answer(address: str, command: Command) -> Command | None:
        asked.append(command)
        return None if command.is_oneway else command.response(remark="mine", body=b"{}")

    member = RemotingClient(on_request=answer)
    await member.invoke(desk.address, Command.request(RequestCode.HEART_BEAT, body=heartbeat("c2")))
    response = await desk.ask(code, header)
    await member.close()
    return response, [one for one in asked if one.code == code]


async def test_running_info_goes_to_the_client_and_back_unchanged(desk: Desk) -> None:
    header = GetConsumerRunningInfo(consumer_group=GROUP, client_id="c2", jstack_enable=True)

    (response, (asked,)) = await relayed(desk, header, RequestCode.GET_CONSUMER_RUNNING_INFO)

    assert asked.ext == header.to_ext()
    assert (response.code, response.remark, response.body) == (0, "mine", b"{}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed(GetConsumerRunningInfo):
    """The same question with the fields of a signature."""

    access_key: str = field(default="admin", metadata=key("AccessKey"))
    security_token: str = field(default="token", metadata=key("SecurityToken"))
    signature: str = field(default="proof", metadata=key("Signature"))


async def test_a_client_is_not_handed_the_signature_of_who_asks(desk: Desk) -> None:
    header = GetConsumerRunningInfo(consumer_group=GROUP, client_id="c2")
    signed = Signed(consumer_group=GROUP, client_id="c2")

    (response, (asked,)) = await relayed(desk, signed, RequestCode.GET_CONSUMER_RUNNING_INFO)

    assert signed.to_ext().keys() >= {"AccessKey", "SecurityToken", "Signature"}
    assert asked.ext == header.to_ext()
    assert response.code == 0


async def test_message_is_handed_to_a_client_with_the_brokers_name(desk: Desk) -> None:
    sent = await desk.send(b"try me")
    header = ConsumeMessageDirectly(consumer_group=GROUP, client_id="c2", msg_id=sent.ext["msgId"])
    (response, (asked,)) = await relayed(desk, header, RequestCode.CONSUME_MESSAGE_DIRECTLY)

    assert response.body == b"{}"
    assert asked.ext["brokerName"] == "broker-a"
    assert decode_record(asked.body).body == b"try me"


async def test_absent_client_and_absent_message_are_errors(desk: Desk) -> None:
    header = GetConsumerRunningInfo(consumer_group=GROUP, client_id="c9")
    found = [await desk.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, header)]
    for msg_id in ("nonsense", "7F00000100002A9F0000000000099999"):
        directly = ConsumeMessageDirectly(consumer_group=GROUP, client_id="c9", msg_id=msg_id)
        found.append(await desk.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, directly))
    (offline, nonsense, absent) = found

    assert (offline.code, offline.remark) == (1, "The Consumer <G> <c9> not online")
    assert nonsense.code == 1
    assert "no message with the id" in (absent.remark or "")


async def test_silent_client_is_given_up_after_ten_seconds(desk: Desk) -> None:
    await desk.heartbeat()
    header = GetConsumerRunningInfo(consumer_group=GROUP, client_id="c1")
    waiting = asyncio.create_task(desk.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, header))
    await until(lambda: any(one.code == 307 for one in desk.pushed))
    desk.app.broker.calls.expire(desk.app.broker.clock.now_ms() + ANSWER_WAIT_MS)
    answer = await waiting

    assert answer.code == 207
    assert "Timeout" in (answer.remark or "")
