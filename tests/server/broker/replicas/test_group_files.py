"""What a broker of a group keeps on its disk."""

from pathlib import Path

import pytest

from mqserver.broker.config import BrokerConfig, BrokerRole
from mqserver.broker.replicas.group_files import GroupFiles, begin_as_slave, epoch_cache_of
from mqserver.broker.replicas.role import Identity
from storefmt.config.master_epochs import OFFSET_MAX, EpochStart
from storefmt.errors import ConfigDamaged


def files(root: Path) -> GroupFiles:
    return GroupFiles(root, cluster_name="C", broker_name="g")


def names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


def test_a_new_store_has_nothing(tmp_path: Path) -> None:
    found = files(tmp_path / "store")

    assert (found.identity, found.epochs, found.heard) == (Identity(), [], 0)


def test_the_identity_is_written_as_java_writes_it(tmp_path: Path) -> None:
    first = files(tmp_path)
    first.save_trial_id(2, "10.0.0.1:10911;7")

    assert (tmp_path / "brokerIdentity-temp").read_text() == "C#g#2#10.0.0.1:10911;7"
    assert files(tmp_path).identity == Identity(None, 2, "10.0.0.1:10911;7")
    first.save_id(2)
    assert (tmp_path / "brokerIdentity").read_text() == "C#g#2"
    assert names(tmp_path) == {"brokerIdentity"}
    assert files(tmp_path).identity == Identity(2)


def test_epochs_are_written_as_java_writes_them(tmp_path: Path) -> None:
    found = files(tmp_path)
    found.begin_epoch(1, 0)
    found.begin_epoch(2, 256632)
    found.begin_epoch(2, 256632)

    text = (tmp_path / "epochFileCheckpoint").read_text()
    assert text == "2\n891011744\n1-0\n2-256632\n"
    assert files(tmp_path).epochs == [EpochStart(1, 0), EpochStart(2, 256632)]


@pytest.mark.parametrize(
    ("log_end", "left"), [(0, [1]), (99, [1]), (100, [1, 2]), (500, [1, 2])], ids=str
)
def test_epochs_behind_the_end_of_the_log_are_dropped(
    tmp_path: Path, log_end: int, left: list[int]
) -> None:
    found = files(tmp_path)
    found.begin_epoch(1, 0)
    found.begin_epoch(2, 100)

    found.log_ends_at(log_end)

    assert [entry.epoch for entry in found.epochs] == left
    assert files(tmp_path).epochs == found.epochs


def test_without_epochs_there_is_no_file(tmp_path: Path) -> None:
    found = files(tmp_path)
    found.begin_epoch(3, 100)
    found.log_ends_at(50)

    assert names(tmp_path) == set()
    assert files(tmp_path).epochs == []


@pytest.mark.parametrize(("heard", "epoch", "expected"), [(3, 2, 3), (2, 5, 5)])
def test_the_highest_epoch_is_known_from_either_file(
    tmp_path: Path, heard: int, epoch: int, expected: int
) -> None:
    found = files(tmp_path)
    found.begin_epoch(epoch, 0)
    found.save_heard(heard)

    assert files(tmp_path).heard == expected


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("brokerIdentity", "C#g", "expected cluster#broker#id"),
        ("brokerIdentity", "C#h#1", "belongs to broker 'h'"),
        ("brokerIdentity-temp", "D#g#1#x;1", "of cluster 'D'"),
        ("masterEpochHeard", "", "expected an epoch"),
        ("masterEpochHeard", "-1", "expected an epoch"),
        ("masterEpochHeard", "2147483648", "expected an epoch"),
        ("epochFileCheckpoint", "1\n5\n1-0\n", "CRC"),
    ],
)
def test_a_damaged_file_ends_the_start(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(ConfigDamaged, match=problem):
        files(tmp_path)


def test_every_broker_begins_as_a_slave() -> None:
    config = BrokerConfig(broker_role=BrokerRole.SYNC_MASTER)

    begin_as_slave(config, Identity(7))
    assert (config.broker_role, config.broker_id) == (BrokerRole.SLAVE, 7)
    begin_as_slave(config, Identity())
    assert config.broker_id == 1


def test_tools_are_told_where_epochs_end() -> None:
    config = BrokerConfig(broker_name="g", broker_cluster_name="C", broker_id=2)
    epochs = [EpochStart(1, 0), EpochStart(3, 100)]

    cache = epoch_cache_of(config, epochs, log_end=150)

    assert [entry.end_offset for entry in cache.epoch_list] == [100, OFFSET_MAX]
    assert (cache.broker_id, cache.max_offset) == (2, 150)
    assert epoch_cache_of(config, [], log_end=0).epoch_list == []
