"""The content of ha.json, and a log that is cut where it diverges."""

import os
from pathlib import Path
from typing import Any

import pytest

from mqserver.broker.config import BrokerRole
from mqserver.broker.ha.ha_file import (
    FILE_NAME,
    HaFile,
    before_start,
    before_start_in_group,
    copy_tail,
    cut_log,
)
from storefmt.errors import ConfigDamaged
from storefmt.formats.message import Record
from storefmt.offline.views.storedir import StoreDir
from storefmt.paths import StorePaths
from tests.server.broker.desk import broker_settings
from tests.server.store.stores import START_MS, bodies, open_store, put_all, small_config


def test_file_says_what_was_written_and_goes_with_nothing_to_say(tmp_path: Path) -> None:
    file = HaFile.read(tmp_path)
    assert (file.parts_at, file.promoted) == (None, None)
    file.replace(parts_at=77)
    assert HaFile.read(tmp_path).parts_at == 77
    HaFile.read(tmp_path).replace(promoted=BrokerRole.SYNC_MASTER)
    assert HaFile.read(tmp_path).promoted is BrokerRole.SYNC_MASTER
    HaFile.read(tmp_path).replace()
    assert not (tmp_path / FILE_NAME).exists()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failure_while_it_is_written_leaves_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*words: object) -> None:
        raise OSError(5, "told to fail")

    HaFile.read(tmp_path).replace(parts_at=77)
    with monkeypatch.context() as patched:
        patched.setattr(os if step == "fsync" else Path, step, fail)
        with pytest.raises(OSError, match="told to fail"):
            HaFile.read(tmp_path).replace(promoted=BrokerRole.SYNC_MASTER)

    assert HaFile.read(tmp_path).parts_at == 77
    HaFile.read(tmp_path).replace(promoted=BrokerRole.SYNC_MASTER)
    assert {path.name for path in tmp_path.iterdir()} == {FILE_NAME}


@pytest.mark.parametrize("text", ["{", "[]", '{"promoted": "KING"}'])
def test_file_that_cannot_be_read_ends_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(ConfigDamaged, match="repair it or delete it"):
        HaFile.read(tmp_path)


def test_promotion_is_forgotten_once_the_configuration_says_it(tmp_path: Path) -> None:
    HaFile.read(tmp_path).replace(promoted=BrokerRole.ASYNC_MASTER)
    slave = broker_settings(tmp_path, broker_role=BrokerRole.SLAVE, broker_id=1)
    before_start(slave)
    assert (slave.broker_role, slave.broker_id) == (BrokerRole.ASYNC_MASTER, 0)
    before_start(broker_settings(tmp_path))
    assert not (tmp_path / FILE_NAME).exists()


def test_demotion_is_forgotten_once_the_configuration_says_it(tmp_path: Path) -> None:
    HaFile.read(tmp_path).replace(demoted=3)
    master = broker_settings(tmp_path)
    before_start(master)
    assert (master.broker_role, master.broker_id) == (BrokerRole.SLAVE, 3)

    slave = broker_settings(tmp_path, broker_role=BrokerRole.SLAVE, broker_id=2)
    before_start(slave)

    assert (slave.broker_role, slave.broker_id) == (BrokerRole.SLAVE, 2)
    assert not (tmp_path / FILE_NAME).exists()


@pytest.mark.parametrize("order", [{"promoted": BrokerRole.SYNC_MASTER}, {"demoted": 3}])
def test_a_group_with_a_controller_forgets_promotion_and_demotion(
    tmp_path: Path, order: dict[str, Any]
) -> None:
    HaFile.read(tmp_path).replace(**order, parts_at=4096)

    file = before_start_in_group(broker_settings(tmp_path, broker_role=BrokerRole.SLAVE))

    assert (file.promoted, file.demoted, file.parts_at) == (None, None, 4096)
    assert HaFile.read(tmp_path) == file


def filled(root: Path, count: int) -> list[int]:
    """Make a store with messages; return their log offsets."""
    store = open_store(small_config(root))
    places = [place.log_offset for place in put_all(store, range(count))]
    store.close(START_MS)
    return places


def test_tail_is_cut_by_an_order_and_the_demotion_holds(tmp_path: Path) -> None:
    places = filled(tmp_path, 10)
    HaFile.read(tmp_path).replace(parts_at=places[4], demoted=1, cut_tail=True)

    file = before_start(broker_settings(tmp_path))

    assert (file.parts_at, file.demoted, file.cut_tail) == (None, 1, False)
    assert HaFile.read(tmp_path).parts_at == places[4]
    assert file.store_opened() == HaFile.read(tmp_path)
    assert len(messages_in(tmp_path / "tails" / f"{places[4]:020d}")) == 6
    assert len(messages_in(tmp_path)) == 4


def messages_in(directory: Path) -> list[int]:
    """Return the log offsets of the messages in a directory of a store."""
    with StoreDir.open(directory) as opened:
        return [item.log_offset for item in opened.records() if isinstance(item, Record)]


@pytest.mark.parametrize("number", [0, 1, 40, 99])
def test_copy_of_a_tail_has_its_messages_at_their_places(tmp_path: Path, number: int) -> None:
    places = filled(tmp_path, 100)
    assert len(list((tmp_path / "commitlog").iterdir())) > 2

    first = copy_tail(StorePaths(tmp_path), places[number])
    second = copy_tail(StorePaths(tmp_path), places[number])

    assert first.name == f"{places[number]:020d}"
    assert second.name == f"{first.name}-2"
    for copy in (first, second):
        assert messages_in(copy) == places[number:]
    assert messages_in(tmp_path) == places


def test_nothing_is_cut_where_the_copy_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: object) -> None:
        raise OSError(28, "told to fail")

    places = filled(tmp_path, 10)
    HaFile.read(tmp_path).replace(parts_at=places[4], cut_tail=True)
    slave = broker_settings(tmp_path, broker_role=BrokerRole.SLAVE, broker_id=1)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="told to fail"):
            before_start(slave)

    assert messages_in(tmp_path) == places
    assert HaFile.read(tmp_path).cut_tail
    before_start(slave)
    assert messages_in(tmp_path) == places[:4]


@pytest.mark.parametrize("number", [0, 1, 40, 99])
def test_cut_log_ends_there_and_goes_on(tmp_path: Path, number: int) -> None:
    places = filled(tmp_path, 100)

    assert cut_log(StorePaths(tmp_path), places[number]) > 0

    store = open_store(small_config(tmp_path), is_cut=True)
    assert store.written_offset <= places[number]
    assert len(bodies(store, "topic-a", 0)) + len(bodies(store, "topic-a", 1)) == number
    put_all(store, range(number, 100))
    assert store.max_offset("topic-a", 0) == 50
    store.close(START_MS)
