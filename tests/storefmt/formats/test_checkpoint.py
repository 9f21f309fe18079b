"""The checkpoint file, as Java left it."""

import pytest

from storefmt.formats import layout
from storefmt.formats.checkpoint import CHECKPOINT_SIZE, Checkpoint
from tests.storefmt.broken import assert_cuts_are_damage
from tests.storefmt.corpus import STORES


@pytest.mark.parametrize("name", STORES)
def test_golden_checkpoint_equals_what_java_read_and_comes_back(corpus, name: str) -> None:
    raw = (corpus(name).root / "checkpoint").read_bytes()

    found = Checkpoint.decode(raw)

    assert list(found[:3]) == corpus(name).expected["scan"]["checkpoint"][:3]
    assert found.encode() == raw
    assert name == "v5" or found[3:] == (0, 0)


def test_numbers_lie_where_the_layout_says() -> None:
    raw = Checkpoint(1, 2, 3, 4, 5).encode()

    assert [span.value for span in layout.CHECKPOINT.spans(raw)] == [1, 2, 3, 4, 5]


def test_cut_checkpoint_is_damage_only_within_its_times() -> None:
    raw = Checkpoint(1, 2, 3).encode()

    assert len(raw) == CHECKPOINT_SIZE
    assert Checkpoint.decode(raw[:24]) == Checkpoint(1, 2, 3)
    assert_cuts_are_damage(Checkpoint.decode, raw[:24])


def test_recovery_starts_three_seconds_before_the_smaller_time() -> None:
    assert Checkpoint(10_000, 8_000, 0).recover_from_ms == 5_000
    assert Checkpoint(0, 8_000, 0).recover_from_ms == 0
