"""The checkpoint file, as Java left it."""

import pytest

from storefmt.checkpoint import CHECKPOINT_SIZE, Checkpoint
from storefmt.errors import RecordDamaged
from tests.storefmt.corpus import STORES


@pytest.mark.parametrize("name", STORES[:5] + STORES[6:])
def test_golden_checkpoint_equals_what_java_read_and_comes_back(corpus, name: str) -> None:
    raw = (corpus(name).root / "checkpoint").read_bytes()

    found = Checkpoint.decode(raw)

    assert list(found) == corpus(name).expected["scan"]["checkpoint"]
    assert found.encode() == raw


def test_checkpoint_of_five_is_read_as_far_as_it_is_known(corpus) -> None:
    raw = (corpus("v5").root / "checkpoint").read_bytes()

    assert list(Checkpoint.decode(raw)) == corpus("v5").expected["scan"]["checkpoint"][:3]


def test_cut_checkpoint_is_damage_only_within_its_times() -> None:
    raw = Checkpoint(1, 2, 3).encode()

    assert len(raw) == CHECKPOINT_SIZE
    assert Checkpoint.decode(raw[:24]) == Checkpoint(1, 2, 3)
    for size in range(24):
        with pytest.raises(RecordDamaged):
            Checkpoint.decode(raw[:size])


def test_recovery_starts_three_seconds_before_the_smaller_time() -> None:
    assert Checkpoint(10_000, 8_000, 0).recover_from_ms == 5_000
    assert Checkpoint(0, 8_000, 0).recover_from_ms == 0
