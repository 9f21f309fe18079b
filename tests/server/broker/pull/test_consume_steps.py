"""The steps of a pull and of a pop: their order, and the answer of the first one that fails."""

from collections.abc import Callable
from typing import cast

import pytest

from mqserver.broker.broker_context import BrokerContext
from mqserver.broker.config import BrokerRole
from mqserver.broker.pull import consume_steps
from mqserver.broker.pull.consume_steps import (
    ACK,
    POP,
    POP_STEPS,
    PULL,
    PULL_STEPS,
    QUEUE_STEPS,
    Reading,
    Step,
    Wording,
    check,
)
from mqserver.broker.topics import topic_config
from mqserver.runtime.request import RequestRefused
from remoting.aio.server import ServerConn
from remoting.codes import LaterResponseCode, ResponseCode
from storefmt.config.tables import SubscriptionGroup
from tests.server.broker.contexts import context_of
from tests.server.doubles import FakeConn

Fault = Callable[[BrokerContext, Reading], None]


def hide_broker(context: BrokerContext, reading: Reading) -> None:
    context.config.broker_permission = 2


def follow(context: BrokerContext, reading: Reading) -> None:
    context.config.broker_role = BrokerRole.SLAVE


def forget_group(context: BrokerContext, reading: Reading) -> None:
    context.config.auto_create_subscription_group = False
    context.groups.delete("G", now_ms=0)


def disable_group(context: BrokerContext, reading: Reading) -> None:
    context.groups.put(SubscriptionGroup(group_name="G", consume_enable=False), now_ms=0)


def forget_topic(context: BrokerContext, reading: Reading) -> None:
    context.topics.delete("T", now_ms=0)


def hide_topic(context: BrokerContext, reading: Reading) -> None:
    context.topics.put(topic_config("T", queue_count=1, perm=2), now_ms=0)


def ask_high_queue(context: BrokerContext, reading: Reading) -> None:
    reading.queue_id = 1


def use_long_group(context: BrokerContext, reading: Reading) -> None:
    reading.group = "G" * 120


FAULTS: dict[Step, Fault] = {
    consume_steps.broker_is_readable: hide_broker,
    consume_steps.broker_serves_pops: follow,
    consume_steps.group_exists: forget_group,
    consume_steps.group_may_consume: disable_group,
    consume_steps.topic_exists: forget_topic,
    consume_steps.topic_is_readable: hide_topic,
    consume_steps.queue_exists: ask_high_queue,
    consume_steps.retry_topic_has_a_name: use_long_group,
}
ERROR, FORBIDDEN = ResponseCode.SYSTEM_ERROR, ResponseCode.NO_PERMISSION
NO_GROUP, NO_TOPIC = ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, ResponseCode.TOPIC_NOT_EXIST
PARAMETER = LaterResponseCode.INVALID_PARAMETER
ANSWERS = {
    "pull": [FORBIDDEN, NO_GROUP, FORBIDDEN, NO_TOPIC, FORBIDDEN, ERROR],
    "pop": [
        ResponseCode.SERVICE_NOT_AVAILABLE, FORBIDDEN, NO_TOPIC, FORBIDDEN, PARAMETER, NO_GROUP,
        FORBIDDEN, PARAMETER,
    ],
    "ack": [NO_TOPIC, ResponseCode.MESSAGE_ILLEGAL],
}  # fmt: skip
TABLES: dict[str, tuple[tuple[Step, ...], Wording]] = {
    "pull": (PULL_STEPS, PULL),
    "pop": (POP_STEPS, POP),
    "ack": (QUEUE_STEPS, ACK),
}


def reading_of(wording: Wording) -> Reading:
    """Return what passes every step."""
    context = context_of(object())
    context.topics.put(topic_config("T", queue_count=1), now_ms=0)
    context.groups.put(SubscriptionGroup(group_name="G"), now_ms=0)
    return Reading(context, wording, cast(ServerConn, FakeConn()), "T", "G", 0, 0)


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_allowed_passes_every_step(kind: str) -> None:
    steps, wording = TABLES[kind]
    reading = reading_of(wording)

    check(reading, steps)

    assert reading.topic_config is not None


@pytest.mark.parametrize("kind", TABLES)
def test_the_first_step_that_fails_decides_the_answer(kind: str) -> None:
    steps, wording = TABLES[kind]
    codes = []
    for number, step in enumerate(steps):
        reading = reading_of(wording)
        FAULTS[step](reading.context, reading)
        with pytest.raises(RequestRefused) as refused:
            check(reading, steps)
        codes.append(refused.value.code)
        with pytest.raises(RequestRefused):
            check(reading, steps[: number + 1])
        check(reading, steps[:number])

    assert codes == ANSWERS[kind]
