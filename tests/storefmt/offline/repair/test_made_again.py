"""A topic that was deleted and made again: its old records stay in the log, and are no loss.

    log     A0 A1 A2 │ deleteTopic │ A0' A1'          topic A, queue 0; ' is the new topic
    queue                            A0' A1'          its directory is made anew

The layouts are those that the real 4.9.7 broker leaves: ``tests/interop/test_made_again.py``
makes them there. A directory of a queue that is not used again stays away, the directory of
the topic stays in any case.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from storefmt.config.tables import TopicConfig, TopicTable
from storefmt.formats.consumequeue import CQ_ENTRY
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import decode_record
from storefmt.offline import Finding, Severity
from tests.storefmt.offline.stores import repaired, report_of
from tests.storefmt.offline.tiny import LOG_FILE_SIZE, QUEUE_FILE_SIZE, record_bytes

Send = tuple[str, int, int]
"""Topic, queue id and queue offset of one message."""
OLD: Sequence[Send] = (("A", 0, 0), ("A", 0, 1), ("A", 0, 2), ("A", 1, 0), ("A", 1, 1))


def made(root: Path, old: Sequence[Send], new: Sequence[Send]) -> Path:
    """Write a store in which only the messages of ``new`` have entries."""
    data, entries = b"", dict[tuple[str, int], bytes]()
    for number, (topic, queue_id, queue_offset) in enumerate([*old, *new]):
        raw = record_bytes(number, len(data), topic, queue_id, queue_offset)
        entry = CQ_ENTRY.pack(len(data), len(raw), tags_code(decode_record(raw).tags))
        if number >= len(old):
            entries[topic, queue_id] = entries.get((topic, queue_id), b"") + entry
        data += raw
    (root / "commitlog").mkdir(parents=True)
    size = -(-len(data) // LOG_FILE_SIZE) * LOG_FILE_SIZE
    (root / "commitlog" / f"{0:020d}").write_bytes(data.ljust(size, b"\0"))
    topics = {topic for topic, _, _ in [*old, *new]}
    for topic in topics:
        (root / "consumequeue" / topic).mkdir(parents=True)
    for (topic, queue_id), row in entries.items():
        queue = root / "consumequeue" / topic / str(queue_id)
        queue.mkdir()
        (queue / f"{0:020d}").write_bytes(row.ljust(QUEUE_FILE_SIZE, b"\0"))
    (root / "config").mkdir()
    table = TopicTable({name: TopicConfig(topic_name=name) for name in topics})
    (root / "config" / "topics.json").write_text(table.encode())
    (root / "checkpoint").write_bytes(bytes(4096))
    return root


def found_in(root: Path) -> list[Finding]:
    return [one for one in report_of(root, deep=True).findings if one.kind != "index_missing"]


def counts(findings: list[Finding]) -> list[tuple[str, Severity, int]]:
    return sorted((one.kind, one.severity, one.count) for one in findings)


def test_fewer_messages_than_before_the_deletion_are_no_damage(tmp_path: Path) -> None:
    root = made(tmp_path / "s", OLD, [("A", 0, 0), ("A", 1, 0), ("B", 0, 0)])

    found = found_in(root)

    assert counts(found) == [
        ("superseded", Severity.INFO, 1),
        ("superseded", Severity.INFO, 1),
        ("topic_made_again", Severity.INFO, 1),
        ("topic_made_again", Severity.INFO, 2),
    ]


def test_a_queue_that_was_not_used_again_is_no_damage(tmp_path: Path) -> None:
    root = made(tmp_path / "s", OLD, [("A", 0, 0)])

    found = found_in(root)

    missing = [one for one in found if one.expected.startswith("there is no queue A 1")]
    assert [(one.kind, one.severity, one.count) for one in missing] == [
        ("topic_made_again", Severity.INFO, 2)
    ]
    assert "store rebuild" in missing[0].hint
    assert {one.severity for one in found} == {Severity.INFO}


def test_a_topic_without_a_message_since_it_was_made_again_is_no_damage(tmp_path: Path) -> None:
    root = made(tmp_path / "s", OLD, [("B", 0, 0)])

    found = found_in(root)

    assert counts(found) == [
        ("topic_made_again", Severity.INFO, 2),
        ("topic_made_again", Severity.INFO, 3),
    ]


def test_a_topic_made_again_twice_is_no_damage(tmp_path: Path) -> None:
    second = [("A", 0, 0), ("A", 0, 1), ("A", 1, 0)]
    root = made(tmp_path / "s", [*OLD, *second], [("A", 0, 0)])

    found = found_in(root)

    assert {one.kind for one in found} == {"superseded", "topic_made_again"}
    assert {one.severity for one in found} == {Severity.INFO}


def test_a_lost_tail_of_the_queue_that_was_made_again_is_damage(tmp_path: Path) -> None:
    root = made(tmp_path / "s", OLD, [("A", 0, 0), ("A", 0, 1), ("A", 1, 0), ("B", 0, 0)])
    path = root / "consumequeue" / "A" / "0" / f"{0:020d}"
    path.write_bytes(path.read_bytes()[:20].ljust(QUEUE_FILE_SIZE, b"\0"))

    found = found_in(root)

    worse = [one for one in found if one.severity is not Severity.INFO]
    assert [(one.kind, one.count) for one in worse] == [("queue_behind", 1)]


def test_a_lost_queue_of_a_topic_that_began_before_it_is_damage(tmp_path: Path) -> None:
    # Queue 1 has a record behind the first one of queue 0: the directory was lost.
    root = made(tmp_path / "s", OLD, [("A", 0, 0), ("A", 1, 0), ("A", 0, 1)])
    shutil.rmtree(root / "consumequeue" / "A" / "1")

    found = found_in(root)

    worse = [one for one in found if one.severity is not Severity.INFO]
    assert {one.kind for one in worse} == {"queue_missing"}


@pytest.mark.parametrize("topic_stays", [True, False])
def test_a_lost_queue_of_a_topic_that_was_never_deleted_is_damage(
    topic_stays: bool, tmp_path: Path
) -> None:
    root = made(tmp_path / "s", [], [("A", 0, 0), ("A", 1, 0), ("B", 0, 0)])
    shutil.rmtree(root / "consumequeue" / ("A/1" if topic_stays else "A"))

    found = found_in(root)

    assert {one.kind for one in found} == {"queue_missing"}
    assert {one.severity for one in found} == {Severity.ERROR}


def test_repair_of_such_a_store_gives_one_that_is_in_order(tmp_path: Path) -> None:
    root = made(tmp_path / "s", OLD, [("A", 0, 0), ("B", 0, 0)])

    done = repaired(root, tmp_path / "out")

    assert {one.severity for one in found_in(tmp_path / "out")} == {Severity.INFO}
    assert done.lost_count == 0
    assert any("queue A 1 had no directory" in action.reason for action in done.actions)
    kept = root / "consumequeue" / "A" / "0" / f"{0:020d}"
    again = tmp_path / "out" / kept.relative_to(root)
    assert again.read_bytes() == kept.read_bytes()
