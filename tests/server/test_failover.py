"""A master is lost with its disk, its slave takes over: what was acknowledged is there.

Two brokers in two network namespaces (``failover.py``), SYNC_MASTER with SYNC_FLUSH on both;
kill, partition from everybody and partition of the pair in turn. Where namespaces are refused the
test says so, and the brokers are on two loopback addresses. The checker is that of
``test_kill.py``: acknowledged and not read is lost, read and never sent is unexpected.
"""

import json
import sys
from pathlib import Path

import pytest

from tests.programs import ran
from tests.server.failover import ENOUGH

REPOSITORY = Path(__file__).resolve().parents[2]


def namespaces_fail() -> str:
    """Return why there are no network namespaces here; empty when there are."""
    probe = ["unshare", "-n", "-m", "ip", "link", "add", "p", "type", "veth"]
    try:
        tried = ran(*probe, code=None)
    except OSError as error:
        return str(error)
    return tried.stderr.strip() if tried.returncode else ""


def play(directory: Path, cycles: int, role: str, *, apart: bool = True) -> dict[str, int]:
    """Run the cycles, in namespaces of their own if they can be had; returns what was found."""
    why = namespaces_fail() if apart else ""
    if why:
        print(f"on two loopback addresses, for network namespaces are refused: {why}")
    network, words = (
        ("loopback", []) if why or not apart else ("namespaces", ["unshare", "-n", "-m"])
    )
    words += [sys.executable, "-m", "tests.server.failover", str(directory), str(cycles), role]
    done = ran(*words, network, code=None, timeout_s=400 + 60 * cycles)
    logs = "".join(
        f"\n{path.name}:\n" + "".join(path.read_text().splitlines(keepends=True)[-30:])
        for path in sorted(directory.glob("*.log"))
    )
    assert done.returncode == 0, done.stderr + logs
    found: dict[str, int] = json.loads(done.stdout)
    print(found)
    return found


@pytest.mark.parametrize(
    ("cycles", "apart"), [(3, True), (2, False), pytest.param(20, True, marks=pytest.mark.soak)]
)
def test_nothing_acknowledged_is_lost_with_the_master(
    tmp_path: Path, cycles: int, apart: bool
) -> None:
    found = play(tmp_path, cycles, "SYNC_MASTER", apart=apart)

    assert found["acknowledged"] >= ENOUGH * cycles
    assert (found["lost"], found["moved"], found["unexpected"]) == (0, 0, 0)


@pytest.mark.parametrize("cycles", [1, pytest.param(6, marks=pytest.mark.soak)])
def test_what_an_asynchronous_master_loses_is_the_end_of_its_log(
    tmp_path: Path, cycles: int
) -> None:
    found = play(tmp_path, cycles, "ASYNC_MASTER")

    assert found["acknowledged"] >= ENOUGH * cycles
    # How much is lost is printed: the replication lag, or all that an isolated master took.
    assert (found["holes"], found["moved"], found["unexpected"]) == (0, 0, 0)
