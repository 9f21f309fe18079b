"""How long a read waits for servers that are away."""

from threading import Timer

import pytest

from mqclient.errors import BrokerRefused, ClientError, NoRoute, Unreachable
from mqserver.pytest_plugin import RocketMQ
from mqspark.sources.live.options import Use, live_settings
from mqspark.sources.live.patience import PAUSE_MAX_S, PAUSE_MIN_S, Patience
from mqspark.sources.live.queues import ask_brokers, ask_patiently, batch_tasks, span
from mqspark.sources.live.read import read_ranges
from tests.mqspark.livetopics import fill, live, make


def away() -> ClientError:
    return Unreachable("cannot connect", address="a:1", retriable=True)


@pytest.mark.parametrize("error", [away(), NoRoute("T")])
def test_pauses_grow_until_the_time_is_over(error: ClientError) -> None:
    patience, now_s, pauses = Patience(60.0), 100.0, []

    while (pause_s := patience.next_pause_s(error, now_s=now_s)) is not None:
        pauses.append(pause_s)
        now_s += pause_s

    assert now_s == 160.0
    assert pauses[:3] == [PAUSE_MIN_S, 2 * PAUSE_MIN_S, 4 * PAUSE_MIN_S]
    assert max(pauses) == PAUSE_MAX_S


def test_what_does_not_pass_is_raised_at_once() -> None:
    refused = BrokerRefused("no permission", code=16, address="a:1")

    assert Patience(60.0).next_pause_s(refused, now_s=0.0) is None
    assert Patience(0.0).next_pause_s(away(), now_s=0.0) is None


def test_the_option_is_in_milliseconds() -> None:
    options = {"namesrv": "n", "subscribe": "T", "retryTimeoutMs": "1500"}

    assert live_settings(options, use=Use.STREAM).retry_s == 1.5


def test_planning_and_reading_outlast_a_restart(rocketmq_broker_fresh: RocketMQ) -> None:
    pair = rocketmq_broker_fresh
    make(pair.namesrv, "Orders")
    fill(pair.namesrv, "Orders", 30)
    asked = live(pair.namesrv, subscribe="Orders")
    tasks = ask_brokers(asked, batch_tasks)

    for question in (
        lambda: sum(len(list(read_ranges(asked, task))) > 0 for task in tasks),
        lambda: len(ask_patiently(asked, span)),
    ):
        pair.kill()
        back = Timer(2.0, pair.start)
        back.start()
        assert question() > 0
        back.join()


def test_without_patience_a_restart_is_an_error(rocketmq_broker_fresh: RocketMQ) -> None:
    pair = rocketmq_broker_fresh
    make(pair.namesrv, "Orders")
    pair.kill()

    with pytest.raises(ClientError):
        ask_patiently(live(pair.namesrv, subscribe="Orders", retryTimeoutMs="0"), span)
    pair.start()
