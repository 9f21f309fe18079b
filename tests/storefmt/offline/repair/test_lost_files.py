"""State files that are missing: a warning that says who will read what again, never silence."""

from pathlib import Path

import pytest

from storefmt.offline import Finding, Severity
from storefmt.offline.repair.repair import Action
from tests.golden import Golden
from tests.storefmt.offline.stores import repaired, report_of
from tests.storefmt.offline.tiny import tiny_store

OFFSETS, DELAYS, GROUPS = "consumerOffset.json", "delayOffset.json", "subscriptionGroup.json"
EFFECTS = {
    OFFSETS: "each group starts as a new one",
    DELAYS: "every delayed message that the log still has is delivered again",
    GROUPS: "settings of the groups",
}
AGAIN = {
    OFFSETS: "read again what they have read since",
    DELAYS: "delivered since the .bak was written are delivered again",
    GROUPS: "settings of groups added since the .bak was written are lost",
}


def lose(root: Path, name: str, *, backup: bool) -> None:
    """Remove a state file; its .bak is there, or is removed as well."""
    path, copy = root / "config" / name, root / "config" / f"{name}.bak"
    if backup and not copy.exists():
        copy.write_bytes(path.read_bytes())
    path.unlink()
    if not backup:
        copy.unlink(missing_ok=True)


def found_in(root: Path, name: str) -> list[Finding]:
    return [one for one in report_of(root).findings if one.file == f"config/{name}"]


def actions_of(root: Path, out: Path, name: str) -> list[Action]:
    return [one for one in repaired(root, out).actions if one.file == f"config/{name}"]


@pytest.mark.parametrize("name", [OFFSETS, DELAYS, GROUPS])
def test_missing_file_with_a_backup_is_a_warning(kinds: Path, name: str, tmp_path: Path) -> None:
    lose(kinds, name, backup=True)

    (found,) = found_in(kinds, name)
    (action,) = actions_of(kinds, tmp_path / "out", name)

    assert found.kind == "config_fallback"
    assert found.severity == Severity.WARNING
    assert f"config/{name}.bak" in found.hint
    assert AGAIN[name] in found.hint
    assert action.action == "restored"
    assert AGAIN[name] in action.reason
    assert (tmp_path / "out" / "config" / name).is_file()


@pytest.mark.parametrize("name", [OFFSETS, DELAYS, GROUPS])
def test_missing_file_without_a_backup_is_a_warning_where_the_store_shows_that_it_was(
    kinds: Path, name: str, tmp_path: Path
) -> None:
    lose(kinds, name, backup=False)

    (found,) = found_in(kinds, name)
    (action,) = actions_of(kinds, tmp_path / "out", name)

    assert found.kind == "config_missing"
    assert found.severity == Severity.WARNING
    assert EFFECTS[name] in found.hint
    assert action.action == "lost"
    assert EFFECTS[name] in action.reason


@pytest.mark.parametrize("name", [OFFSETS, DELAYS, GROUPS])
def test_file_that_nothing_in_the_store_asks_for_may_be_missing(name: str, tmp_path: Path) -> None:
    # No group was ever online, and no message was delayed.
    root = tiny_store(tmp_path)
    (root / "config" / name).unlink(missing_ok=True)

    assert found_in(root, name) == []


def test_light_offsets_take_the_place_of_the_others(golden: Golden) -> None:
    assert found_in(golden.store("kinds-lmq"), OFFSETS) == []


def test_two_files_that_cannot_be_read_are_told_by_repair_as_lost(
    golden: Golden, tmp_path: Path
) -> None:
    root = golden.damaged("25-json-both-bad")

    actions = actions_of(root, tmp_path / "out", OFFSETS)

    assert [(one.action, one.reason) for one in actions if one.action == "lost"] == [
        ("lost", "neither the file nor its .bak can be read")
    ]
