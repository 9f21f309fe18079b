"""The compiled loops over keys do what the plain ones do, whatever the keys and slots are."""

import random

import pytest

from storefmt.dispatch import index_table
from storefmt.dispatch.index_table import IndexTable, Keyed, Row, key_rows_pure
from storefmt.formats.index import PAGE_SLOTS, IndexHeader
from storefmt.formats.javahash import index_key_hash
from storefmt.formats.sysflag import TRANSACTION_PREPARED, TRANSACTION_ROLLBACK
from tests.twins import compiled, needs_kernel, use_form

key_rows_compiled, add_rows_compiled = compiled("key_rows_compiled"), compiled("add_rows_compiled")
pytestmark = needs_kernel("key_rows_compiled", "add_rows_compiled")

KEYS = ("k1", "", "polygenelubricants", "ключ", "😀é", "\ud83d", "\udc00\ud83d", "x" * 300)
TIMES = (0, -1, 1, 999, 1_700_000_000_000, 1_700_000_000_999, (1 << 63) - 1, -(1 << 63))


def some_records(numbers: random.Random) -> list[Keyed]:
    """Return records with all kinds of keys."""
    return [
        (
            numbers.choice(("topic", "", "тема")),
            *(0, 0, numbers.choice((0, 1 << 40, (1 << 63) - 1)), 100, 0),
            numbers.choice(TIMES),
            numbers.choice((0, 1, TRANSACTION_PREPARED, TRANSACTION_ROLLBACK)),
            tuple(numbers.choices(KEYS, k=numbers.randrange(4))),
        )
        for _ in range(numbers.randrange(20))
    ]


def some_rows(numbers: random.Random) -> list[Row]:
    """Return rows as a damaged file has them: hashes of every sign, times in no order."""
    hashes = (0, 1, 4, 5, 1023, 1024, (1 << 31) - 1, -1, -(1 << 31))
    return [
        (numbers.choice(hashes), numbers.choice((0, 7, 1 << 50)), numbers.choice(TIMES))
        for _ in range(numbers.randrange(9))
    ]


def some_header(numbers: random.Random) -> IndexHeader:
    """Return the header of a new, a started or a full file."""
    begin_ms = numbers.choice(TIMES)
    return IndexHeader(begin_ms, begin_ms, 5, 5, 0, numbers.choice((1, 1, 2, 30, 40, 41)))


def test_records_give_the_same_rows() -> None:
    for number in range(200):
        records = some_records(random.Random(number))

        rows = key_rows_compiled(records)

        assert rows == key_rows_pure(records)
        assert rows == [
            (index_key_hash(f"{record[0]}#{key}"), record[3], record[6])
            for record in records
            if record[7] != TRANSACTION_ROLLBACK
            for key in record[8]
        ]


@pytest.mark.parametrize("slot_count", [1, 5, PAGE_SLOTS, PAGE_SLOTS + 1])
def test_rows_give_the_same_file(slot_count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        use_form(monkeypatch, "pure", index_table, "_add_rows", "add_rows_compiled")
        plain = states_of(random.Random(number), slot_count)
        use_form(monkeypatch, "compiled", index_table, "_add_rows", "add_rows_compiled")
        assert states_of(random.Random(number), slot_count) == plain


def states_of(numbers: random.Random, slot_count: int) -> list[object]:
    """Add rows to one file; return what it has after each time."""
    table = IndexTable(some_header(numbers), slot_count=slot_count, entry_count_max=40)
    states: list[object] = []
    for _ in range(8):
        done = table.put_rows(some_rows(numbers))
        slots = table._slots
        states.append((done, table.header, bytes(table._fresh), bytes(table._dirty), list(slots)))
        # A damaged file may have any number in a slot.
        slots[numbers.randrange(slot_count)] = numbers.choice((-1, 0, 1, 39, 40, (1 << 31) - 1))
    return states


def test_kernel_refuses_what_it_cannot_add() -> None:
    slots = memoryview(bytearray(4 * (PAGE_SLOTS + 1))).cast("i")
    good = (1, 2, 3)
    for rows, page_count, number, error in (
        ([good], 1, 1, IndexError),
        ([good], 0, 1, IndexError),
        ([good], 2, -1, OverflowError),
        ([good], 2, (1 << 31) - 1, OverflowError),
        ([good, (1 << 31, 2, 3)], 2, 1, OverflowError),
        ([good, (1, 1 << 63, 3)], 2, 1, OverflowError),
        ([good, (1, 2)], 2, 1, TypeError),
        ([good, None], 2, 1, TypeError),
        ([good, ("1", 2, 3)], 2, 1, TypeError),
    ):
        fresh = bytearray(b"before")
        with pytest.raises(error):
            add_rows_compiled(rows, slots, bytearray(page_count), fresh, number, 0, 0)
        assert fresh == b"before"
    with pytest.raises(BufferError):
        add_rows_compiled([good], memoryview(bytes(20)), bytearray(1), bytearray(), 1, 0, 0)


def test_kernel_refuses_what_is_no_record() -> None:
    record = ("topic", 0, 0, 1, 2, 0, 3, 0, ("k",))
    for wrong, error in (
        (record[:8], TypeError),
        (None, TypeError),
        ((*record[:8], ("k", 1)), TypeError),
        ((None, *record[1:]), TypeError),
        ((*record[:7], "0", ("k",)), TypeError),
    ):
        with pytest.raises(error):
            key_rows_compiled([record, wrong])
