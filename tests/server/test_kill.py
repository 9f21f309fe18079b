"""SIGKILL under load: what was acknowledged is there afterwards, with every flush mode.

The kit is ``tests/server/kills``: plain, delayed and transactional messages, groups that commit,
topics that are deleted and made again, retention. One store goes through all kills of a run, is
read whole after each of them, and its copy is verified.
A SIGKILL leaves the page cache, so this proves recovery, not the disk; the simulated disk of
``tests/server/store`` takes the cache away too.
"""

import math
import os
from pathlib import Path

import pytest

from tests.server.kills.loop import Loop, Settings

SEED = int(os.environ.get("KILL_SEED", "20261122"))
SOAK_KILLS = int(os.environ.get("SOAK_KILLS", "500"))
SOAK_SECONDS = float(os.environ.get("SOAK_KILL_SECONDS", "1500"))
"""A loop that has not made all its kills by then stops, and says how many it made."""
SOAK_PARTS = 4
"""The kills are shared by so many loops, each with a store of its own: they wait more than they
work, so that several may run side by side."""


def assert_kept(settings: Settings, directory: Path) -> None:
    """Run a loop and hold its sums against the promise."""
    totals = Loop(settings, directory).run()
    print(totals)
    assert totals.faults == {}
    assert totals.acknowledged > 10 * totals.kills


@pytest.mark.timeout(600)
@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_every_promise_is_kept_through_kills(tmp_path: Path, flush: str) -> None:
    settings = Settings(kills=20, seed=SEED, flush=flush, seconds=90)

    assert_kept(settings, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SOAK_PARTS))
@pytest.mark.parametrize(("flush", "share"), [("ASYNC_FLUSH", 1.0), ("SYNC_FLUSH", 0.2)])
def test_every_promise_is_kept_through_kills_after_long_and_short_lives(
    tmp_path: Path, flush: str, share: float, part: int
) -> None:
    settings = Settings(
        kills=math.ceil(SOAK_KILLS * share / SOAK_PARTS),
        seed=SEED + 1 + part,
        flush=flush,
        seconds=SOAK_SECONDS * share,
        uptime_s_max=90,
    )

    assert_kept(settings, tmp_path)
