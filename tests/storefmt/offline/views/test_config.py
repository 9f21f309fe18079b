"""State files, and the copies that stand in for damaged ones."""

import pytest

from storefmt.offline import StoreDir
from tests.golden import Golden


@pytest.mark.parametrize("name", ["basic", "kinds", "retention", "ipv6"])
def test_offsets_and_topics_equal_those_of_the_real_managers(golden: Golden, name: str) -> None:
    managers = golden.expected(name)["configManagers"]

    with StoreDir.open(golden.store(name)) as store:
        offsets = {
            f"{topic}@{group}": {str(queue): offset for queue, offset in queues.items()}
            for (topic, group), queues in store.offsets().items()
        }
        delays = {str(level): offset for level, offset in store.delay_offsets().items()}
        topics = {
            topic.topic_name: [
                topic.read_queue_nums,
                topic.write_queue_nums,
                topic.perm,
                topic.topic_sys_flag,
                topic.order,
            ]
            for topic in store.topics().topics.values()
        }

    assert offsets == managers["consumerOffset"]
    assert delays == managers["delayOffset"]
    loaded = managers["topics_read_write_perm_sysflag_order"]
    assert topics == {topic: loaded[topic] for topic in topics}


def test_damaged_file_is_replaced_by_its_copy_and_told(golden: Golden) -> None:
    with StoreDir.open(golden.damaged("23-json-cut")) as store:
        offsets, notes = store.offsets(), store.state.notes

    assert offsets[("clicks_v1", "grp-b")] == {0: 100}
    assert len(notes) == 1
    assert "config/consumerOffset.json.bak is used instead" in notes[0]


def test_empty_file_is_replaced_by_its_copy(golden: Golden) -> None:
    with StoreDir.open(golden.damaged("24-json-empty")) as store:
        assert "tiny" in store.topics().topics
        assert "the file is empty" in store.state.notes[0]


def test_two_damaged_copies_leave_nothing_and_are_told(golden: Golden) -> None:
    with StoreDir.open(golden.damaged("25-json-both-bad")) as store:
        assert store.offsets() == {}
        assert [note.rpartition("; ")[2] for note in store.state.notes] == [
            "nothing replaces it"
        ] * 2
