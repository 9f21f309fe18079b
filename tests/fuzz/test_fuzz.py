"""The fuzz targets: what is checked in is replayed, and ``make soak`` looks for more."""

import math
import tracemalloc
from pathlib import Path

import pytest

from tests import soak
from tests.fuzz.corpus_file import CORPUS, read_corpus
from tests.fuzz.run import fuzz
from tests.fuzz.targets import TARGETS

REPLAY_MIB_MAX = {"columns": 48}
"""The bulk decoder has windows of 8 MiB, whatever the file."""


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_once_found_are_read_or_refused(name: str) -> None:
    inputs = read_corpus(name)
    tracemalloc.start()
    try:
        for data in inputs:
            TARGETS[name].feed(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert inputs
    assert peak < REPLAY_MIB_MAX.get(name, 4) << 20


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read_whole_and_cut(name: str) -> None:
    target = TARGETS[name]
    read = 0
    for data in target.seed_inputs()[:60]:
        target.feed(data[: len(data) // 2])
        try:
            target.read(data)
            read += 1
        except target.refusals:
            target.feed(data)

    assert read


def test_every_file_of_the_corpus_has_a_target() -> None:
    assert {path.stem for path in CORPUS.glob("*.hex")} == set(TARGETS)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("atheris", reason="atheris has no wheel for this machine")

    kept = fuzz(name, keep=tmp_path, seconds=math.ceil(soak.seconds(0.33)))

    told = capsys.readouterr().out
    assert kept, told
