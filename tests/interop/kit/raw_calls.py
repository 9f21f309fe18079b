"""Requests to a broker as plain header fields, and what is compared of the answers.

    Stage   one broker with known topics, groups and messages, and one consumer that is online
    Call    a request code, header fields as text, a body
    Answer    code, remark, fields and body of the answer, without what differs by nature

Rule: fields are text and may be missing or nonsense, so nothing of our header classes is
between a test and the broker.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from remoting.aio.client import RemotingClient
from remoting.bodies import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
    SubscriptionData,
    encode_value,
)
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.errors import RequestTimedOut
from storefmt.config.fastjson import Json, Key, loads
from storefmt.config.tables import SubscriptionGroup
from storefmt.errors import ConfigDamaged
from storefmt.formats.message import decode_records
from tests.waiting import eventually

TOPIC, EMPTY, LEFT = "SideTopic", "SideEmpty", "SideLeft"
GROUP, OFFLINE, PRODUCERS, CLIENT = "SideGroup", "SideOffline", "SideProducers", "side-client"
MESSAGE_COUNT = 6
BORN_MS = 1_700_000_000_000
_DELAY = "delayTime"
NO_ANSWER_S = 15.0
"""Longer than a broker waits for a client."""

MAGIC: Final = bytes.fromhex("daa320a7")
MS_MIN, MS_MAX = 1_600_000_000_000, 1_900_000_000_000
_BLANKED: Final = (
    (r"\d{4}-\d\d-\d\d#\d\d:\d\d:\d\d:\d+", "<time>"),
    (r"/?\d+\.\d+\.\d+\.\d+:\d+", "<address>"),
    (r"\b1[67]\d{11}\b", "<ms>"),
    (r"\b(?:[0-9A-F]{32}|[0-9A-F]{56})\b", "<id>"),
)


class Call(NamedTuple):
    """One request."""

    code: int
    fields: dict[str, str] | None = None
    body: bytes = b""


class Answer(NamedTuple):
    """What is compared of an answer; all None when none came."""

    code: int | None
    remark: str | None
    ext: dict[str, str] | None
    body: object


@dataclass(frozen=True)
class Stage:
    """One broker with the state that the calls are about."""

    asker: RemotingClient
    consumer: RemotingClient
    address: str
    ids: list[str]
    """Offset ids of the messages."""

    async def ask(self, call: Call) -> Answer:
        """Send one call and return what came back."""
        try:
            answer = await self.asker.invoke(self.address, _command(call), timeout_s=NO_ANSWER_S)
        except RequestTimedOut:
            return Answer(None, None, None, None)
        ext = {name: _blank(value) for name, value in answer.ext.items()}
        remark = None if answer.remark is None else _blank(answer.remark)
        return Answer(answer.code, remark, ext, _body(answer.body))

    async def close(self) -> None:
        """Close both connections."""
        await self.consumer.close()
        await self.asker.close()


def _command(call: Call) -> Command:
    command = Command.request(call.code, body=call.body)
    command.ext, command.ext_written = dict(call.fields or {}), call.fields is not None
    return command


def _blank(text: str) -> str:
    for pattern, stands in _BLANKED:
        text = re.sub(pattern, stands, text)
    return text


def _body(body: bytes) -> object:
    """Return a JSON body as a value without order, any other as it is."""
    if body[4:8] == MAGIC:
        # Hosts, the store time and ids with a host in them are the broker's own, and so is
        # when it made a message itself.
        return [
            record._replace(
                born_host=b"",
                store_host=b"",
                store_ms=0,
                born_ms=min(record.born_ms, BORN_MS),
                properties_raw=_blank(record.properties_raw.decode()).encode(),
            )
            for record in decode_records(body)
        ]
    try:
        return _unordered(loads(body))
    except ConfigDamaged:
        return _blank(body.decode())


def _unordered(value: Json | Key) -> object:
    match value:
        case dict():
            return {
                str(_unordered(key)): "<ms>" if key == _DELAY else _unordered(item)
                for key, item in value.items()
            }
        case list():
            return sorted((_unordered(item) for item in value), key=repr)
        case str() | tuple():
            return _blank(str(value))
        case int() if MS_MIN <= value <= MS_MAX:
            return "<ms>"
        case _:
            return value


def answer_as_client(address: str, command: Command) -> Command | None:
    """Answer what brokers ask consumers, always the same."""
    if command.is_oneway:
        return None
    match command.code:
        case RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT:
            key = f'{{"brokerName":"broker-a","queueId":0,"topic":"{TOPIC}"}}'
            return command.response(body=f'{{"messageQueueTable":{{{key}:2}}}}'.encode())
        case RequestCode.GET_CONSUMER_RUNNING_INFO:
            return command.response(remark="running", body=b'{"properties":{"a":"b"}}')
        case RequestCode.CONSUME_MESSAGE_DIRECTLY:
            told = f"{len(command.body)} bytes for {sorted(command.ext)}"
            return command.response(remark=told, body=b'{"consumeResult":"CR_SUCCESS"}')
        case _:
            return command.response(1, remark="not asked for")


def heartbeat() -> bytes:
    """Return the heartbeat of the consumer that is online."""
    return HeartbeatData(
        client_id=CLIENT,
        producer_data_set=[ProducerData(group_name=PRODUCERS)],
        consumer_data_set=[
            ConsumerData(
                group_name=GROUP,
                consume_type=ConsumeType.CONSUME_PASSIVELY,
                message_model=MessageModel.CLUSTERING,
                consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
                subscription_data_set=[
                    SubscriptionData(topic=TOPIC, sub_string="*", sub_version=1),
                    SubscriptionData(topic=f"%RETRY%{GROUP}", sub_string="*", sub_version=1),
                ],
            )
        ],
    ).encode()


def topic_fields(topic: str, **changes: str) -> dict[str, str]:
    """Return the fields that create a topic of two queues."""
    return {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": "2",
        "writeQueueNums": "2",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
        **changes,
    }


def send_fields(number: int, **changes: str) -> dict[str, str]:
    """Return the fields of message ``number``."""
    return {
        "a": PRODUCERS,
        "b": TOPIC,
        "c": "TBW102",
        "d": "4",
        "e": str(number % 2),
        "f": "0",
        "g": str(BORN_MS),
        "h": "0",
        "i": f"KEYS\1key{number}\2TAGS\1Tag{number % 2}",
        "j": "0",
        "k": "false",
        "m": "false",
        **changes,
    }


async def set_up(address: str) -> Stage:
    """Return a stage on an empty broker: topics, groups, messages, positions, a consumer."""
    asker, consumer = RemotingClient(), RemotingClient(on_request=answer_as_client)
    stage = Stage(asker, consumer, address, [])

    async def do(code: int, fields: dict[str, str] | None = None, body: bytes = b"") -> Command:
        answer = await asker.invoke(address, _command(Call(code, fields, body)), timeout_s=60)
        assert answer.code == 0, answer
        return answer

    for topic in (TOPIC, EMPTY):
        await do(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(topic))
    for group in (GROUP, OFFLINE):
        body = encode_value(SubscriptionGroup(group_name=group))
        await do(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body)
    for number in range(MESSAGE_COUNT):
        sent = await do(RequestCode.SEND_MESSAGE_V2, send_fields(number), f"body {number}".encode())
        stage.ids.append(sent.ext["msgId"])
    for group, queue_id, offset in ((GROUP, 0, 3), (GROUP, 1, 2), (OFFLINE, 0, 1)):
        await do(
            RequestCode.UPDATE_CONSUMER_OFFSET,
            {
                "consumerGroup": group,
                "topic": TOPIC,
                "queueId": str(queue_id),
                "commitOffset": str(offset),
            },
        )
    hello = Command.request(RequestCode.HEART_BEAT, body=heartbeat())
    assert (await consumer.invoke(address, hello, timeout_s=60)).code == 0

    async def last() -> str:
        place = {"topic": TOPIC, "queueId": "1"}
        return (await do(RequestCode.GET_MAX_OFFSET, place)).ext["offset"]

    await eventually(last, lambda offset: offset == str(MESSAGE_COUNT // 2))
    return stage


CallOn = Callable[[Stage], Call]
"""Makes a call that names what is on the stage."""


async def ask_all(address: str, calls: Mapping[str, CallOn]) -> dict[str, Answer]:
    """Set up a stage and return what every call is answered, asked in their order."""
    stage = await set_up(address)
    try:
        return {name: await stage.ask(call(stage)) for name, call in calls.items()}
    finally:
        await stage.close()
        await asyncio.sleep(0)


Fields = Mapping[str, str]


def rows_of(
    name: str, code: int, rows: Iterable[tuple[str, Fields | None]]
) -> Iterator[tuple[str, CallOn]]:
    """Yield one row for each set of fields; ``name`` says what is asked for."""
    for of, fields in rows:
        call = Call(code, None if fields is None else dict(fields))
        yield f"{name}: {of}", lambda stage, call=call: call


def bodies_of(
    name: str, code: int, rows: Iterable[tuple[str, bytes]]
) -> Iterator[tuple[str, CallOn]]:
    """Yield one row for each body."""
    for of, body in rows:
        call = Call(code, None, body)
        yield f"{name}: {of}", lambda stage, call=call: call


def without(fields: Fields, name: str) -> Fields:
    """Return all fields but one."""
    return {key: value for key, value in fields.items() if key != name}
