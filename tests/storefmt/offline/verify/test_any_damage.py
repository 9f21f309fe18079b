"""Whatever the bytes are: an answer or a StoreError, never another exception, never a hang."""

import os
import random
import stat
from pathlib import Path

import pytest

from storefmt.errors import StoreError
from storefmt.offline import Report, StoreDir, verify
from tests.golden import Golden
from tests.storefmt.broken import changed, flipped
from tests.storefmt.offline.stores import state_of

SEED = 20261121


def use_everything(path: Path) -> Report:
    """Open, look at and verify a store; parts that are damaged may say so."""
    with StoreDir.open(path) as store:
        for question in (store.info, store.files, lambda: list(store.records())):
            assert_answer_or_reason(question)
        assert_answer_or_reason(
            lambda: store.find_message("FD00000000000000000000000000000217D44E0E2F2A6808A97A0001")
        )
        for key in store.queues()[:3]:
            assert_answer_or_reason(lambda key=key: list(store.queue(*key).entries()))
        for view in store.index_files:
            assert_answer_or_reason(lambda view=view: list(view.entries()))
            assert_answer_or_reason(lambda view=view: list(view.chain("v6-44-t", "k1")))
        return verify(store, deep=True)


def assert_answer_or_reason(question: object) -> None:
    try:
        question()  # type: ignore[operator]
    except StoreError as error:
        assert str(error), "an error says what, where and what next"  # noqa: PT017


def files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())


def test_every_file_cut_at_many_lengths(ipv6: Path) -> None:
    for file in files_of(ipv6):
        whole = file.read_bytes()
        used = len(whole.rstrip(b"\0"))
        lengths = {0, 1, 7, 8, 19, 20, 39, 40, used // 3, used - 1, used, len(whole) - 1}
        for length in sorted(lengths):
            if not 0 <= length < len(whole):
                continue
            with changed(file, whole[:length]):
                report = use_everything(ipv6)
            if can_tell(file, length, used):
                assert not report.ok, (file.name, length)


def can_tell(file: Path, length: int, used: int) -> bool:
    """Return whether a cut file shows that it was cut.

    The size of a file is in the broker's settings: where there is only one log or index
    file, nothing tells that free space is missing at its end.
    """
    if file.parent.name in ("commitlog", "index"):
        return length < used
    return file.parent.name != "config" and file.name != "lock"


@pytest.mark.parametrize("name", ["ipv6", "v5"])
def test_random_bit_flips(golden: Golden, name: str) -> None:
    path = golden.store(name)
    chance = random.Random(SEED)
    files = [file for file in files_of(path) if 0 < file.stat().st_size <= 262144]
    for _ in range(150):
        file = chance.choice(files)
        data = bytearray(file.read_bytes())
        used = max(1, len(bytes(data).rstrip(b"\0")))
        for _ in range(chance.choice((1, 1, 1, 5, 40))):
            data[chance.randrange(used)] ^= 1 << chance.randrange(8)
        with changed(file, bytes(data)):
            use_everything(path)


@pytest.mark.parametrize("part", ["commitlog", "index", "consumequeue", "config"])
def test_files_of_random_bytes(ipv6: Path, part: str) -> None:
    chance = random.Random(SEED)
    for file in files_of(ipv6 / part):
        with changed(file, chance.randbytes(file.stat().st_size)):
            report = use_everything(ipv6)
        assert report.findings


def test_queue_entry_damage_is_found_wherever_it_is(ipv6: Path) -> None:
    chance = random.Random(SEED)
    for file in files_of(ipv6 / "consumequeue"):
        whole = file.read_bytes()
        bit = chance.randrange(8 * len(whole.rstrip(b"\0")))
        with changed(file, flipped(whole, bit)):
            report = use_everything(ipv6)

        name = str(file.relative_to(ipv6))
        assert any(
            finding.file == name and finding.pos // 20 == bit // 160 for finding in report.findings
        ), (name, bit, report.findings)


def test_index_damage_is_found_wherever_it_is(basic: Path) -> None:
    file = basic / "index" / "20261121041855172"
    chance = random.Random(SEED)
    whole = file.read_bytes()
    for _ in range(40):
        bit = chance.randrange(8 * len(whole.rstrip(b"\0")))
        with changed(file, flipped(whole, bit)):
            report = use_everything(basic)

        assert not report.ok, bit


def test_read_only_directory_is_enough(ipv6: Path) -> None:
    for entry in (ipv6, *ipv6.rglob("*")):
        os.chmod(entry, stat.S_IREAD | (stat.S_IEXEC if entry.is_dir() else 0))
    before = state_of(ipv6)

    report = use_everything(ipv6)

    assert report.ok
    assert state_of(ipv6) == before
    for entry in (ipv6, *ipv6.rglob("*")):
        os.chmod(entry, stat.S_IRWXU)
