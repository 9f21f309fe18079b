"""The journal of old states: on disk before the write, for its user alone, newest first."""

import os
import stat
from pathlib import Path

import pytest

from mqadmin.errors import CommandError, ItemNotFound
from mqadmin.session.journal import KEPT_MAX, Journal, SavedState


def saved(before: object) -> SavedState:
    return SavedState(
        kind="topic",
        cluster="C",
        broker="broker-a",
        broker_id=0,
        address="127.0.0.1:1",
        names=("orders",),
        before=before,  # type: ignore[arg-type]
    )


def test_an_entry_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    journal = Journal.of({"XDG_STATE_HOME": str(tmp_path)})

    made = journal.add(
        "topic delete orders", [saved({"perm": 6}), saved(None)], namesrv="a:1", at_ms=5
    )

    assert journal.entry(made.id) == made
    assert list(journal.entries()) == [made]
    assert made.saved[0].before == {"perm": 6}
    assert (made.id, made.undone_ms) == (1, None)


def test_only_its_user_can_read_it(tmp_path: Path) -> None:
    journal = Journal.of({"HOME": str(tmp_path)})
    journal.add("acl delete bob", [saved({"secretKey": "12345678"})], namesrv="a:1", at_ms=5)

    folder = tmp_path / ".local" / "state" / "mqadmin" / "journal"
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_latest_is_the_newest_that_was_not_put_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first = journal.add("one", [saved(None)], namesrv="a:1", at_ms=1)
    second = journal.add("two", [saved(None)], namesrv="a:1", at_ms=2)
    assert journal.latest() == second

    journal.add("undo 2: two", [saved(None)], namesrv="a:1", at_ms=3, undoes=second.id)
    journal.mark_undone(second, at_ms=3)
    assert journal.latest() == first
    assert journal.entry(second.id).undone_ms == 3

    journal.mark_undone(first, at_ms=4)
    with pytest.raises(ItemNotFound):
        journal.latest()
    with pytest.raises(ItemNotFound):
        journal.entry(9)


def test_a_journal_that_cannot_be_written_stops_the_write(tmp_path: Path) -> None:
    (tmp_path / "mqadmin").write_text("a file where a directory should be")
    journal = Journal.of({"XDG_STATE_HOME": str(tmp_path)})

    with pytest.raises(CommandError, match="cannot keep the old state") as caught:
        journal.add("one", [saved(None)], namesrv="a:1", at_ms=1)
    assert "nothing was changed" in caught.value.hint


def test_a_damaged_entry_is_named(tmp_path: Path) -> None:
    (tmp_path / "000001.json").write_text("{}")

    with pytest.raises(CommandError, match=r"000001\.json"):
        Journal(tmp_path).entry(1)


def test_old_entries_go(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for number in range(1, KEPT_MAX + 1):
        os.close(os.open(tmp_path / f"{number:06d}.json", os.O_CREAT))

    journal.add("one", [saved(None)], namesrv="a:1", at_ms=1)

    assert len(list(tmp_path.iterdir())) == KEPT_MAX
    assert not (tmp_path / "000001.json").exists()
