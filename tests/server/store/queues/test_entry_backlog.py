"""The backlog returns the entries of evicted queues and uses its space again."""

import errno
import random
from pathlib import Path

import pytest

from mqserver.store.disk.disk import DiskFile
from mqserver.store.queues.entry_backlog import CHUNK_SIZE, Backlog
from storefmt.formats.consumequeue import ENTRY_SIZE
from tests.server.store.simdisk import SimDisk, refusing

PATH = Path("/store/backlog.tmp")


@pytest.fixture
def disk() -> SimDisk:
    disk = SimDisk()
    disk.mkdir(PATH.parent)
    return disk


def entries(number: int, count: int = 1) -> bytes:
    return b"".join(b"%020d" % (number + place) for place in range(count))


def test_entries_of_many_queues_come_out_as_they_went_in(disk: SimDisk) -> None:
    chance = random.Random(5)
    backlog, expected = Backlog(disk, PATH), dict[int, bytes]()
    places = dict.fromkeys(range(200), -1)
    for number in range(8_000):
        queue = chance.randrange(len(places))
        if chance.random() < 0.1:
            assert backlog.take(places[queue]) == expected.pop(queue, b"")
            places[queue] = -1
        else:
            new = entries(number, chance.choice((1, 1, 1, 2, 30)))
            expected[queue] = expected.get(queue, b"") + new
            places[queue] = backlog.add(places[queue], new)

    for queue, place in places.items():
        assert backlog.take(place) == expected.get(queue, b"")


def test_chunks_that_were_taken_out_are_used_again(disk: SimDisk) -> None:
    backlog = Backlog(disk, PATH)
    new = entries(0, 10)
    for _ in range(20):
        places = [backlog.add(-1, new) for _ in range(3 * CHUNK_SIZE // len(new))]
        assert all(backlog.take(place) == new for place in places)

    assert backlog.chunk_count <= 5


def test_more_than_a_chunk_holds_is_kept_in_several(disk: SimDisk) -> None:
    backlog = Backlog(disk, PATH)
    many = entries(0, 3 * CHUNK_SIZE // ENTRY_SIZE)

    place = backlog.add(backlog.add(-1, entries(7)), many)

    assert backlog.take(place) == entries(7) + many


def test_its_file_has_no_name_and_is_never_synced(disk: SimDisk) -> None:
    calls: list[str] = []
    disk.on_call = lambda name, path: calls.append(name)
    backlog = Backlog(disk, PATH)

    backlog.add(backlog.add(-1, entries(0, 3_000)), entries(3_000, 3_000))

    assert "pwrite" in calls
    assert not [name for name in calls if "sync" in name]
    assert disk.list(PATH.parent) == []


def test_a_disk_that_takes_nothing_leaves_all_in_memory(disk: SimDisk) -> None:
    disk.on_call = refusing()
    backlog, place = Backlog(disk, PATH), -1
    for number in range(0, 10_000, 10):
        place = backlog.add(place, entries(number, 10))

    assert backlog.take(place) == entries(0, 10_000)


def test_a_disk_that_cannot_be_read_takes_nothing_out(
    disk: SimDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    backlog, place = Backlog(disk, PATH), -1
    for number in range(0, 10_000, 10):
        place = backlog.add(place, entries(number, 10))

    def broken(file: DiskFile, size: int, pos: int) -> bytes:
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patched:
        patched.setattr(type(backlog._file), "pread", broken)
        with pytest.raises(OSError, match="broken"):
            backlog.take(place)

    assert backlog.take(place) == entries(0, 10_000)
