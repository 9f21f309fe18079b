"""Cycles of faults of a group's master: what ``benchmarks.failover`` counts, and its promise."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.failover import counted, namespaces_fail
from benchmarks.failover_load import Seen
from tests.golden import REPOSITORY
from tests.programs import ran
from tests.server.controller.etcd_server import PROGRAM

CYCLES = 20


def test_each_way_to_break_a_promise_is_counted() -> None:
    seen = Seen(
        sent={b"kept", b"lost", b"old", b"moved", b"twice"},
        acknowledged={b"kept": (0, 0), b"lost": (0, 1), b"old": (0, 2), b"moved": (1, 0)},
        by_old_route={b"old"},
        read={(0, 0): b"kept", (0, 1): b"lost", (2, 0): b"twice"},
        taken_back={(3, 3)},
    )
    stored = {
        (0, 0): b"kept", (1, 1): b"moved", (2, 0): b"twice", (2, 1): b"twice", (2, 2): b"ghost",
    }  # fmt: skip

    assert counted(seen, stored) == {
        "sent": 5,
        "acknowledged": 4,
        "by_old_route": 1,
        "read": 3,
        "lost": 2,
        "lost_of_old_route": 1,
        "moved": 1,
        "taken_back": 2,
        "doubled": 1,
        "unexpected": 1,
    }


@pytest.mark.parametrize(
    ("ok_s", "gap_s"), [([], 10.0), ([1.0, 4.0], 6.0), ([3.0, 8.0], 5.0), ([-5.0, 5.0, 99.0], 5.0)]
)
def test_the_gap_is_the_longest_time_without_an_accepted_send(
    ok_s: list[float], gap_s: float
) -> None:
    assert Seen(ok_s=ok_s).longest_gap(0.0, 10.0) == gap_s


@pytest.mark.soak
@pytest.mark.parametrize(
    "controllers",
    ["1", pytest.param("3", marks=pytest.mark.skipif(not PROGRAM, reason="needs etcd-server"))],
)
def test_no_fault_of_the_master_loses_an_acknowledged_message(
    tmp_path: Path, controllers: str
) -> None:
    sides = ("--brokers", "ours", "ours", "ours", "--controller", "ours")
    total = play(tmp_path, *sides, "--controllers", controllers)

    broken = ("lost", "moved", "taken_back", "doubled", "unexpected")
    assert {name: total[name] for name in broken} == dict.fromkeys(broken, 0)


def play(directory: Path, *words: str, cycles: int = CYCLES) -> dict[str, int]:
    """Run cycles, in namespaces if they can be had, and return what was counted in all of them."""
    network = ["--loopback"] if namespaces_fail() else []
    done = ran(
        *(sys.executable, "-m", "benchmarks.failover", *words, *network),
        *("--cycles", str(cycles), "--directory", str(directory / "group")),
        code=None,
        cwd=REPOSITORY,
        timeout_s=400 + 120 * cycles,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    total: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return total
