"""Parts of a queue by file, history before the log, and ext addresses that stay."""

import pytest

from storefmt.dispatch.queue_entries import file_parts, is_history, keep_ext_addresses
from storefmt.formats.consumequeue import CQ_ENTRY, FILLER_SIZE, CqEntry, ext_address

FILLER_ENTRY = CqEntry(0, FILLER_SIZE, 0)


def test_range_is_divided_at_the_ends_of_files() -> None:
    assert list(file_parts(50, 120, file_size=60)) == [(0, 50, 10), (60, 0, 60), (120, 0, 50)]
    assert list(file_parts(60, 60, file_size=60)) == [(60, 0, 60)]
    assert list(file_parts(60, 0, file_size=60)) == []


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        (FILLER_ENTRY, True),
        (CqEntry(0, 200, 5), True),
        (CqEntry(999, 200, 5), True),
        (CqEntry(1_000, 200, 5), False),
        (CqEntry(-1, 200, 5), False),
        (CqEntry(5, 0, 5), False),
        (CqEntry(5, FILLER_SIZE, 0), False),
    ],
)
def test_history_points_before_the_log(entry: CqEntry, kept: bool) -> None:
    assert is_history(entry, 1_000) is kept
    assert is_history(entry, 0) is entry.is_filler


def test_ext_address_stays_only_for_the_same_record() -> None:
    new = bytearray(b"".join(CQ_ENTRY.pack(number * 100, 100, number) for number in range(4)))
    was = [
        CqEntry(0, 100, ext_address(20)),
        CqEntry(100, 90, ext_address(40)),
        CqEntry(200, 100, 77),
        CqEntry(300, 100, ext_address(60)),
    ]

    keep_ext_addresses(new, enumerate(was), lambda address, code: code != 3)

    assert bytes(new) == CQ_ENTRY.pack(*was[0]) + b"".join(
        CQ_ENTRY.pack(number * 100, 100, number) for number in range(1, 4)
    )
