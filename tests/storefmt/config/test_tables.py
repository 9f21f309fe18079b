"""State files: read as the Java config managers read them, written as they write them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from storefmt.config.tables import (
    ConsumerOffsets,
    DataVersion,
    DelayOffsets,
    GroupTable,
    SubscriptionGroup,
    TopicConfig,
    TopicTable,
    TopicTexts,
    load_config,
)
from storefmt.errors import ConfigDamaged
from tests.storefmt.broken import FUZZ, JSON_VALUES, every_cut, survives
from tests.storefmt.corpus import CONFIG_STORES, STORES
from tests.storefmt.vectors import DATA

DECODERS = {
    "topics.json": TopicTable.decode,
    "subscriptionGroup.json": GroupTable.decode,
    "consumerOffset.json": ConsumerOffsets.decode,
    "lmqConsumerOffset.json": ConsumerOffsets.decode,
    "delayOffset.json": DelayOffsets.decode,
}


def texts_of(store) -> dict[str, str]:
    every = store.expected["configText"]
    return {name: text for name, text in every.items() if name.removesuffix(".bak") in DECODERS}


def test_only_topics_that_changed_are_made_text_again() -> None:
    topics = {name: TopicConfig(name) for name in ("a", "b\n", "c")}
    texts, made = TopicTexts(), []

    for change in ({}, {"d": TopicConfig("d")}, {"a": TopicConfig("a", perm=4)}):
        table = TopicTable(topics=topics | change)
        assert table.encode(texts) == table.encode()
        made.append(texts.made_count)

    # All, then the new one, then the one that was replaced.
    assert made == [3, 4, 5]


@pytest.mark.parametrize("name", STORES)
def test_golden_file_comes_back_character_for_character(corpus, name: str) -> None:
    texts = texts_of(corpus(name))
    assert len(texts) >= 4

    for file_name, text in texts.items():
        value = DECODERS[file_name.removesuffix(".bak")](text)
        assert value.encode() == text


@pytest.mark.parametrize("name", STORES)
def test_what_was_written_is_read_as_the_same(corpus, name: str) -> None:
    for file_name, text in texts_of(corpus(name)).items():
        decode = DECODERS[file_name.removesuffix(".bak")]

        assert decode(decode(text).encode()) == decode(text)


@pytest.mark.parametrize("name", CONFIG_STORES)
def test_golden_values_equal_what_the_java_managers_loaded(corpus, name: str) -> None:
    store = corpus(name)
    java, config = store.expected["configManagers"], store.root / "config"

    topics = load_config(config / "topics.json", TopicTable.decode)
    groups = load_config(config / "subscriptionGroup.json", GroupTable.decode)
    delays = load_config(config / "delayOffset.json", DelayOffsets.decode)

    version = topics.data_version
    assert [version.timestamp_ms, version.counter] == java["topicsDataVersion"]
    built_in = java["topics_read_write_perm_sysflag_order"]
    assert {key: built_in[key] for key in topics.topics} == {
        key: [t.read_queue_nums, t.write_queue_nums, t.perm, t.topic_sys_flag, t.order]
        for key, t in topics.topics.items()
    }
    if groups is not None:
        built_in = java["groups_enable_fromMin_broadcast_retryQueues_retryMax_brokerId_slow"]
        assert {key: built_in[key] for key in groups.groups} == {
            key: group_values(group) for key, group in groups.groups.items()
        }
    assert {str(key): value for key, value in delays.offsets.items()} == java["delayOffset"]


def group_values(group: SubscriptionGroup) -> list:
    return [
        group.consume_enable,
        group.consume_from_min_enable,
        group.consume_broadcast_enable,
        group.retry_queue_nums,
        group.retry_max_times,
        group.broker_id,
        group.which_broker_when_consume_slowly,
    ]


@pytest.mark.parametrize("name", ["basic", "retention", "ipv6", "default-geometry"])
def test_golden_offsets_equal_what_the_java_manager_loaded(corpus, name: str) -> None:
    java = corpus(name).expected["configManagers"]["consumerOffset"]

    found = load_config(
        corpus(name).root / "config" / "consumerOffset.json", ConsumerOffsets.decode
    )

    assert java == {
        f"{topic}@{group}": {str(queue): offset for queue, offset in queues.items()}
        for (topic, group), queues in found.offsets.items()
    }


def test_light_queues_have_a_table_of_their_own(corpus) -> None:
    path = corpus("kinds-lmq").root / "config" / "lmqConsumerOffset.json"

    found = load_config(path, ConsumerOffsets.decode)

    assert found.lmq_offsets == {("%LMQ%kd-u1", "%LMQ%kd-grp"): 2}
    assert found.offsets["kd-normal", "kd-tags"] == {0: 60, 1: 60}


def test_files_of_five_are_read_and_what_is_new_in_them_kept(corpus) -> None:
    config = corpus("v5").root / "config"

    offsets = load_config(config / "consumerOffset.json", ConsumerOffsets.decode)
    delays = load_config(config / "delayOffset.json", DelayOffsets.decode)

    assert offsets.offsets["RMQ_SYS_TRANS_HALF_TOPIC", "CID_RMQ_SYS_TRANS"] == {0: 2}
    assert offsets.extra["groupTopicMap"]["CID_RMQ_SYS_TRANS"] == ["RMQ_SYS_TRANS_HALF_TOPIC"]
    assert delays.offsets == {1: 6, 2: 1, 5: 0, 18: 0}
    assert delays.extra["dataVersion"]["counter"] == 5


def test_missing_keys_keep_the_defaults_of_java() -> None:
    table = TopicTable.decode('{"topicConfigTable":{"T":{},"gone":null}}')
    groups = GroupTable.decode('{"subscriptionGroupTable":{"G":{"unknown":[1]}}}')

    assert table == TopicTable({"T": TopicConfig("T", 16, 16, 6, "SINGLE_TAG", 0, False)})
    kept = SubscriptionGroup("G", extra={"unknown": [1]})
    assert groups == GroupTable({"G": kept}, DataVersion(0, 0))


@pytest.mark.parametrize(
    ("name", "decode"),
    [("topics.json", TopicTable.decode), ("subscriptionGroup.json", GroupTable.decode)],
)
def test_table_of_five_with_every_field_comes_back_as_java_wrote_it(name: str, decode) -> None:
    text = (DATA / "config5" / name).read_text()

    assert decode(text).encode() == text


def test_what_is_kept_survives_a_change_of_what_is_known() -> None:
    table = TopicTable.decode((DATA / "config5" / "topics.json").read_bytes())

    table.topics["five"] = replace(table.topics["five"], perm=2)
    again = TopicTable.decode(table.encode())

    assert again.topics["five"].perm == 2
    assert again.topics["five"].extra == {
        "attributes": {"message.type": "FIFO", "queue.type": "BatchCQ"}
    }
    assert again.data_version == DataVersion(1795234843002, 0, {"stateVersion": 3})


def test_unknown_names_are_written_where_java_has_them() -> None:
    version = DataVersion.from_json({"timestamp": 2, "zeta": 1, "counter": 1, "none": None})

    assert list(version.to_json()) == ["counter", "timestamp", "zeta"]
    assert hash(version) == hash(DataVersion(2, 1))
    assert list(DataVersion(2, 1).to_json()) == ["counter", "timestamp"]


@FUZZ
@given(JSON_VALUES)
def test_any_value_is_a_table_or_damage(value: object) -> None:
    text = json.dumps(value)

    for decode in DECODERS.values():
        survives(lambda data, decode=decode: decode(data).encode(), text.encode())
    for cut in every_cut(text.encode())[:: max(len(text) // 20, 1)]:
        survives(TopicTable.decode, cut)


def test_values_may_be_text_as_fastjson_takes_them() -> None:
    table = TopicTable.decode(
        '{"topicConfigTable":{"T":{"perm":"4","order":"true","topicFilterType":1}}}'
    )
    offsets = ConsumerOffsets.decode('{"offsetTable":{"T@G":{"0":"5",1:6,"2":null}}}')

    assert table.topics["T"] == TopicConfig("T", perm=4, order=True, topic_filter_type="MULTI_TAG")
    assert offsets.offsets == {("T", "G"): {0: 5, 1: 6}}


def test_unknown_filter_type_is_that_of_a_new_topic() -> None:
    table = TopicTable.decode('{"topicConfigTable":{"T":{"topicFilterType":"NOPE"}}}')

    assert table.topics["T"].topic_filter_type == "SINGLE_TAG"


def test_empty_tables_are_written_as_java_writes_them() -> None:
    assert ConsumerOffsets().encode() == '{\n\t"offsetTable":{}\n}'
    assert DelayOffsets({1: 2}).encode() == '{\n\t"offsetTable":{1:2\n\t}\n}'
    assert ConsumerOffsets({}, {("%LMQ%a", "g"): 1}).encode() == (
        '{\n\t"lmqOffsetTable":{\n\t\t"%LMQ%a@g":1\n\t},\n\t"offsetTable":{}\n}'
    )


@pytest.mark.parametrize(
    ("decode", "text"),
    [
        (TopicTable.decode, "[]"),
        (TopicTable.decode, '{"topicConfigTable":[]}'),
        (TopicTable.decode, '{"topicConfigTable":{"T":5}}'),
        (TopicTable.decode, '{"topicConfigTable":{"T":{"perm":"x"}}}'),
        (TopicTable.decode, '{"topicConfigTable":{"T":{"perm":[]}}}'),
        (GroupTable.decode, '{"subscriptionGroupTable":{"G":{"consumeEnable":[]}}}'),
        (GroupTable.decode, '{"dataVersion":{"counter":{"value":5}}}'),
        (ConsumerOffsets.decode, '{"offsetTable":{"no-group":{0:1}}}'),
        (ConsumerOffsets.decode, '{"offsetTable":{"T@G":{"x":1}}}'),
        (ConsumerOffsets.decode, '{"offsetTable":{"T@G":{0:"x"}}}'),
        (ConsumerOffsets.decode, '{"offsetTable":{"T@G":5}}'),
        (DelayOffsets.decode, '{"offsetTable":7}'),
    ],
)
def test_value_of_another_kind_is_refused(decode, text: str) -> None:
    with pytest.raises(ConfigDamaged):
        decode(text)


def test_broken_file_is_replaced_by_its_copy(tmp_path: Path) -> None:
    path = tmp_path / "delayOffset.json"
    path.with_name("delayOffset.json.bak").write_text('{"offsetTable":{1:7}}')

    for broken in ("", " \n", "{", '{"offsetTable":{"x":1}}', None):
        if broken is None:
            path.unlink()
        else:
            path.write_text(broken)
        assert load_config(path, DelayOffsets.decode) == DelayOffsets({1: 7})


def test_file_is_taken_before_its_copy(tmp_path: Path) -> None:
    path = tmp_path / "delayOffset.json"
    path.write_text('{"offsetTable":{1:8}}')
    path.with_name("delayOffset.json.bak").write_text('{"offsetTable":{1:7}}')

    assert load_config(path, DelayOffsets.decode) == DelayOffsets({1: 8})


def test_no_file_at_all_is_no_error(tmp_path: Path) -> None:
    assert load_config(tmp_path / "topics.json", TopicTable.decode) is None


@pytest.mark.parametrize("copy", ["", "{", None])
def test_file_that_cannot_be_read_and_has_no_good_copy_is_an_error(
    tmp_path: Path, copy: str | None
) -> None:
    path = tmp_path / "topics.json"
    path.write_text('{"topicConfigTable":')
    if copy is not None:
        path.with_name("topics.json.bak").write_text(copy)

    with pytest.raises(ConfigDamaged) as caught:
        load_config(path, TopicTable.decode)

    assert str(path) in str(caught.value)
    assert (f"{path}.bak:" in str(caught.value)) is (copy is not None)


def test_tables_of_two_values_are_not_shared() -> None:
    TopicTable().topics["T"] = TopicConfig("T")

    assert TopicTable().topics == {}


def test_log_offset_of_deliveries_is_an_entry_of_its_own_that_may_be_missing() -> None:
    told = DelayOffsets({1: 2}, log_offset=77)

    text = told.encode()
    again = DelayOffsets.decode(text)

    assert text == '{\n\t"deliveredLogOffset":77,\n\t"offsetTable":{1:2\n\t}\n}'
    assert again.offsets == {1: 2}
    assert again.log_offset == 77
    assert again.extra == {}
    assert DelayOffsets.decode('{"offsetTable":{1:2}}').log_offset is None
    with pytest.raises(ConfigDamaged, match="deliveredLogOffset"):
        DelayOffsets.decode('{"deliveredLogOffset":"x"}')
