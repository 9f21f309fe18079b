"""The records of groups in a file: what is on disk, and what a failed write leaves."""

from pathlib import Path

import pytest

from mqserver.controller import groups_file
from mqserver.controller.group_store import StoreUnavailable
from mqserver.controller.groups_file import GroupsFile
from tests.server.controller.examples import LED, PAIR


async def test_records_are_there_after_a_restart(tmp_path: Path) -> None:
    store = GroupsFile(tmp_path / "deep" / "controller")
    await store.open()
    assert await store.swap("g", PAIR, revision=0)
    assert await store.swap("g", LED, revision=(await store.read("g")).revision)
    await store.close()

    again = GroupsFile(tmp_path / "deep" / "controller")
    await again.open()
    assert (await again.read("g")).record == LED
    assert await again.read_all() == [LED]
    assert await again.swap("g", None, revision=(await again.read("g")).revision)
    assert await again.read_all() == []
    await again.close()


async def test_a_record_that_changed_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    store = GroupsFile(tmp_path)
    await store.open()
    await store.swap("g", PAIR, revision=0)

    assert not await store.swap("g", LED, revision=0)
    assert (await store.read("g")).record == PAIR
    await store.close()


async def test_a_second_controller_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    first, second = GroupsFile(tmp_path), GroupsFile(tmp_path)
    await first.open()

    with pytest.raises(StoreUnavailable, match="set another controllerStorePath"):
        await second.open()
    await first.close()
    await second.open()
    await second.close()


async def test_a_failed_write_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = GroupsFile(tmp_path)
    await store.open()
    await store.swap("g", PAIR, revision=0)
    revision = (await store.read("g")).revision

    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(groups_file, "write_atomic", full)
        with pytest.raises(StoreUnavailable, match="No space left"):
            await store.swap("g", LED, revision=revision)

    assert (await store.read("g")).record == PAIR
    assert await store.swap("g", LED, revision=revision)
    await store.close()


async def test_a_damaged_file_ends_the_start_and_keeps_its_directory_free(tmp_path: Path) -> None:
    (tmp_path / "groups.json").write_text('{"groups":{"g":{}}}')

    with pytest.raises(StoreUnavailable, match=r"groups\.json"):
        await GroupsFile(tmp_path).open()

    (tmp_path / "groups.json").unlink()
    for damaged in tmp_path.glob("*.damaged"):
        damaged.unlink()
    store = GroupsFile(tmp_path)
    await store.open()
    await store.close()
