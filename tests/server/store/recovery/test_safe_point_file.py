"""Changes of dispatch.json that wait for a write share the next one, and its failure."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from mqserver.store.disk.disk import RealDisk
from mqserver.store.recovery import safe_point_file
from mqserver.store.recovery.safe_point import SafePoint, read_safe_point, write_safe_point
from mqserver.store.recovery.safe_point_file import SafePointFile
from storefmt.paths import StorePaths
from tests.waiting import wait

COUNT = 20


class GatedWrite:
    """Writes the file when it may, and fails as often as it is told to."""

    def __init__(self) -> None:
        self.began, self.may = Event(), Event()
        self.count = self.fail_count = 0

    def __call__(self, disk: RealDisk, paths: StorePaths, point: SafePoint) -> None:
        self.began.set()
        assert self.may.wait(60)
        self.count += 1
        if self.count <= self.fail_count:
            raise OSError("refused")
        write_safe_point(disk, paths, point)


def delete_many(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, fail_count: int = 0
) -> tuple[GatedWrite, list[Future[None]]]:
    """Delete a topic, and others while that is being written; return when all is done."""
    write = GatedWrite()
    write.fail_count = fail_count
    monkeypatch.setattr(safe_point_file, "write_safe_point", write)
    file = SafePointFile(RealDisk(), StorePaths(root), SafePoint())
    with ThreadPoolExecutor(COUNT + 1) as threads:
        done = [threads.submit(file.forget_topic, "first", 1)]
        assert write.began.wait(60)
        done += [threads.submit(file.forget_topic, f"t{number}", 1) for number in range(COUNT)]
        wait(lambda: len(file._next.changes) == COUNT)
        write.may.set()
    return write, done


def test_changes_that_wait_for_a_write_share_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, done = delete_many(tmp_path, monkeypatch)

    assert write.count == 2
    assert [one.exception() for one in done] == [None] * (COUNT + 1)
    point = read_safe_point(RealDisk(), StorePaths(tmp_path))
    assert len(point.deleted_topics) == COUNT + 1


def test_a_write_that_fails_fails_for_all_who_share_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, done = delete_many(tmp_path, monkeypatch, fail_count=2)

    assert write.count == 2
    assert [str(one.exception()) for one in done] == ["refused"] * (COUNT + 1)
