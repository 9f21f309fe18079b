"""Following a log that grows, rolls, is torn and is shortened while it is read."""

import shutil
from pathlib import Path

from storefmt.formats.message import blank
from storefmt.offline import StoreDir
from storefmt.offline.views.follow import POLLS_TO_WAIT, FollowedRecord, Follower, SkippedBytes
from tests.golden import Golden
from tests.records import record_bytes
from tests.storefmt.broken import overwrite

FILE_SIZE = 4096


def record_at(log_offset: int, *, properties: bytes = b"TAGS\x01a") -> bytes:
    return record_bytes(queue_offset=log_offset, log_offset=log_offset, properties=properties)


def log_file(directory: Path, start: int) -> Path:
    path = directory / f"{start:020d}"
    path.write_bytes(bytes(FILE_SIZE))
    return path


def offsets(follower: Follower) -> list[int]:
    return [found.log_offset for found in follower.poll() if isinstance(found, FollowedRecord)]


def test_a_store_followed_from_its_start_gives_every_record(golden: Golden) -> None:
    path = golden.store("basic")
    follower = Follower(path / "commitlog", 0)

    found = [item for item in follower.poll() if isinstance(item, FollowedRecord)]

    lines = [line for line in golden.jsonl("basic", "records") if line["kind"] == "msg"]
    assert [item.log_offset for item in found] == [line["phy"] for line in lines]
    with StoreDir.open(path) as store:
        assert follower.log_offset == store.log.end
    assert list(follower.poll()) == []


def test_a_record_is_seen_once_and_only_when_it_is_whole(tmp_path: Path) -> None:
    path, data = log_file(tmp_path, 0), record_at(0)
    follower = Follower(tmp_path, 0)

    for size in range(1, len(data)):
        overwrite(path, 0, data[:size])
        assert offsets(follower) == []
    overwrite(path, 0, data)

    assert offsets(follower) == [0]
    assert offsets(follower) == []


def test_a_torn_end_is_waited_for(tmp_path: Path) -> None:
    path, data = log_file(tmp_path, 0), record_at(0, properties=b"TAGS\x01abcdefgh")
    follower = Follower(tmp_path, 0)

    overwrite(path, 0, data[:-6])
    torn = offsets(follower)
    overwrite(path, 0, data)

    assert torn == []
    assert offsets(follower) == [0]


def test_the_next_file_is_followed_after_the_blank(tmp_path: Path) -> None:
    first = log_file(tmp_path, 0)
    data = record_at(0)
    follower = Follower(tmp_path, 0)
    overwrite(first, 0, data + blank(FILE_SIZE - len(data)))
    before = offsets(follower)

    second = log_file(tmp_path, FILE_SIZE)
    empty = offsets(follower)
    overwrite(second, 0, record_at(FILE_SIZE))

    assert before == [0]
    assert empty == []
    assert offsets(follower) == [FILE_SIZE]


def test_deleted_files_are_told_and_passed_over(tmp_path: Path) -> None:
    follower = Follower(tmp_path, 100)
    overwrite(log_file(tmp_path, FILE_SIZE), 0, record_at(FILE_SIZE))

    found = list(follower.poll())

    assert isinstance(found[0], SkippedBytes)
    assert found[0].log_offset == 100
    assert found[0].size == FILE_SIZE - 100
    assert isinstance(found[1], FollowedRecord)
    assert found[1].log_offset == FILE_SIZE


def test_damage_is_passed_over_after_a_while_when_records_follow(tmp_path: Path) -> None:
    path, size = log_file(tmp_path, 0), len(record_at(0))
    for number in range(3):
        overwrite(path, number * size, record_at(number * size))
    overwrite(path, size + 4, b"\xff\xff")
    follower = Follower(tmp_path, 0)

    polls = [list(follower.poll()) for _ in range(POLLS_TO_WAIT + 1)]

    assert [item.log_offset for item in polls[0]] == [0]
    assert all(poll == [] for poll in polls[1:-1])
    last = polls[-1]
    assert isinstance(last[0], SkippedBytes)
    assert [item.log_offset for item in last] == [size, 2 * size]


def test_damage_at_the_end_is_waited_for(tmp_path: Path) -> None:
    overwrite(log_file(tmp_path, 0), 0, b"\x7f" * 64)
    follower = Follower(tmp_path, 0)

    assert [list(follower.poll()) for _ in range(2 * POLLS_TO_WAIT)] == [[]] * 2 * POLLS_TO_WAIT


def test_a_directory_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "commitlog", 0)
    nothing = list(follower.poll())

    (tmp_path / "commitlog").mkdir()
    overwrite(log_file(tmp_path / "commitlog", 0), 0, record_at(0))

    assert nothing == []
    assert offsets(follower) == [0]


def test_nothing_is_left_open(tmp_path: Path) -> None:
    overwrite(log_file(tmp_path, 0), 0, record_at(0))
    follower = Follower(tmp_path, 0)
    list(follower.poll())

    shutil.rmtree(tmp_path)

    assert list(follower.poll()) == []
