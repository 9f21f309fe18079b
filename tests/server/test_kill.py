"""SIGKILL under load: what was acknowledged is there afterwards, with every flush mode.

The kit is ``tests/server/kills``: plain, delayed and transactional messages, groups that commit,
topics that are deleted and made again, retention. One store goes through all kills of a run, is
read whole after each of them, and its copy is verified.
A SIGKILL leaves the page cache, so this proves recovery, not the disk; the simulated disk of
``tests/server/store`` takes the cache away too.
"""

import functools
import math
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests import soak
from tests.server.kills.loop import Loop, Settings, Totals

SEED = int(os.environ.get("KILL_SEED", "20261122"))
SOAK_PARTS = 4
"""The kills are shared by so many loops, each with a store of its own: they wait more than they
work, so that all of them run side by side."""


def run(settings: Settings, directory: Path) -> Totals:
    """Run a loop; each of its lines begins with the seed."""
    say = functools.partial(print, settings.seed, flush=True)
    totals = Loop(settings, directory, say=say).run()
    say(totals)
    return totals


def assert_kept(totals: Totals) -> None:
    """Assert that a loop found no fault and acknowledged many messages."""
    assert totals.faults == {}
    assert totals.acknowledged > 10 * totals.kills


@pytest.mark.timeout(600)
@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_every_promise_is_kept_through_kills(tmp_path: Path, flush: str) -> None:
    assert_kept(run(Settings(kills=20, seed=SEED, flush=flush, seconds=90), tmp_path))


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("flush", "kills", "minutes"), [("ASYNC_FLUSH", 500, 25), ("SYNC_FLUSH", 100, 6)]
)
def test_every_promise_is_kept_through_kills_after_long_and_short_lives(
    tmp_path: Path, flush: str, kills: int, minutes: float
) -> None:
    """A loop that has not made all its kills when its time is over says how many it made."""
    settings = [
        Settings(
            kills=math.ceil(kills / SOAK_PARTS),
            seed=soak.SEED + part,
            flush=flush,
            seconds=soak.seconds(minutes),
            uptime_s_max=90,
        )
        for part in range(SOAK_PARTS)
    ]
    directories = [tmp_path / str(one.seed) for one in settings]
    for directory in directories:
        directory.mkdir()

    with ProcessPoolExecutor(SOAK_PARTS, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(run, settings, directories))

    print(f"{sum(totals.kills for totals in found)} kills")
    for totals in found:
        assert_kept(totals)
