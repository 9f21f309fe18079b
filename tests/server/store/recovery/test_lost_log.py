"""A start that would empty the queues of a store in use, and an index of another log."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store.store_errors import StoreFailed
from remoting.codes import RequestCode
from remoting.headers import QueryMessage
from storefmt.formats.message import decode_records
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir
from tests.server.broker.desk import Desk, broker_settings, running

KEYS = "KEYS\1{}"


async def fill(desk: Desk, count: int, key: str) -> None:
    await desk.create_topic()
    for number in range(count):
        answer = await desk.send(b"x" * 100, properties=KEYS.format(f"{key}{number}"))
        assert answer.code == 0, answer


async def used(root: Path, count: int, key: str = "a") -> None:
    async with running(root) as desk:
        await fill(desk, count, key)


async def refusal(root: Path) -> str:
    with pytest.raises(StoreFailed) as refused:
        async with running(root):
            pass
    return str(refused.value)


async def test_start_beside_a_log_that_is_not_mounted_stops_and_changes_nothing(
    tmp_path: Path,
) -> None:
    await used(tmp_path / "s", 5)
    (tmp_path / "s" / "commitlog").rename(tmp_path / "unmounted")
    (tmp_path / "s" / "commitlog").mkdir()

    text = await refusal(tmp_path / "s")
    with StoreDir.open(tmp_path / "s") as store:
        kinds = {finding.kind for finding in verify(store).findings}
    (tmp_path / "s" / "commitlog").rmdir()
    (tmp_path / "unmounted").rename(tmp_path / "s" / "commitlog")

    assert "the log is empty where the queues point" in text
    assert "startWithLostCommitLog=true" in text
    assert "log_lost" in kinds
    async with running(tmp_path / "s") as desk:
        assert len(await desk.bodies()) == 5


async def test_start_beside_new_files_of_zeros_stops(tmp_path: Path) -> None:
    root = tmp_path / "s"
    await used(root, 5)
    (file,) = (root / "commitlog").iterdir()
    size = file.stat().st_size
    file.rename(tmp_path / "unmounted")
    with file.open("wb") as new:
        new.truncate(size)

    text = await refusal(root)
    (tmp_path / "unmounted").rename(file)

    assert "the log is empty where the queues point" in text
    async with running(root) as desk:
        assert len(await desk.bodies()) == 5


async def test_log_of_zeros_that_was_never_flushed_is_what_a_power_cut_leaves(
    tmp_path: Path,
) -> None:
    root = tmp_path / "s"
    await used(root, 5)
    (file,) = (root / "commitlog").iterdir()
    with file.open("r+b") as log:
        log.write(bytes(4096))
    (root / "checkpoint").unlink()

    async with running(root) as desk:
        assert await desk.bodies() == []


async def test_missing_queues_and_index_are_built_again_from_the_log(tmp_path: Path) -> None:
    await used(tmp_path, 5)
    shutil.rmtree(tmp_path / "consumequeue")
    shutil.rmtree(tmp_path / "index")

    async with running(tmp_path) as desk:
        assert len(await desk.bodies()) == 5
        assert desk.app.broker.store.recovery.rebuilt_queues


async def test_confirmed_start_empties_the_queues_and_the_log_that_is_back_has_all_its_keys(
    tmp_path: Path,
) -> None:
    root = tmp_path / "s"
    await used(root, 20, "old")
    (root / "commitlog").rename(tmp_path / "unmounted")
    settings = broker_settings(root)
    store = replace(settings.store, start_with_lost_commit_log=True)
    async with running(root, config=replace(settings, store=store)) as desk:
        assert await desk.bodies() == []
        await fill(desk, 30, "new")
        assert "the queues are emptied" in " ".join(desk.app.broker.store.recovery.notes)
    shutil.rmtree(root / "commitlog")
    (tmp_path / "unmounted").rename(root / "commitlog")
    async with running(root) as desk:
        for number in range(20):
            assert await keys_found(desk, f"old{number}") == 1


async def keys_found(desk: Desk, key: str) -> int:
    header = QueryMessage(topic="T", key=key, max_num=9, begin_timestamp=0, end_timestamp=1 << 62)
    answer = await desk.ask(RequestCode.QUERY_MESSAGE, header)
    return len(decode_records(answer.body)) if answer.code == 0 else 0
