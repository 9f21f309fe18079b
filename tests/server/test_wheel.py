"""A wheel has the kernels, and serves where it is installed and the checkout is not."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from storefmt.formats.kernels import PURE
from tests.golden import REPOSITORY

SENDS = """
import asyncio, sys
from pathlib import Path

from mqclient import Message, MQClient, Producer
from server.broker import app
from server.embedded import Embedded

assert Path(app.__file__).is_relative_to(sys.prefix), app.__file__
taken = []
plain_sends = app.plain_sends


def counted(*parts):
    take = plain_sends(*parts)

    def counting(conn, data):
        size = take(conn, data)
        taken.append(size)
        return size

    return counting


async def run(store):
    app.plain_sends = counted
    servers = Embedded(store)
    addresses = await servers.start()
    async with MQClient(addresses.namesrv) as client, Producer(client, "wheel") as producer:
        results = [await producer.send(Message("TopicTest", b"hello")) for _ in range(20)]
    await servers.stop()
    print(len(results), "sent,", sum(size > 0 for size in taken), "reads taken by the kernel")


asyncio.run(run(Path(sys.argv[1])))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Return what a program printed; neither this checkout nor the environment reaches it."""
    env = {name: text for name, text in os.environ.items() if name not in (PURE, "PYTHONPATH")}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """The programs of an environment with this project's wheel, and the packages it needs."""
    if shutil.which("cc") is None:
        assert os.environ.get("CI") != "true", "there is no C compiler"
        pytest.skip("there is no C compiler here")
    tree, wheels, home = tmp_path / "tree", tmp_path / "wheels", tmp_path / "venv"
    unneeded = (".git", ".venv", "build", "dist", "*.so", "__pycache__", "target", "*.egg-info")
    shutil.copytree(REPOSITORY, tree, ignore=shutil.ignore_patterns(*unneeded, ".*_cache"))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", wheels, ".", cwd=tree)
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=tmp_path)
    python = home / "bin" / "python"
    (wheel,) = wheels.iterdir()
    run(*pip, "--python", python, "install", "-q", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # What it needs comes from the environment of the tests: nothing is fetched. The directory
    # stands behind the one with the wheel in the path.
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_an_installed_wheel_takes_sends_with_its_kernels(clean: Path, tmp_path: Path) -> None:
    version = run(clean / "mqbroker", "--version", cwd=tmp_path)
    said = run(clean / "python", "-c", SENDS, tmp_path / "store", cwd=tmp_path)

    kernels = version.strip().partition("kernels: ")[2].split(", ")
    wanted = {
        "acl",
        "dispatch",
        "fast_path",
        "flusher",
        "index",
        "javahash",
        "mapped",
        "message",
        "send",
    }
    assert wanted <= set(kernels)
    sent, _, taken = said.partition(" sent, ")
    assert sent == "20"
    assert int(taken.split()[0]) >= 10
