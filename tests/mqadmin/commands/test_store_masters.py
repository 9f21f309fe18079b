"""``store masters``: the files of a broker in controller mode, as 5.4.0 writes them."""

from pathlib import Path

import pytest

from tests.mqadmin.commands.offline import run

EPOCHS = "2\n891011744\n1-0\n2-256632\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "commitlog").mkdir()
    return tmp_path


def test_the_parts_of_a_log_are_listed(store: Path) -> None:
    (store / "epochFileCheckpoint").write_text(EPOCHS)
    (store / "brokerIdentity").write_text("C#g#1")

    result = run("store", "masters", store)

    assert result.exit_code == 0
    assert [list(row.values()) for row in result.rows] == [
        ["C", "g", 1, 1, 0, 256632],
        ["C", "g", 1, 2, 256632, None],
    ]


def test_a_store_without_epochs_still_says_whose_it_is(store: Path) -> None:
    (store / "brokerIdentity").write_text("C#g#3")

    (row,) = run("store", "masters", store).rows

    assert (row["broker_id"], row["epoch"]) == (3, None)


def test_a_store_of_4_9_has_no_masters(store: Path) -> None:
    result = run("store", "masters", store)

    assert result.exit_code == 3
    assert "enableControllerMode=true" in result.err


@pytest.mark.parametrize(
    ("name", "text"), [("epochFileCheckpoint", EPOCHS[:-3]), ("brokerIdentity", "C#g")]
)
def test_a_damaged_file_is_an_error_that_names_it(store: Path, name: str, text: str) -> None:
    (store / name).write_text(text)

    result = run("store", "masters", store)

    assert result.exit_code == 6
    assert name in result.err


def test_a_backup_is_read_with_a_note(store: Path) -> None:
    (store / "epochFileCheckpoint").write_text(EPOCHS[:-3])
    (store / "epochFileCheckpoint.bak").write_text(EPOCHS)

    result = run("store", "masters", store)

    assert len(result.rows) == 2
    assert "read epochFileCheckpoint.bak instead" in result.err
