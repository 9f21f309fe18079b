"""Every request code, sent by nobody, by an account without rights, and by one for other names.

    sender      fields and body                                   a broker with accounts
    nobody      all                                               refuses, except the question
                                                                  for its epoch
    no rights   all; each field left out; none; without a body    never answers SUCCESS
    others      its own topic with a foreign group, and reversed  answers what needs only the one

A rule reads fields that may be missing, so a request that lacks one must fail in its handler.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from mqserver.broker.acl.rules import OPEN_CODES
from remoting.bodies import (
    BatchAck,
    BatchAckMessageRequestBody,
    CheckClientRequestBody,
    ConsumerData,
    HeartbeatData,
    LockBatchRequestBody,
    MessageQueue,
    ProducerData,
    QueryAssignmentRequestBody,
    SubscriptionData,
    UnlockBatchRequestBody,
)
from remoting.codes import ExtensionCode, LaterCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.signing import sign_for
from tests.server.broker.acl.homes import ACCOUNTS, OTHER, SECRETS, make_topics, write_home
from tests.server.broker.desk import Desk, running
from tests.server.test_loop_watchdog import EXT

JAVA_NAME: Final = "org.apache.rocketmq.acl.common.AclException"
CODES: Final = sorted(
    {int(code) for kind in (RequestCode, LaterCode, ExtensionCode) for code in kind}
)
SHORT: Final = {
    "a": "P", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "",
    "j": "0", "k": "false", "l": "16", "m": "false",
}  # fmt: skip
MORE: Final = {
    "topic": "T", "originTopic": "T", "consumerGroup": "G", "group": "G", "groupName": "G",
    "invisibleTime": "60000", "pollTime": "0", "bornTime": "0", "initMode": "0", "exp": "*",
    "expType": "TAG", "extraInfo": "0 1 60000 0 0 broker-a 0 0", "recallHandle": "x",
    "maxNum": "32", "maxMsgNums": "32", "count": "32", "readQueueNums": "1", "writeQueueNums": "1",
    "value": "v",
}  # fmt: skip
FIELDS: Final[Mapping[str, str]] = {**EXT, **SHORT, **MORE}
_QUEUES: Final = [MessageQueue(topic="T", broker_name="broker-a", queue_id=0)]


def _heartbeat(**changes: object) -> bytes:
    return HeartbeatData(client_id="c", **changes).encode()  # type: ignore[arg-type]


_CONSUMERS: Final = [
    ConsumerData(group_name="G", subscription_data_set=[SubscriptionData(topic="T")])
]
WEAK: Final = "weakKey"
LEFT_OUT: Final = (
    "topic", "consumerGroup", "group", "groupName", "b", "i", "offset", "commitLogOffset",
)  # fmt: skip
BODIES: Final[Mapping[int, bytes]] = {
    RequestCode.HEART_BEAT: _heartbeat(
        consumer_data_set=_CONSUMERS, producer_data_set=[ProducerData(group_name="P")]
    ),
    RequestCode.LOCK_BATCH_MQ: LockBatchRequestBody(
        consumer_group="G", client_id="c", mq_set=_QUEUES
    ).encode(),
    RequestCode.UNLOCK_BATCH_MQ: UnlockBatchRequestBody(
        consumer_group="G", client_id="c", mq_set=_QUEUES
    ).encode(),
    RequestCode.CHECK_CLIENT_CONFIG: CheckClientRequestBody(
        group="G", subscription_data=SubscriptionData(topic="T")
    ).encode(),
    LaterCode.QUERY_ASSIGNMENT: QueryAssignmentRequestBody(
        topic="T", consumer_group="G", client_id="c"
    ).encode(),
    LaterCode.BATCH_ACK_MESSAGE: BatchAckMessageRequestBody(
        acks=[BatchAck(consumer_group="G", topic="T")]
    ).encode(),
}
OF_A_TOPIC: Final = frozenset({
    RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET,
    RequestCode.GET_EARLIEST_MSG_STORETIME, RequestCode.GET_TOPIC_STATS_INFO,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, LaterCode.GET_TOPIC_CONFIG,
})  # fmt: skip
"""What an account may do with its topic, whatever group the request names as well."""
OF_A_GROUP: Final = frozenset({
    RequestCode.UNREGISTER_CLIENT, LaterCode.GET_SUBSCRIPTIONGROUP_CONFIG,
})  # fmt: skip
"""What an account may do with its group, whatever topic the request names as well."""
ALONE: Final = frozenset({
    (RequestCode.QUERY_CONSUME_QUEUE, "consumerGroup"), (RequestCode.GET_CONSUME_STATS, "topic"),
})  # fmt: skip
"""What it may do with one of both where the other is left out."""


def requests_of(code: int) -> Iterator[tuple[str, Command]]:
    """Yield a request with everything, and those that lack something, each with what it lacks."""

    def request(ext: Mapping[str, str], body: bytes) -> Command:
        command = Command.request(code, body=body)
        command.ext.update(ext)
        return command

    body = BODIES.get(code, b"x")
    yield "", request(FIELDS, body)
    for key in LEFT_OUT:
        yield key, request({name: FIELDS[name] for name in FIELDS if name != key}, body)
    yield "nothing", request({}, body)
    yield "no body", request(FIELDS, b"")


async def ask(desk: Desk, key: str | None, command: Command) -> Command:
    if key is not None:
        secret, now_ms = SECRETS.get(key, "weakSecret"), time.time_ns() // 1_000_000
        sign_for(command, key, secret, receiver=desk.address, now_ms=now_ms)
    return await desk.client.invoke(desk.address, command, timeout_s=60)


def home_of(root: Path) -> Path:
    """Write the accounts of ``homes``, and one without any rights."""
    weak = {
        "accessKey": WEAK, "secretKey": "weakSecret", "defaultTopicPerm": "DENY",
        "defaultGroupPerm": "DENY",
    }  # fmt: skip
    return write_home(root, accounts=[*ACCOUNTS, weak])


async def test_only_the_epoch_is_told_to_somebody_without_a_key(tmp_path: Path) -> None:
    home = home_of(tmp_path / "home")
    async with running(tmp_path / "store", acl_enable=True, rocketmq_home=home) as desk:
        await make_topics(desk, "T")
        passed = []
        for code in CODES:
            for lacks, command in requests_of(code):
                answer = await ask(desk, None, command)
                if not (answer.remark or "").startswith(JAVA_NAME):
                    passed.append((code, lacks))

    assert {code for code, _ in passed} == OPEN_CODES


@pytest.mark.parametrize("key", [WEAK, OTHER])
async def test_nothing_is_done_for_an_account_without_rights_to_what_is_named(
    tmp_path: Path, key: str
) -> None:
    home = home_of(tmp_path / "home")
    async with running(tmp_path / "store", acl_enable=True, rocketmq_home=home) as desk:
        await make_topics(desk, "T", "T2")
        done = {
            (code, lacks)
            for code in CODES
            for lacks, command in requests_of(code)
            if (await ask(desk, key, command)).code == ResponseCode.SUCCESS
        }

    assert {code for code, _ in done} <= OPEN_CODES


@pytest.mark.parametrize(
    ("own", "codes"),
    [
        ({"topic": "T2", "b": "T2", "originTopic": "T2"}, OF_A_TOPIC),
        ({"consumerGroup": "G2", "group": "G2", "groupName": "G2"}, OF_A_GROUP),
    ],
    ids=["own topic", "own group"],
)
async def test_own_names_open_nothing_to_what_is_named_beside_them(
    tmp_path: Path, own: Mapping[str, str], codes: frozenset[int]
) -> None:
    home = home_of(tmp_path / "home")
    async with running(tmp_path / "store", acl_enable=True, rocketmq_home=home) as desk:
        await make_topics(desk, "T", "T2")
        done = set()
        for code in CODES:
            for lacks, command in requests_of(code):
                command.ext.update({name: own[name] for name in own if name in command.ext})
                answer = await ask(desk, OTHER, command)
                if answer.code == ResponseCode.SUCCESS and (code, lacks) not in ALONE:
                    done.add(code)

    assert done <= codes | OPEN_CODES
