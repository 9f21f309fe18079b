"""The limits of the system, and the share of the connections."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from mqserver.runtime.program import limits
from mqserver.runtime.program.limits import (
    CONNECTION_SIZE,
    memory_limit,
    process_resources,
    raise_descriptor_limit,
)

GIB = 1 << 30
UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.fixture
def rlimits(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[int, int]]:
    """The limits of this process, as the test sets them."""
    found: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: found.get(kind, UNLIMITED))
    monkeypatch.setattr(resource, "setrlimit", found.__setitem__)
    monkeypatch.setattr(limits.os, "sysconf", {"SC_PHYS_PAGES": 4 << 20, "SC_PAGE_SIZE": 4096}.get)
    return found


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_soft_limit_of_descriptors_becomes_the_hard_one(rlimits) -> None:
    rlimits[resource.RLIMIT_NOFILE] = (1_024, 4_096)

    assert raise_descriptor_limit() == 4_096

    assert rlimits[resource.RLIMIT_NOFILE] == (4_096, 4_096)


def test_a_limit_that_may_not_be_raised_stays(
    rlimits, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(kind: int, values: tuple[int, int]) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    rlimits[resource.RLIMIT_NOFILE] = (1_024, 4_096)

    assert raise_descriptor_limit() == 1_024

    assert "the limit of open files stays 1024" in caplog.text


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 16 * GIB),
        ({"proc/cgroup": "0::/box/one\n", "sys/box/one/memory.max": "max\n"}, 16 * GIB),
        ({"proc/cgroup": "0::/box/one\n", "sys/box/one/memory.max": f"{GIB}\n"}, GIB),
        ({"proc/cgroup": "0::/box/one\n", "sys/box/memory.max": f"{2 * GIB}\n"}, 2 * GIB),
        ({"proc/cgroup": "0::/outside\n", "sys/memory.max": f"{3 * GIB}\n"}, 3 * GIB),
        (
            {
                "proc/cgroup": "5:cpu,memory:/box\n3:cpuset:/box\n",
                "sys/memory/box/memory.limit_in_bytes": f"{GIB}\n",
            },
            GIB,
        ),
        (
            {
                "proc/cgroup": "4:memory:/\n0::/\n",
                "sys/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            16 * GIB,
        ),
    ],
)
def test_memory_is_the_least_of_machine_and_control_groups(
    rlimits, tmp_path: Path, files: dict[str, str], expected: int
) -> None:
    for name, text in files.items():
        write(tmp_path / name, text)

    assert memory_limit(proc=tmp_path / "proc", cgroups=tmp_path / "sys") == expected


def test_an_address_space_is_what_is_left_of_it(rlimits, tmp_path: Path) -> None:
    rlimits[resource.RLIMIT_AS] = (GIB, GIB)
    write(tmp_path / "statm", "65536 9000 800 1 0 3000 0\n")

    assert memory_limit(proc=tmp_path, cgroups=tmp_path) == GIB - 65_536 * 4_096


@pytest.mark.parametrize(
    ("descriptors", "memory", "expected"),
    [
        (256, 16 * GIB, 128),
        (1_024, 16 * GIB, 704),
        (20_000, 16 * GIB, 18_976),
        (resource.RLIM_INFINITY, 16 * GIB, 65_536),
        (20_000, 300 << 20, (300 << 20) // 4 // CONNECTION_SIZE),
        (16, 16 * GIB, 1),
    ],
)
def test_connections_leave_descriptors_and_memory_to_the_store(
    rlimits, monkeypatch: pytest.MonkeyPatch, descriptors: int, memory: int, expected: int
) -> None:
    rlimits[resource.RLIMIT_NOFILE] = (descriptors, descriptors)
    monkeypatch.setattr(limits, "memory_limit", lambda: memory)

    found = process_resources(64 << 20)

    assert found.places.count_max == expected
    assert found.budget.size_max == 64 << 20


@pytest.mark.parametrize(("memory", "expected"), [(16 * GIB, 4 * GIB), (64 << 20, 32 << 20)])
def test_a_quarter_of_the_memory_may_be_in_flight(
    monkeypatch: pytest.MonkeyPatch, memory: int, expected: int
) -> None:
    monkeypatch.setattr(limits, "memory_limit", lambda: memory)

    assert limits.in_flight_size() == expected


def faults_of_frames(first: str) -> int:
    """Return the page faults of 200 rounds in a process that gets and frees eight large frames."""
    program = f"""
from resource import RUSAGE_SELF, getrusage
from mqserver.runtime.program.limits import keep_freed_memory
{first}
def round(): frames = [bytes(120_000) for _ in range(8)]
round()
before = getrusage(RUSAGE_SELF).ru_minflt
for _ in range(200): round()
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""
    return int(subprocess.check_output([sys.executable, "-c", program]))


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is glibc's")
def test_memory_of_large_frames_is_used_again() -> None:
    assert faults_of_frames("assert keep_freed_memory()") * 20 < faults_of_frames("")
