"""Tests that share servers stay in one process and in their order; everything runs once."""

from itertools import groupby
from pathlib import Path

import pytest

from tests.golden import REPOSITORY
from tests.lanes import lane_of
from tests.programs import python

FILES = (
    "interop/test_a.py",
    "interop/test_b.py",
    "mqspark/jobs/test_c.py",
    "pipeline/test_d.py",
    "server/test_e.py",
    "server/test_f.py",
    "test_g.py",
)
CONTENT = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(3))
def test_it(number):
    with pathlib.Path({ran!r}).open("a") as ran:
        ran.write(f"{{os.environ['PYTEST_XDIST_WORKER']}} {file} {{number}}\\n")
"""


@pytest.mark.parametrize(
    ("node_id", "lane"),
    [
        ("tests/interop/test_acl.py::test_a[java]", "tests/interop/test_acl.py"),
        ("tests/interop/test_our_client.py::test_a[java]", "tests/interop/test_java_clients.py"),
        (
            "tests/interop/test_our_client_groups.py::test_a",
            "tests/interop/test_our_client_groups.py",
        ),
        ("tests/mqspark/jobs/test_stats.py::test_a", "tests/mqspark/"),
        (
            "tests/server/store/recovery/test_crash.py::test_a[x::y]",
            "tests/server/store/recovery/test_crash.py",
        ),
        ("tests/test_interop.py::test_a", "tests/test_interop.py"),
    ],
)
def test_lane_is_a_directory_that_shares_servers_or_a_file(node_id: str, lane: str) -> None:
    assert lane_of(node_id) == lane


def test_two_processes_share_the_lanes_and_keep_the_order_in_each(tmp_path: Path) -> None:
    notes = tmp_path / "ran"
    for file in FILES:
        path = tmp_path / "tests" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CONTENT.format(ran=str(notes), file=file))
    words = ["-m", "pytest", "-n", "2", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    env = {"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin"}

    python(*words, f"--rootdir={tmp_path}", "tests", cwd=tmp_path, env=env)

    lines = [line.split() for line in notes.read_text().splitlines()]
    assert sorted((file, number) for _, file, number in lines) == [
        (file, str(number)) for file in FILES for number in range(3)
    ]
    assert {worker for worker, _, _ in lines} == {"gw0", "gw1"}
    workers_of: dict[str, set[str]] = {}
    for worker, file, _ in lines:
        workers_of.setdefault(lane_of(f"tests/{file}"), set()).add(worker)
    assert {len(workers) for workers in workers_of.values()} == {1}
    for _, of_one in groupby(sorted(lines, key=lambda line: line[0]), key=lambda line: line[0]):
        order = [(file, number) for _, file, number in of_one]
        assert order == sorted(order)
