"""Names mean what RocketMQ means by them."""

import json

import pytest

from storefmt.errors import BadCall
from storefmt.names import DELAYS_MS, TopicKind, group_of, is_light, kind_of, parse_delay_levels


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        ("orders", TopicKind.ORDINARY),
        ("SCHEDULE_TOPIC_XXXX", TopicKind.DELAY),
        ("RMQ_SYS_TRANS_HALF_TOPIC", TopicKind.HALF),
        ("RMQ_SYS_TRANS_OP_HALF_TOPIC", TopicKind.OP),
        ("TRANS_CHECK_MAX_TIME_TOPIC", TopicKind.CHECK_MAX),
        ("%RETRY%g", TopicKind.RETRY),
        ("%DLQ%g", TopicKind.DLQ),
        ("%LMQ%q", TopicKind.LMQ),
        ("DefaultCluster_REPLY_TOPIC", TopicKind.REPLY),
        ("RMQ_SYS_TRACE_TOPIC", TopicKind.TRACE),
        ("rmq_sys_TRACE_DATA_region", TopicKind.TRACE),
        ("rmq_sys_wheel_timer", TopicKind.TIMER),
        ("rmq_sys_REVIVE_LOG_DefaultCluster", TopicKind.REVIVE),
        ("rmq_sys_SYNC_BROKER_MEMBER_a", TopicKind.SYNC_MEMBER),
        ("rmq_sys_other", TopicKind.SYSTEM),
        ("TBW102", TopicKind.AUTO_CREATE),
    ],
)
def test_topic_is_told_by_its_name(topic: str, kind: TopicKind) -> None:
    assert kind_of(topic) is kind


def test_every_system_topic_of_java_is_known(fact_tables) -> None:
    java = json.loads((fact_tables / "constants.json").read_text())["TopicValidator"]

    for topic in java["SYSTEM_TOPIC_SET"]:
        assert kind_of(topic) is not TopicKind.ORDINARY, topic


@pytest.mark.parametrize(
    ("topic", "group"),
    [
        ("%RETRY%g", "g"),
        ("%DLQ%g-1", "g-1"),
        ("%RETRY%g+t", "g"),
        ("orders", None),
        ("%LMQ%g", None),
    ],
)
def test_group_is_told_by_the_topic(topic: str, group: str | None) -> None:
    assert group_of(topic) == group


def test_light_queue_is_told_by_its_name() -> None:
    assert [is_light(name) for name in ("%LMQ%a", "a", "LMQ")] == [True, False, False]


def test_delay_levels_are_times() -> None:
    assert len(DELAYS_MS) == 18
    assert DELAYS_MS[0] == 1000
    assert DELAYS_MS[4] == 60_000
    assert DELAYS_MS[-1] == 7_200_000
    assert parse_delay_levels(" 2d  3s ") == (172_800_000, 3000)
    assert parse_delay_levels("") == ()


@pytest.mark.parametrize("text", ["5", "s", "1x", "-1s", "²s", "1" * 20 + "s"])
def test_level_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadCall):
        parse_delay_levels(text)
