"""Listing a store directory."""

import os
from pathlib import Path

import pytest

from storefmt.errors import StoreError
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import read_tree
from tests.golden import Golden


def test_every_file_of_a_store_has_its_place(kinds: Path) -> None:
    tree = read_tree(kinds)

    rows = [*tree.queues.values(), *tree.ext.values(), tree.log, tree.index]
    spans = [span.path for row in rows for span in row] + [
        span.path for span in (*tree.config, *tree.other)
    ]
    assert sorted(spans) == sorted(file for file in kinds.rglob("*") if file.is_file())
    assert tree.strangers == []
    assert ("%LMQ%kd-u1", 1) in tree.queues


def test_files_of_5x_are_no_strangers(golden: Golden) -> None:
    assert read_tree(golden.store("v5")).strangers == []


def test_strangers_are_told_by_place(tmp_path: Path) -> None:
    for name in (
        "commitlog/notes.txt",
        "consumequeue/T/0/x",
        "consumequeue/T/007/00000000000000000000",
        "consumequeue/stray",
        "index/readme",
        "nohup.out",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"abc")
    (tmp_path / "commitlog" / ("0" * 20)).mkdir()
    os.symlink("nowhere", tmp_path / "commitlog" / f"{1:020d}")

    tree = read_tree(tmp_path)

    assert {(tree.name(one.path), one.place) for one in tree.strangers} == {
        ("commitlog/notes.txt", "commitlog"),
        ("commitlog/" + "0" * 20, "commitlog"),
        (f"commitlog/{1:020d}", "commitlog"),
        ("consumequeue/T/0/x", "consumequeue"),
        ("consumequeue/T/007", "consumequeue"),
        ("consumequeue/stray", "consumequeue"),
        ("index/readme", "index"),
        ("nohup.out", "root"),
    }


def test_linked_directories_are_followed(ipv6: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    for part in ipv6.iterdir():
        os.symlink(part, store / part.name)

    assert len(read_tree(store).log) == len(read_tree(ipv6).log) == 1


def test_name_that_is_no_utf8_is_shown(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    os.close(os.open(os.fsencode(tmp_path) + b"/commitlog/\xff\xfe", os.O_CREAT))

    tree = read_tree(tmp_path)

    assert tree.name(tree.strangers[0].path) == "commitlog/\\udcff\\udcfe"


@pytest.mark.parametrize(
    "name",
    [
        f"commitlog/{1 << 20:020d}", f"consumequeue/T/0/{0:020d}", "consumequeue/T/0",
        "consumequeue/T", "index/20261121041855172", "config/topics.json", "checkpoint",
    ],
)  # fmt: skip
def test_link_below_a_part_is_not_followed(name: str, tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere" / "secret"
    (secret / "0").mkdir(parents=True) if name.endswith("/T") else secret.parent.mkdir()
    if not name.startswith("consumequeue") or name.endswith("0" * 20):
        secret.write_text('{"topicConfigTable":{"SECRET":{"topicName":"SECRET"}}}')
    else:
        secret.mkdir(exist_ok=True)
        (secret / f"{0:020d}").write_bytes(b"SECRET")
    store = tmp_path / "store"
    (store / "commitlog").mkdir(parents=True)
    link = store / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(secret)

    tree = read_tree(store)
    spans = [*tree.log, *tree.index, *tree.config, *tree.other]
    assert link not in [span.path for span in spans]
    assert tree.queues == {} or not any(tree.queues.values())
    with StoreView.open(store) as view:
        read = view.config("topics.json", str)
        assert read.value is None
        if name.startswith("config"):
            assert "not followed" in read.problems[0][1]
        if link.is_file():
            with pytest.raises(StoreError, match="a symbolic link, which may lead out"):
                view.open_files.open(link).read(0, 9)
