"""The table of standings, and what epoch.json says."""

import itertools
import os
from pathlib import Path

import pytest

from mqserver.broker.ha.epoch import (
    FILE_NAME,
    NEXT,
    START,
    EpochEvent,
    EpochFile,
    EpochsExhausted,
    Standing,
    step,
)
from storefmt.config.epochs import EPOCH_MAX
from storefmt.errors import BadCall, ConfigDamaged


@pytest.mark.parametrize(
    ("is_master", "epoch", "heard", "standing"),
    [
        (False, 0, 0, Standing.FOLLOWS),
        (False, 5, 5, Standing.FOLLOWS),
        (False, 0, 5, Standing.FOLLOWS),
        (False, 5, 9, Standing.FOLLOWS),
        (True, 0, 0, Standing.ASKING),
        (True, 5, 5, Standing.ASKING),
        (True, 0, 5, Standing.FENCED),
        (True, 5, 9, Standing.FENCED),
    ],
)
def test_standing_at_the_start_follows_from_role_and_epochs(
    tmp_path: Path, is_master: bool, epoch: int, heard: int, standing: Standing
) -> None:
    EpochFile(tmp_path / FILE_NAME).replace(epoch=epoch, heard=heard)

    file = EpochFile.read(tmp_path)

    assert START[is_master, file.is_outranked] is standing


@pytest.mark.parametrize(("standing", "event"), list(itertools.product(Standing, EpochEvent)))
def test_each_pair_is_in_the_table_or_an_error(standing: Standing, event: EpochEvent) -> None:
    if (standing, event) in NEXT:
        assert step(standing, event) is NEXT[standing, event]
        return

    with pytest.raises(BadCall, match=f"{standing.name} cannot take {event.name}"):
        step(standing, event)


def test_only_an_order_ends_being_fenced() -> None:
    ends = {
        event for event in EpochEvent if NEXT.get((Standing.FENCED, event)) is not Standing.FENCED
    }

    assert ends == {EpochEvent.PROMOTED, EpochEvent.DEMOTED}


def test_next_epoch_is_higher_than_all_that_is_known_whatever_the_clock_says() -> None:
    file = EpochFile(Path("epoch.json"), epoch=7, heard=20)

    assert file.next_epoch(1_000) == 1_000
    assert file.next_epoch(3) == 21


def test_next_epoch_cannot_overflow() -> None:
    file = EpochFile(Path("store/epoch.json"), epoch=7, heard=EPOCH_MAX)

    with pytest.raises(EpochsExhausted, match="mqadmin store epoch store --mend --epoch 1000"):
        file.next_epoch(1_000)


@pytest.mark.parametrize("heard", ["9223372036854775808", "9" * 5_000, "-1"])
def test_start_with_a_broken_file_says_what_mends_it(tmp_path: Path, heard: str) -> None:
    (tmp_path / FILE_NAME).write_text(f'{{"epoch": 7, "heard": {heard}}}')

    with pytest.raises(ConfigDamaged, match=f"`mqadmin store epoch {tmp_path} --mend` repairs"):
        EpochFile.read(tmp_path)


def test_file_keeps_what_it_is_told_and_hears_no_lower_epoch(tmp_path: Path) -> None:
    file = EpochFile.read(tmp_path)
    file = file.replace(epoch=4, master_role="SYNC_MASTER", former_master="a:1")

    file.replace(heard=2)

    found = EpochFile.read(tmp_path)
    assert (found.epoch, found.heard) == (4, 4)
    assert (found.master_role, found.former_master) == ("SYNC_MASTER", "a:1")


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    EpochFile.read(tmp_path).replace(heard=0, epoch=0)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step_that_fails", ["fsync", "replace"])
def test_failure_while_it_is_written_leaves_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_that_fails: str
) -> None:
    def fail(*words: object) -> None:
        raise OSError(5, "told to fail")

    file = EpochFile.read(tmp_path).replace(epoch=4)
    with monkeypatch.context() as patched:
        patched.setattr(os if step_that_fails == "fsync" else Path, step_that_fails, fail)
        with pytest.raises(OSError, match="told to fail"):
            file.replace(epoch=9)

    assert EpochFile.read(tmp_path).epoch == 4


def test_damaged_file_is_read_from_its_copy(tmp_path: Path) -> None:
    EpochFile.read(tmp_path).replace(epoch=4).replace(epoch=9)
    (tmp_path / FILE_NAME).write_text("{")

    assert EpochFile.read(tmp_path).epoch == 4


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"epoch": "x", "heard": 1}'])
def test_file_that_cannot_be_read_ends_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)

    with pytest.raises(ConfigDamaged, match=r"epoch\.json"):
        EpochFile.read(tmp_path)
