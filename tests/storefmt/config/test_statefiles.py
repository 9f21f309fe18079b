"""The other files of ``config/``: nothing is lost, and the views say what is in them."""

import json

import pytest
from hypothesis import given

from storefmt.config.statefiles import (
    MEANINGS,
    ConsumerFilter,
    MappedQueue,
    PopOrder,
    QueueMapping,
    RequestMode,
    StateFile,
    TopicCount,
    consumer_filters,
    pop_orders,
    queue_mappings,
    request_modes,
    topic_counts,
)
from storefmt.config.tables import DataVersion
from storefmt.errors import ConfigDamaged
from tests.storefmt.broken import FUZZ, JSON_VALUES, survives
from tests.storefmt.corpus import STORES
from tests.storefmt.vectors import DATA

VIEWS = (consumer_filters, pop_orders, queue_mappings, request_modes, topic_counts)


def golden_file(corpus, store: str, name: str) -> StateFile:
    return StateFile.decode((corpus(store).root / "config" / name).read_bytes())


def vector(name: str) -> StateFile:
    return StateFile.decode((DATA / "config5" / name).read_bytes())


@pytest.mark.parametrize("name", STORES)
def test_every_golden_file_comes_back_character_for_character(corpus, name: str) -> None:
    for file_name, text in corpus(name).expected["configText"].items():
        if not file_name.startswith("timercheck"):
            assert StateFile.decode(text).encode() == text, file_name
        assert file_name.removesuffix(".bak") in MEANINGS


def test_every_text_of_the_real_managers_comes_back_character_for_character() -> None:
    paths = sorted((DATA / "config5").iterdir())
    assert len(paths) == 6

    for path in paths:
        assert StateFile.decode(path.read_bytes()).encode() == path.read_text()


def test_filters_of_groups_are_read(corpus) -> None:
    filters = consumer_filters(golden_file(corpus, "kinds", "consumerFilter.json"))

    assert filters[0] == ConsumerFilter(
        topic="kd-normal",
        group="kd-sql-0",
        expression="a > 5 AND color = 'pine'",
        expression_type="SQL92",
        born_ms=1795234949131,
        dead_ms=1795234990784,
        client_version=1795234949152,
        bit_count=112,
        bit_positions=(75, 5, 64),
    )
    assert [(found.group, found.is_dead) for found in filters] == [
        ("kd-sql-0", True),
        ("kd-sql-1", True),
    ]
    assert consumer_filters(golden_file(corpus, "v5", "consumerFilter.json")) == []


def test_bits_of_a_filter_are_those_of_the_ext_units(corpus) -> None:
    first, second = consumer_filters(golden_file(corpus, "kinds", "consumerFilter.json"))
    queue = corpus("kinds").expected["open"]["queues"]["kd-normal@0"]["list"]
    maps = {entry[6] for entry in queue if len(entry) > 6 and entry[6]}

    for bits in map(bytes.fromhex, maps):
        assert len(bits) * 8 == first.bit_count
        is_set = {pos for pos in range(first.bit_count) if bits[pos // 8] >> pos % 8 & 1}
        matching = [set(f.bit_positions) for f in (first, second) if is_set >= {*f.bit_positions}]
        assert is_set == set().union(*matching)
    assert len(maps) > 2


def test_orders_of_pop_are_read() -> None:
    (order,) = pop_orders(vector("consumerOrderInfo.json"))

    assert order == PopOrder(
        topic="order-topic",
        group="order-group",
        queue_id=0,
        attempt_id="attempt-1",
        pop_ms=1795234843000,
        invisible_ms=30000,
        queue_offsets=(5, 1, 2),
        next_visible_ms={6: 1795234900000},
        consumed_counts={5: 1, 6: 2},
        last_consumed_ms=1795234842000,
        committed=(True, False, False),
    )


@pytest.mark.parametrize("name", ["topicQueueMapping.json", "topicQueueMapping.compact.json"])
def test_static_topics_are_read(name: str) -> None:
    file = vector(name)

    (mapping,) = queue_mappings(file)

    assert mapping == QueueMapping(
        topic="static-topic",
        scope="__global__",
        broker_name="golden-a",
        queue_count=8,
        epoch=1795234843000,
        queues={
            0: (
                MappedQueue(0, 0, "golden-a", 0, 0, -1),
                MappedQueue(1, 3, "golden-b", 1000, 0, -1),
            ),
            2: (MappedQueue(0, 1, "golden-a", 0, 0, 77),),
        },
    )
    assert file.data_version == DataVersion(1795234843001, 0, {"stateVersion": 0})


def test_request_modes_are_read(corpus) -> None:
    (found,) = request_modes(golden_file(corpus, "v5", "messageRequestMode.json"))

    assert found.topic.startswith("v5-pop-")
    assert (found.mode, found.share_queue_count) == ("POP", 8)
    assert request_modes(vector("messageRequestMode.json")) == [
        RequestMode("pop-topic", "pop-group", "POP", 4)
    ]


def test_metrics_are_read(corpus) -> None:
    timer = golden_file(corpus, "v5", "timermetrics")
    transactions = golden_file(corpus, "v5", "transactionMetrics")

    assert topic_counts(timer) == [
        TopicCount("rmq_sys_REVIVE_LOG_GoldenCluster", 0, 1795236643074),
        TopicCount("v5-timer", 4, 1795236607041),
    ]
    assert topic_counts(transactions) == [TopicCount("v5-tx", 1, 1795236598539)]
    assert not timer.pretty


def test_file_without_a_version_has_none(corpus) -> None:
    assert golden_file(corpus, "kinds", "consumerFilter.json").data_version is None


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (consumer_filters, "[]"),
        (consumer_filters, '{"filterDataByTopic":{"T":5}}'),
        (consumer_filters, '{"filterDataByTopic":{"T":{"groupFilterData":{"G":[]}}}}'),
        (pop_orders, '{"table":{"no-group":{}}}'),
        (pop_orders, '{"table":{"T@G":{"x":{}}}}'),
        (pop_orders, '{"table":{"T@G":{0:{"o":5}}}}'),
        (queue_mappings, '{"topicQueueMappingInfoMap":{"T":{"hostedQueues":{0:{}}}}}'),
        (request_modes, '{"messageRequestModeMap":{"T":[]}}'),
        (topic_counts, '{"timingCount":{"T":{"count":"x"}}}'),
        (lambda file: file.data_version, "[]"),
    ],
)
def test_value_of_another_shape_is_refused(view, text: str) -> None:
    with pytest.raises(ConfigDamaged):
        view(StateFile.decode(text))


@FUZZ
@given(JSON_VALUES)
def test_any_value_is_a_view_or_damage(value: object) -> None:
    for view in VIEWS:
        survives(lambda data, view=view: view(StateFile.decode(data)), json.dumps(value).encode())
