"""What epoch.json may say, and what is kept of one that says something else."""

import pytest

from storefmt.config.epochs import (
    AHEAD_MS_MAX,
    EPOCH_MAX,
    Epochs,
    decode,
    encode,
    is_believable,
    mend,
)
from storefmt.errors import ConfigDamaged

WHOLE = Epochs(5, 9, "SYNC_MASTER", "10.0.0.1:10911")


def test_content_comes_back() -> None:
    assert decode(encode(WHOLE).encode()) == WHOLE
    assert decode(encode(Epochs()).encode()) == Epochs()


DAMAGED = [
    (b"", Epochs()),
    (b"\xff", Epochs()),
    (b"[]", Epochs()),
    (b"{}", Epochs()),
    (b"[" * 100_000, Epochs()),
    (b'{"epoch": 5}', Epochs(5, 5)),
    (b'{"epoch": "5", "heard": 9}', Epochs(0, 9)),
    (b'{"epoch": true, "heard": 9}', Epochs(0, 9)),
    (b'{"epoch": 5, "heard": -9223372036854775808}', Epochs(5, 5)),
    (b'{"epoch": 5, "heard": 9223372036854775808}', Epochs(5, 5)),
    (b'{"epoch": 9223372036854775809, "heard": 9}', Epochs(0, 9)),
    (b'{"epoch": %d, "heard": 9}' % (EPOCH_MAX + 1), Epochs(0, 9)),
    (b'{"epoch": 5, "heard": ' + b"9" * 5_000 + b"}", Epochs()),
    (b'{"epoch": 5, "heard": 9, "masterRole": 5}', Epochs(5, 9)),
    (b'{"epoch": 5, "heard": 9, "formerMaster": "' + b"a" * 301 + b'"}', Epochs(5, 9)),
]


@pytest.mark.parametrize(("data", "kept"), DAMAGED)
def test_damaged_content_is_an_error_and_can_be_mended(data: bytes, kept: Epochs) -> None:
    with pytest.raises(ConfigDamaged):
        decode(data)

    assert mend(data) == kept
    assert decode(encode(mend(data)).encode()) == kept
    assert mend(data, epoch=7)[:2] == (7, 7)


def test_mending_changes_nothing_that_is_whole() -> None:
    assert mend(encode(WHOLE).encode()) == WHOLE


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (0, True), (1_000, True), (1_000 + AHEAD_MS_MAX, True), (1_001 + AHEAD_MS_MAX, False),
        (-1, False), (1 << 63, False),
    ],
)  # fmt: skip
def test_epoch_far_beyond_the_clock_is_not_believable(epoch: int, expected: bool) -> None:
    assert is_believable(epoch, 1_000) is expected
    assert not is_believable(EPOCH_MAX + 1, EPOCH_MAX)
