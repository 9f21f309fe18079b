"""The topic table: what is there from the start, templates, versions."""

import dataclasses

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.topics import Topics, topic_config
from storefmt.config.tables import DataVersion, TopicTable
from tests.golden import Golden

CONFIG = BrokerConfig(broker_name="golden-a", broker_cluster_name="GoldenCluster")
MADE_LATER = {"RMQ_SYS_TRANS_HALF_TOPIC"}
"""Topics the Java broker makes when its transaction service starts."""


def table(config: BrokerConfig = CONFIG) -> Topics:
    return Topics(config, now_ms=5)


def test_built_in_topics_are_those_of_a_real_broker(golden: Golden) -> None:
    expected = golden.expected("basic")["configManagers"]
    java = expected["topics_read_write_perm_sysflag_order"]
    topics = table()

    ours = {
        name: [one.read_queue_nums, one.write_queue_nums, one.perm, one.topic_sys_flag, one.order]
        for name, one in topics.table().topics.items()
    }

    assert {name: java[name] for name in ours} == ours
    created = {action["topic"] for action in golden.jsonl("basic", "actions") if "topic" in action}
    assert java.keys() - ours.keys() - created == MADE_LATER


def test_stored_topics_replace_built_in_ones_and_bring_their_version() -> None:
    stored = TopicTable(
        topics={
            "TBW102": topic_config("TBW102", queue_count=2),
            "T": topic_config("T", queue_count=1),
        },
        data_version=DataVersion(timestamp_ms=7, counter=3),
    )

    topics = Topics(CONFIG, stored, now_ms=9)

    assert topics.get("TBW102") == topic_config("TBW102", queue_count=2)
    assert topics.get("T") is not None
    assert topics.version == DataVersion(timestamp_ms=7, counter=3)


@pytest.mark.parametrize(("asked", "made"), [(4, 4), (0, 0), (-3, 0), (99, 8)])
def test_new_topic_has_at_most_the_templates_queues(asked: int, made: int) -> None:
    topic = table().create_by_template("T", "TBW102", queue_count=asked, sys_flag=1, now_ms=6)

    assert (topic.read_queue_nums, topic.write_queue_nums) == (made, made)
    assert (topic.perm, topic.topic_sys_flag) == (6, 1)


@pytest.mark.parametrize("template", ["Nothing", "BenchmarkTest"])
def test_template_must_exist_and_be_inherited(template: str) -> None:
    topics = table()

    assert topics.create_by_template("T", template, queue_count=4, sys_flag=0, now_ms=6) is None
    assert topics.get("T") is None


def test_without_auto_create_the_default_template_makes_nothing() -> None:
    config = dataclasses.replace(CONFIG)
    topics = table(config)
    config.auto_create_topic_enable = False

    made = topics.create_by_template("T", "TBW102", queue_count=4, sys_flag=0, now_ms=6)

    assert made is None
    assert table(config).get("TBW102") is None


def test_every_change_moves_the_version_and_is_told() -> None:
    told: list[int] = []
    topics = Topics(CONFIG, now_ms=5, on_change=lambda: told.append(1))

    topics.put(topic_config("T", queue_count=1), now_ms=6)
    topics.create_for_group("%RETRY%G", queue_count=2, now_ms=7)
    topics.create_for_group("%RETRY%G", queue_count=9, now_ms=8)
    assert topics.delete("T", now_ms=9)
    assert not topics.delete("T", now_ms=10)
    topics.touch(11)

    assert topics.version == DataVersion(timestamp_ms=11, counter=4)
    assert len(told) == 4


def test_ordered_topics_are_exactly_those_told() -> None:
    topics = table()
    topics.put(topic_config("A", queue_count=1), now_ms=6)
    topics.put(topic_config("B", queue_count=1), now_ms=6)

    topics.set_ordered(["A", "elsewhere"], now_ms=7)
    first = [name for name, one in topics.table().topics.items() if one.order]
    version = topics.version
    topics.set_ordered(["A"], now_ms=8)
    unchanged = topics.version
    topics.set_ordered([], now_ms=9)

    assert first == ["A"]
    assert unchanged == version
    assert not any(one.order for one in topics.table().topics.values())


@pytest.mark.parametrize(
    ("name", "system"),
    [("TBW102", True), ("golden-a", True), ("rmq_sys_x", True), ("T", False), ("%RETRY%G", False)],
)
def test_system_names(name: str, system: bool) -> None:
    assert table().is_system(name) is system
