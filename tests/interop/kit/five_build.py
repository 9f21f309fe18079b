"""The programs of ``tests/interop/five``: one for each official client of RocketMQ 5, built.

    five/<name>/   sources, and a lock file or exact versions of everything that is fetched
    five/<name>/target   what was fetched and built; Node's packages are in node_modules

Rule: built once per checkout. ``target/stamp`` holds a digest of everything that went in; when it
still fits, nothing runs. A file lock keeps two test runs from building at once. Where a tool is
missing or packages cannot be had, tests are skipped; under CI they fail.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.programs import absent

FIVE: Final = Path(__file__).resolve().parent.parent / "five"
_STEP_TIMEOUT_S: Final = 1_800.0
"""For one command; Rust compiles some 150 crates."""
_PATHS: Final = ("/usr/local/go/bin", str(Path.home() / ".cargo" / "bin"))
"""Where Go and Rust are installed when nobody has put them on the path."""


class Chain(NamedTuple):
    """How one program is made and started; commands run in its folder.

    Attributes:
        tools: programs that are needed.
        inputs: patterns of the files that go in.
        fetch: commands that get packages from a registry.
        build: commands that compile what is in the folder.
        run: the command line of the program, relative to its folder.
    """

    tools: tuple[str, ...]
    inputs: tuple[str, ...]
    fetch: tuple[tuple[str, ...], ...]
    build: tuple[tuple[str, ...], ...]
    run: tuple[str, ...]


CHAINS: Final[Mapping[str, Chain]] = {
    "python": Chain(
        tools=(),
        inputs=("requirements.lock",),
        fetch=(
            (sys.executable, "-m", "venv", "--clear", "target/venv"),
            ("target/venv/bin/pip", "install", "-q", "--require-hashes", "-rrequirements.lock"),
        ),
        build=(),
        run=("target/venv/bin/python", "-u", "client.py"),
    ),
    "java": Chain(
        tools=("java", "javac", "mvn"),
        inputs=("pom.xml", "src/*.java"),
        fetch=(
            (
                *("mvn", "-q", "-B", "dependency:copy-dependencies"),
                *("-DoutputDirectory=target/lib", "-DincludeScope=runtime"),
            ),
        ),
        build=(("javac", "-cp", "target/lib/*", "-d", "target/classes", "src/Client.java"),),
        run=(
            *("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-cp", "target/classes:target/lib/*", "Client"),
        ),
    ),
    "go": Chain(
        tools=("go",),
        inputs=("go.mod", "go.sum", "*.go"),
        fetch=(("go", "mod", "download"),),
        build=(("go", "build", "-mod=readonly", "-o", "target/client", "."),),
        run=("target/client",),
    ),
    "node": Chain(
        tools=("node", "npm"),
        inputs=("package.json", "package-lock.json"),
        fetch=(("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"),),
        build=(),
        run=("node", "client.js"),
    ),
    "rust": Chain(
        tools=("cargo",),
        inputs=("Cargo.toml", "src/*.rs"),
        fetch=(("cargo", "fetch", "-q"),),
        build=(("cargo", "build", "-q"),),
        run=("target/debug/client",),
    ),
}


def program(name: str) -> list[str]:
    """Return the command line of a program, to run in its folder; build what is out of date.

    Args:
        name: a key of ``CHAINS``.

    Raises:
        RuntimeError: what is in the folder does not compile; the compiler's output is in the text.
    """
    chain, home = CHAINS[name], FIVE / name
    search = os.pathsep.join((os.environ["PATH"], *_PATHS))
    missing = [tool for tool in chain.tools if shutil.which(tool, path=search) is None]
    if missing:
        absent(f"{', '.join(missing)} not on the path")
    target = home / "target"
    target.mkdir(exist_ok=True)
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _make(chain, home, search)
    return list(chain.run)


def _make(chain: Chain, home: Path, search: str) -> None:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in chain.inputs for path in home.glob(pattern)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    stamp = home / "target" / "stamp"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    environment = {**os.environ, "PATH": search}
    for words in chain.fetch:
        done = _run(words, home, environment)
        if done.returncode:
            absent(f"packages cannot be had: {_output(done)}")
    for words in chain.build:
        done = _run(words, home, environment)
        if done.returncode:
            raise RuntimeError(f"{words[0]} ended with {done.returncode}: {_output(done)}")
    stamp.write_text(digest.hexdigest())


def _run(
    words: tuple[str, ...], home: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words,
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_STEP_TIMEOUT_S,
        check=False,
    )


def _output(done: "subprocess.CompletedProcess[str]") -> str:
    return (done.stdout + done.stderr)[-2_000:]
