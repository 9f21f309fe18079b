"""Copies of a multi-dispatch: verify and rebuild make the same decisions as a start."""

import shutil
from pathlib import Path

import pytest

from mqserver.store.results import PutMessage
from mqserver.store.store_config import StoreConfig
from storefmt.offline import StoreDir, verify
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.rebuild import RebuildResult, rebuild
from tests.server.store.stores import (
    START_MS,
    abandon,
    copied,
    message,
    open_store,
    put_and_write,
    small_config,
    tree,
)


def dispatching(root: Path, *, is_on: bool = True) -> StoreConfig:
    return small_config(root, log_file_size=1 << 20, enable_multi_dispatch=is_on, enable_lmq=is_on)


def written(config: StoreConfig, messages: list[PutMessage]) -> None:
    """Put messages, then start once more after a kill, and stop."""
    store = open_store(config)
    put_and_write(store, messages)
    abandon(store)
    open_store(config).close(START_MS)


def rebuilt(root: Path, out: Path) -> RebuildResult:
    with StoreDir.open(root) as store:
        return rebuild(store, OutputDirectory.make(out, source=root))


def queue_findings(root: Path) -> list[str]:
    with StoreDir.open(root) as store:
        found = [one.kind for one in verify(store, deep=True).findings]
    return [kind for kind in found if kind.startswith("queue")]


def has_light_queues(root: Path) -> None:
    (root / "config").mkdir(exist_ok=True)
    (root / "config/lmqConsumerOffset.json").write_text("{}")


@pytest.mark.parametrize("behind", [0, 2])
@pytest.mark.parametrize("offsets", ["0", "1", "3", "6", "9"])
def test_what_a_producer_says_changes_no_queue_of_a_broker_that_makes_no_copies(
    tmp_path: Path, offsets: str, behind: int
) -> None:
    root = tmp_path / "store"
    own = [message(number, queue_id=1) for number in range(6 + behind)]
    strays = [
        copied(50 + number, "topic-a", offsets=str(int(offsets) + number), topic="topic-b")
        for number in range(2)
    ]
    nobody = copied(52, "nobody", offsets="0", topic="topic-b")

    written(dispatching(root, is_on=False), [*own[:6], *strays, nobody, *own[6:]])
    found = queue_findings(root)
    done = rebuilt(root, tmp_path / "out")

    assert found == []
    assert tree(tmp_path / "out", "consumequeue") == tree(root, "consumequeue")
    assert [note for note in done.notes if "INNER_MULTI_DISPATCH" in note] == [
        f"topic {topic} is named by INNER_MULTI_DISPATCH of {count} records, but no old queue "
        "shows that a broker made these entries; they get no entry"
        for topic, count in (("nobody", 1), ("topic-a", 2))
    ]


def test_strays_of_a_time_without_copies_make_no_queue_start_again(tmp_path: Path) -> None:
    root = tmp_path / "store"
    own = [message(number, queue_id=1) for number in range(6)]
    strays = [
        copied(50 + number, "topic-a", offsets=str(number), topic="topic-b") for number in range(2)
    ]
    written(dispatching(root, is_on=False), [*own, *strays])
    has_light_queues(root)
    before = tree(root, "consumequeue")

    found = queue_findings(root)
    rebuilt(root, tmp_path / "out")
    (root / "dispatch.json").unlink()
    open_store(dispatching(root)).close(START_MS)

    assert found == []
    assert tree(tmp_path / "out", "consumequeue") == before
    assert tree(root, "consumequeue") == before


@pytest.mark.parametrize("lost", [None, "topic-c", "%LMQ%a"], ids=["none", "one", "light"])
def test_copies_that_a_broker_made_are_made_again(tmp_path: Path, lost: str | None) -> None:
    root = tmp_path / "store"
    written(
        dispatching(root),
        [copied(n, ("%LMQ%a,topic-c", "topic-a,topic-c", "%LMQ%a")[n % 3]) for n in range(30)],
    )
    has_light_queues(root)
    before = tree(root, "consumequeue")
    if lost is not None:
        shutil.rmtree(root / "consumequeue" / lost)

    done = rebuilt(root, tmp_path / "out")

    assert tree(tmp_path / "out", "consumequeue") == before
    assert not any("INNER_MULTI_DISPATCH" in note for note in done.notes)


@pytest.mark.parametrize("is_light", [True, False])
def test_copies_behind_one_that_is_there_are_made_again(tmp_path: Path, is_light: bool) -> None:
    root = tmp_path / "store"
    written(dispatching(root), [copied(n, "topic-c") for n in range(30)])
    if is_light:
        has_light_queues(root)
    before = tree(root, "consumequeue")
    files = sorted((root / "consumequeue/topic-c/1").iterdir())
    for file in files[1:]:
        file.unlink()

    found = queue_findings(root)
    rebuilt(root, tmp_path / "out")

    # Without light queues nothing shows that the others had entries, too.
    assert bool(found) is is_light
    assert tree(tmp_path / "out", "consumequeue") == before
