"""An index that several tasks make, a file each, has the bytes of one writer's; no Spark."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mqspark.jobs import rebuildindex
from mqspark.jobs.rebuildindex import Indexed, write_indexes
from mqspark.jobs.rebuildtarget import RebuildTarget
from mqspark.sources.store.log_tables import LogSplit
from mqspark.sources.store.spread import TaskRows, gather
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair import rebuild_index as writing
from storefmt.offline.views.geometry import IndexShape
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Run tasks here, and return how many there were each time."""
    found: list[int] = []

    def here(spark: object, rows: TaskRows) -> Any:
        found.append(len(rows.tasks))
        # In another order than they were planned in: nothing may depend on it.
        return SimpleNamespace(toArrow=lambda: gather(rows._replace(tasks=rows.tasks[::-1])))

    monkeypatch.setattr(rebuildindex, "spread", here)
    return found


def shaped(monkeypatch: pytest.MonkeyPatch, entry_count: int) -> None:
    for module in (rebuildindex, writing):
        monkeypatch.setattr(module, "shape_of", lambda store: IndexShape(50, entry_count))


def files_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "index").iterdir()}


def by_one(store: Path, out: Path) -> dict[str, bytes]:
    out.mkdir()
    with StoreDir.open(store) as opened:
        writing.write_index(opened, OutputDirectory(out))
    return files_of(out)


def by_many(store: Path, out: Path) -> tuple[dict[str, bytes], Indexed]:
    out.mkdir()
    (done,) = write_indexes(None, [RebuildTarget(0, str(store), str(out), True)])  # type: ignore[arg-type]
    assert [path.name for path in out.iterdir()] == ["index"]
    return files_of(out), done


def test_files_of_the_real_broker_are_made_a_task_each(
    golden: Golden, tasks: list[int], tmp_path: Path
) -> None:
    store = golden.store("basic")

    found, done = by_many(store, tmp_path / "out")

    assert found == files_of(store)
    assert (done.files, tasks[-1]) == (len(found), len(found))
    with StoreDir.open(store) as opened:
        assert done.entries == sum(view.entry_count - 1 for view in opened.index_files)


@pytest.mark.parametrize("room", [97, 746, 2236, 2237, 5000])
def test_any_size_of_files_gives_those_of_one_writer(
    golden: Golden, tasks: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    store = golden.store("basic")
    shaped(monkeypatch, room + 1)

    found, done = by_many(store, tmp_path / "many")

    expected = by_one(store, tmp_path / "one")
    assert found == expected
    assert done.files == len(expected)
    assert tasks[-1] > 1 or room > 2000


@pytest.mark.parametrize("name", ["kinds", "ipv6", "v5"])
def test_other_stores_have_one_file_or_more(
    golden: Golden, tasks: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store = golden.store(name)
    shaped(monkeypatch, 60)

    assert by_many(store, tmp_path / "many")[0] == by_one(store, tmp_path / "one")
    assert tasks[-1] > 1


def test_an_index_with_history_has_one_writer(
    golden: Golden, tasks: list[int], tmp_path: Path
) -> None:
    store = golden.store("retention")

    assert by_many(store, tmp_path / "many")[0] == by_one(store, tmp_path / "one")
    assert tasks[-1] == 1


def test_counts_that_do_not_agree_leave_it_to_one_writer(
    golden: Golden, tasks: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = golden.store("basic")
    right = rebuildindex._entries_of

    def wrong(batch: Any, with_tags: bool) -> int:
        return right(batch, with_tags) + 1

    monkeypatch.setattr(rebuildindex, "_entries_of", wrong)

    assert by_many(store, tmp_path / "many")[0] == files_of(store)
    assert tasks[-1] == 1


def test_splits_of_a_log_file_are_added_up(golden: Golden) -> None:
    target = RebuildTarget(3, str(golden.store("basic")), "", True)
    (first, *_) = rebuildindex._count_tasks([target]).tasks
    whole = first[1]
    middle = (whole.start + whole.end) // 2

    def counted(split: LogSplit) -> int:
        (batch,) = rebuildindex._counted((target, split))
        (row,) = batch.to_pylist()
        assert (row["store"], row["start"]) == (3, whole.start)
        return int(row["entries"])

    halves = [whole._replace(end=middle), whole._replace(start=middle)]
    assert sum(map(counted, halves)) == counted(whole) > 0
