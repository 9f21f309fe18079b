"""Verification by whole windows finds what the record by record one finds, and no less."""

import random
from pathlib import Path

import pytest

from storefmt.offline.verify.findings import Report
from tests.golden import Golden
from tests.storefmt.offline.stores import HEALTHY, report_of, store_of

np = pytest.importorskip("numpy")

CRASHED = ("crash/torn/crashed", "crash/hole/crashed", "crash/cqlost/crashed", "crash/mmap/crashed")


def reports(path: Path, *, deep: bool = False) -> tuple[Report, Report]:
    """Return what both ways find, without the time they took."""
    return report_of(path, deep=deep, bulk=False), report_of(path, deep=deep, bulk=True)


@pytest.mark.parametrize("name", [*HEALTHY, *CRASHED])
def test_golden_stores_give_the_same_report(golden: Golden, name: str) -> None:
    slow, fast = reports(store_of(golden, name), deep=name == "kinds")

    assert fast == slow


def test_damaged_stores_give_the_same_report(golden: Golden) -> None:
    for damage in golden.damages():
        slow, fast = reports(golden.damaged(damage["case"]))

        assert fast == slow, damage["case"]


@pytest.mark.parametrize("seed", range(12))
def test_random_damage_gives_the_same_report(golden: Golden, seed: int) -> None:
    chance = random.Random(seed)
    path = golden.store(chance.choice(["basic", "kinds", "ipv6", "v5"]))
    files = sorted(
        file
        for place in ("commitlog", "consumequeue", "index")
        for file in (path / place).rglob("*")
        if file.is_file()
    )
    for _ in range(chance.randint(1, 6)):
        damage(chance.choice(files), chance)

    slow, fast = reports(path)

    assert fast == slow


def damage(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    used = max(1, len(data.rstrip(b"\0")))
    pos, size = chance.randrange(used), chance.choice([1, 1, 4, 64, 4096])
    data[pos : pos + size] = chance.choice([bytes(size), chance.randbytes(size)])[: used - pos]
    file.write_bytes(data)


def test_windows_do_the_work_where_nothing_is_wrong(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    from storefmt.offline.verify import check_log

    looked = []
    original = check_log.LogCheck._check_record

    def counted(self: check_log.LogCheck, *rest: object) -> None:
        looked.append(rest)
        original(self, *rest)

    monkeypatch.setattr(check_log.LogCheck, "_check_record", counted)
    report = report_of(golden.store("basic"), bulk=True)

    assert report.records == 1420
    assert len(looked) < report.records // 2
