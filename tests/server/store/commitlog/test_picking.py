"""The compiled pick returns what ``pick_each`` returns, or leaves the entries to it."""

import random

import pytest

from mqserver.store.commitlog import picking
from mqserver.store.commitlog.picking import PART_SIZE_MAX, GetLimits, Picked, pick_each
from mqserver.store.results import GetStatus
from storefmt.formats.consumequeue import CQ_ENTRY, EXT_ADDRESS_MAX, FILLER
from tests.twins import FORMS, compiled, needs_kernel, use_form

FILE_SIZE = 1 << 20
EDGES = (-(1 << 63), -1, 0, 1, 1 << 31, 1 << 62, (1 << 63) - 1)
COMPILED = compiled("pick_compiled")
built = needs_kernel("pick_compiled")


def limits_of(chance: random.Random, log_end: int) -> GetLimits:
    return GetLimits(
        count_max=chance.choice([-1, 0, 1, 3, 32, 64]),
        size_max=chance.choice([0, 1, 3_000, 262_144, 1 << 30]),
        disk_count_max=chance.choice([0, 1, 8]),
        disk_size_max=chance.choice([0, 1, 3_000, 65_536]),
        memory_size=chance.choice([0, 5_000, 20_000, 1 << 40]),
        log_start=chance.choice([0, 0, 0, 5_000, FILE_SIZE]),
        log_end=log_end - chance.choice([0, 0, 0, 1, 700, 20_000]),
        log_file_size=FILE_SIZE,
    )


def entries_of(chance: random.Random) -> tuple[bytes, int]:
    """Return the entries of a queue, a few of them odd, and the end of the log."""
    data, end = [], chance.choice([0, FILE_SIZE - 3_000, FILE_SIZE * 9])
    for _ in range(chance.randrange(60)):
        end += chance.choice([0, 0, 100, 2_000, FILE_SIZE])
        size = chance.choice([91, 700, 700, 1_200, PART_SIZE_MAX - 600])
        entry = [end, size, chance.choice([65, 66, -3, 0, 1 << 31])]
        end += size
        if chance.random() < 0.01:
            entry[chance.choice([0, 2])] = chance.choice([*EDGES, EXT_ADDRESS_MAX])
        if chance.random() < 0.01:
            entry[1] = chance.choice([-(1 << 31), -1, 0, 1, (1 << 31) - 1])
        data.append(FILLER if chance.random() < 0.02 else CQ_ENTRY.pack(*entry))
    return b"".join(data), end


@built
def test_random_entries_are_picked_alike_or_left() -> None:
    print("seed 21")
    chance = random.Random(21)
    taken = 0

    for _ in range(20_000):
        data, end = entries_of(chance)
        limits = limits_of(chance, end)
        codes = chance.choice([None, frozenset[int](), frozenset({65}), frozenset({65, -3})])
        found = COMPILED(chance.choice([bytes, bytearray])(data), limits, codes)
        if found is not None:
            taken += 1
            assert type(found) is Picked
            assert found == pick_each(data, limits, codes)

    assert taken > 10_000


@built
@pytest.mark.parametrize(
    "entry",
    [(0, 100, EXT_ADDRESS_MAX), (-1, 100, 0), (0, 0, 0), (0, -5, 0), (950, 100, 0)],
    ids=["ext unit", "offset below 0", "no size", "size below 0", "behind the log"],
)
def test_entries_that_need_more_are_left(entry: tuple[int, int, int]) -> None:
    limits = GetLimits(32, 262_144, 8, 65_536, 1 << 40, 0, 1_000, FILE_SIZE)

    assert COMPILED(CQ_ENTRY.pack(*entry), limits, None) is None
    assert COMPILED(CQ_ENTRY.pack(0, 100, 7), limits, None) is not None


@pytest.mark.parametrize("form", FORMS)
def test_adjacent_records_make_one_part_up_to_its_size_and_within_a_file(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_form(monkeypatch, form, picking, "pick", "pick_compiled")
    limits = GetLimits(32, 1 << 40, 8, 65_536, 1 << 40, 0, 1 << 40, FILE_SIZE)
    places = [(0, 500), (500, 500), (2_000, 100), (2_100, FILE_SIZE - 2_100), (FILE_SIZE, 10)]
    data = b"".join(CQ_ENTRY.pack(*place, 0) for place in places)

    found = picking.pick(data, limits, None) or pick_each(data, limits, None)

    assert found.parts == [(0, 1_000), (2_000, FILE_SIZE), (FILE_SIZE, FILE_SIZE + 10)]
    assert (found.status, found.record_count, found.scanned_count) == (GetStatus.FOUND, 5, 5)


def test_part_ends_before_it_is_too_large() -> None:
    limits = GetLimits(32, 1 << 40, 8, 65_536, 1 << 40, 0, 1 << 40, 1 << 30)
    data = CQ_ENTRY.pack(0, PART_SIZE_MAX, 0) + CQ_ENTRY.pack(PART_SIZE_MAX, 1, 0)

    parts = pick_each(data, limits, None).parts

    assert parts == [(0, PART_SIZE_MAX), (PART_SIZE_MAX, PART_SIZE_MAX + 1)]
