"""Opening directories that are stores, and others."""

from pathlib import Path

import pytest

from storefmt.errors import NotAStore, RecordDamaged
from storefmt.offline import StoreDir
from tests.golden import Golden


def test_what_is_no_store_says_what_to_give(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()

    for path, text in (
        (tmp_path / "gone", "no such directory"),
        (tmp_path / "file", "a file"),
        (tmp_path / "empty", "not a RocketMQ store"),
    ):
        with pytest.raises(NotAStore, match=text):
            StoreDir.open(path)


def test_part_of_a_store_names_the_store(golden: Golden) -> None:
    path = golden.store("ipv6")

    for part in ("commitlog", "config"):
        with pytest.raises(NotAStore, match=f"try {path}"):
            StoreDir.open(path / part)


def test_store_without_any_message_is_one(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()

    with StoreDir.open(tmp_path) as store:
        assert store.queues() == []
        assert store.info().message_count == 0
        assert list(store.records()) == []
        assert store.checkpoint() is None


def test_checkpoint_is_read(golden: Golden) -> None:
    with StoreDir.open(golden.store("basic")) as store:
        found = store.checkpoint()

    assert list(found[:3]) == golden.expected("basic")["scan"]["checkpoint"]


def test_short_checkpoint_is_damage(golden: Golden) -> None:
    with (
        StoreDir.open(golden.damaged("21-checkpoint-short")) as store,
        pytest.raises(RecordDamaged, match="10 bytes"),
    ):
        store.checkpoint()
