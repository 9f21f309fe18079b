"""What `make wheel` builds serves in clean environments, where the checkout does not reach.

    mqclient        the code, as source, with kernels and without; needs two codecs
    mqadmin         the programs and their files, and the extra `cli`

    this Python     offline: what the project needs comes from the environment of the tests
    newest Python   of this machine: pip gets the locked versions from the package index, once

Each environment sends messages through its own broker. What the project needs is installed in its
locked versions, so that a release of another package changes no result.
"""

import json
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mqadmin import VERSION
from mqadmin.installation import FILES
from storefmt.kernels import PURE
from tests.golden import REPOSITORY
from tests.programs import absent, ran

DISTRIBUTION = "mqclient"
"""The one with the code; `mqadmin` adds the programs and the extra `cli`."""
TOOLKIT = "mqadmin"
KERNELS = {
    "acl", "dispatch", "fast_path", "flusher", "index", "javahash", "mapped", "message", "send"
}  # fmt: skip
"""What a broker with kernels has imported when it tells its version."""
NOT_BUILT = "none (not built"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
EXTRAS = metadata.metadata(TOOLKIT).get_all("Provides-Extra") or []

SENDS = """
import asyncio, sys
from pathlib import Path

from mqclient import Message, MQClient, Producer
from mqserver.broker import app
from mqserver.embedded import Embedded

assert Path(app.__file__).is_relative_to(sys.prefix), app.__file__
taken = []
plain_sends = app.plain_sends


def counted(*parts):
    take = plain_sends(*parts)

    def counting(conn, data):
        size = take(conn, data)
        taken.append(size)
        return size

    return take and counting


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

IMPORTS = """
import importlib, json, pkgutil, sys

missing = []


def try_to_import(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing.append(error.name.partition(".")[0])


for top in ("storefmt", "remoting", "mqclient", "mqserver", "mqadmin", "mqspark"):
    for module in pkgutil.walk_packages(importlib.import_module(top).__path__, top + "."):
        if not module.name.endswith("__main__"):
            try_to_import(module.name)
for name in sys.argv[1:]:
    try_to_import(name)
print(json.dumps(sorted(set(missing))))
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Return what a program printed; neither this checkout nor its settings reach it."""
    return ran(*command, cwd=cwd, env=outside() | environment).stdout


def outside() -> dict[str, str]:
    """Return the variables of the tests without those that name this checkout."""
    return {name: text for name, text in os.environ.items() if name not in (PURE, "PYTHONPATH")}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory with what `make wheel` builds in a copy of the tree."""
    if shutil.which("cc") is None:
        absent("there is no C compiler")
    tree = tmp_path_factory.mktemp("built") / "tree"
    unneeded = (".git", ".venv", "build", "dist", "*.so", "__pycache__", "target", "*.egg-info")
    shutil.copytree(REPOSITORY, tree, ignore=shutil.ignore_patterns(*unneeded, ".*_cache"))
    # The tools are those of the tests, also where a lock file is newer than their installation.
    made = "build/wheel-venv/.wheel"
    run("make", f"WHEEL_PYTHON={sys.executable}", "-o", made, "wheel", cwd=tree)
    return tree / "dist"


def kernel_wheel(dist: Path) -> Path:
    (found,) = dist.glob(f"{DISTRIBUTION}-*-cp*.whl")
    return found


def pure_wheel(dist: Path) -> Path:
    (found,) = dist.glob(f"{DISTRIBUTION}-*-py3-none-any.whl")
    return found


def toolkit(dist: Path) -> Path:
    (found,) = dist.glob(f"{TOOLKIT}-*-py3-none-any.whl")
    return found


def source(dist: Path) -> Path:
    (found,) = dist.glob(f"{DISTRIBUTION}-*.tar.gz")
    return found


def environment(home: Path) -> Path:
    """Make an environment of this Python, without any package; return its programs."""
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home.parent)
    return home / "bin"


def packages_of(programs: Path) -> Path:
    base = str(programs.parent)
    return Path(sysconfig.get_path("purelib", vars={"base": base, "platbase": base}))


def install(programs: Path, file: Path, **settings: str) -> None:
    """Install the code and the programs without what they need, and without an index."""
    install_alone(programs, toolkit(file.parent))
    install_alone(programs, file, **settings)


def install_alone(programs: Path, file: Path, **settings: str) -> None:
    """Install one file without what it needs, and without an index."""
    line = ("install", "-q", "--no-deps", "--no-build-isolation", "--no-index", "--no-cache-dir")
    run(*PIP, "--python", programs / "python", *line, file, cwd=programs.parent, **settings)


def lend_all(programs: Path) -> None:
    """Give an environment every package of the tests, behind its own in the path."""
    (packages_of(programs) / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")


def requirements(name: str, extras: Iterable[str]) -> Iterator[Requirement]:
    """Yield what an installed distribution needs with some of its extras."""
    for line in metadata.requires(name) or ():
        needed = Requirement(line)
        asked = [{"extra": extra} for extra in ("", *extras)]
        if needed.marker is None or any(needed.marker.evaluate(each) for each in asked):
            yield needed


def closure(name: str, extras: Iterable[str]) -> dict[str, str]:
    """Return all that a distribution needs, with the version here; each one has to fit.

    The packages of the tests are one resolution of the locked requirements.
    """
    found: dict[str, str] = {}
    wanted = list(requirements(name, extras))
    seen = set()
    while wanted:
        needed = wanted.pop()
        if str(needed) in seen:
            continue
        seen.add(str(needed))
        version = metadata.version(needed.name)
        assert needed.specifier.contains(version), (str(needed), version)
        found[canonicalize_name(needed.name)] = version
        wanted += requirements(needed.name, needed.extras)
    return found


def canonical(needed: Iterable[Requirement]) -> set[str]:
    """Return the names of some requirements, as an index spells them."""
    return {canonicalize_name(each.name) for each in needed}


def lend(programs: Path, names: Iterable[str]) -> None:
    """Give an environment some packages of the tests and no others."""
    home = packages_of(programs)
    for name in names:
        for top in {file.parts[0] for file in metadata.files(name) or ()}:
            link = home / top
            if top not in ("..", "__pycache__") and not link.exists():
                link.symlink_to(metadata.distribution(name).locate_file(top))


def tops_of(names: Iterable[str]) -> set[str]:
    """Return what some distributions are imported as."""
    wanted = {canonicalize_name(name) for name in names}
    return {
        top
        for top, owners in metadata.packages_distributions().items()
        if not top.startswith("_") and wanted & {canonicalize_name(owner) for owner in owners}
    }


def kernels_of(programs: Path, scratch: Path) -> str:
    """Return what `mqbroker --version` says of kernels, after a run of its broker."""
    said = run(programs / "python", "-c", SENDS, scratch / "store", cwd=scratch)
    sent, _, taken = said.partition(" sent, ")
    assert sent == "20"
    told = run(programs / "mqbroker", "--version", cwd=scratch).strip().partition("kernels: ")[2]
    # The kernel takes what came while the topic was there.
    assert (int(taken.split()[0]) >= 10) == (not told.startswith("none")), (said, told)
    return told


def test_a_wheel_with_kernels_takes_sends_with_them(dist: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "venv")
    install(programs, kernel_wheel(dist))
    lend_all(programs)

    told = kernels_of(programs, tmp_path)

    assert set(told.split(", ")) >= KERNELS


RECEIVES = """
import asyncio, sys
from importlib.util import find_spec
from pathlib import Path

from mqclient import BlockingClient, Message
from mqserver.embedded import Embedded

names = ("click", "rich", "prompt_toolkit", "yaml", "msgpack")
missing = [name for name in names if not find_spec(name)]


def sent_and_received(namesrv):
    with BlockingClient(namesrv) as client:
        client.send(Message("TopicTest", b"hello" * 2000))
        with client.lite_pull_consumer("readers", {"TopicTest": "*"}) as consumer:
            return [message.body for message in consumer.poll()]


async def run(store):
    servers = Embedded(store)
    addresses = await servers.start()
    bodies = await asyncio.to_thread(sent_and_received, addresses.namesrv)
    await servers.stop()
    print(len(missing), bodies == [b"hello" * 2000])


asyncio.run(run(Path(sys.argv[1])))
"""


def test_the_client_sends_and_receives_with_nothing_but_its_two_codecs(
    dist: Path, tmp_path: Path
) -> None:
    programs = environment(tmp_path / "venv")
    install_alone(programs, pure_wheel(dist))
    lend(programs, closure(DISTRIBUTION, []))

    said = run(programs / "python", "-c", RECEIVES, tmp_path / "store", cwd=tmp_path)

    assert closure(DISTRIBUTION, []).keys() == {"lz4", "zstandard"}
    assert said == "5 True\n"
    assert [path.name for path in programs.iterdir() if path.name.startswith("mq")] == []


def test_the_command_line_without_its_packages_says_what_to_install(
    dist: Path, tmp_path: Path
) -> None:
    programs = environment(tmp_path / "venv")
    install_alone(programs, pure_wheel(dist))
    lend(programs, closure(DISTRIBUTION, []))

    done = ran(programs / "python", "-m", "mqadmin", "topic", "list", code=1, cwd=tmp_path)

    assert done.stderr == "error: click is not installed; pip install mqadmin\n"


def test_the_two_distributions_are_of_one_version_and_offer_the_same_extras() -> None:
    assert metadata.version(TOOLKIT) == metadata.version(DISTRIBUTION) == VERSION
    offered = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    assert {*EXTRAS, "cli"} == {*offered}
    for extra in ["", *EXTRAS]:
        named = {str(each).partition(";")[0].strip() for each in requirements(TOOLKIT, [extra])}
        wanted = {f"{DISTRIBUTION}[{each}]=={VERSION}" for each in ("cli", extra) if each}
        assert named == wanted


def test_man_pages_completions_units_and_dashboard_are_installed(
    dist: Path, tmp_path: Path
) -> None:
    programs = environment(tmp_path / "venv")
    install(programs, pure_wheel(dist))
    lend_all(programs)

    told = run(programs / "mqadmin", "--version", cwd=tmp_path).splitlines()[4]

    share = tmp_path / "venv" / "share"
    assert told == f"files: {share} ({', '.join(FILES)})"
    assert [name for name in FILES if not (share / name).exists()] == []
    assert (share / "man/man1/mqadmin-topic-list.1").is_file()
    assert {path.name for path in (share / "mqadmin/systemd").iterdir()} == {
        "mqbroker.service", "mqcontroller.service", "mqnamesrv.service"
    }  # fmt: skip


def test_wheels_are_built_without_spark() -> None:
    steps = ran("make", "--dry-run", "--always-make", "wheel").stdout
    locked = (REPOSITORY / "requirements" / "wheel.lock").read_text()

    assert "requirements/wheel.lock" in steps
    assert "dev.lock" not in steps
    assert set(re.findall(r"^([\w-]+)==", locked, re.MULTILINE)) == {"cython", "setuptools"}


def test_pip_resolves_it_beside_a_project_that_caps_click(dist: Path, tmp_path: Path) -> None:
    """With the package index: versions of what the project needs are pip's own choice."""
    home = tmp_path / "venv"
    run(sys.executable, "-m", "venv", home, cwd=tmp_path)
    line = ("install", "--dry-run", "--find-links", dist, "mqadmin", "click<8.2")

    said = fetch(home / "bin" / "python", *line, cwd=tmp_path)

    assert re.search(r"Would install .*click-8\.1\.\d+ .*mqadmin-", said), said


NO_COMPILER = {
    "not in the path": lambda programs: {"PATH": str(programs)},
    "does not work": lambda programs: {"CC": "/bin/false"},
}


@pytest.mark.parametrize("compiler", NO_COMPILER)
def test_the_source_without_a_compiler_serves_without_kernels(
    dist: Path, tmp_path: Path, compiler: str
) -> None:
    programs = environment(tmp_path / "venv")
    lend_all(programs)

    install(programs, source(dist), **NO_COMPILER[compiler](programs))

    assert kernels_of(programs, tmp_path).startswith(NOT_BUILT)


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_each_extra_alone_has_what_it_imports(dist: Path, tmp_path: Path, extra: str) -> None:
    programs = environment(tmp_path / "venv")
    install(programs, kernel_wheel(dist))
    base = {needed.name for needed in requirements(DISTRIBUTION, ["cli"])}
    ours = {needed.name for needed in requirements(DISTRIBUTION, ["cli", extra])}
    of_extras = {needed.name for needed in requirements(DISTRIBUTION, EXTRAS)} - base
    lend(programs, closure(DISTRIBUTION, ["cli", extra]))

    said = run(programs / "python", "-c", IMPORTS, *sorted(tops_of(ours)), cwd=tmp_path)

    missing = set(json.loads(said))
    assert not missing & tops_of(ours)
    # pytest itself loads the plugin.
    assert missing <= tops_of(of_extras) | {"pytest"}
    # An extra whose packages all came with this one is there, too.
    lent = closure(DISTRIBUTION, ["cli", extra]).keys()
    there = {
        each for each in ("cli", *EXTRAS) if canonical(requirements(DISTRIBUTION, [each])) <= lent
    }
    told = run(programs / "mqadmin", "--version", cwd=tmp_path).splitlines()[3]
    assert set(told.removeprefix("extras: ").split(", ")) == (there or {"none"})
    assert not extra or extra in there


def pythons() -> dict[tuple[int, ...], Path]:
    """Return the interpreters of this machine that the project supports, by version."""
    candidates = [Path(sys.executable)]
    candidates += [Path(found) for n in range(11, 30) if (found := shutil.which(f"python3.{n}"))]
    candidates += sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"))
    found: dict[tuple[int, ...], Path] = {}
    for path in candidates:
        told = ran(path, "--version", code=None)
        version = re.fullmatch(r"Python (3)\.(\d+)\.(\d+)\n", told.stdout)
        if version and int(version[2]) >= 11:
            found.setdefault(tuple(map(int, version.groups())), path)
    return found


@pytest.fixture(scope="module")
def newest() -> Path:
    """Return the newest Python of this machine."""
    found = pythons()
    version = max(found)
    if version[:2] == sys.version_info[:2]:
        pytest.skip(f"no Python newer than {version[0]}.{version[1]} is here")
    return found[version]


@pytest.fixture(scope="module")
def wheelhouse(newest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the locked versions of what the project needs, for that Python."""
    house = tmp_path_factory.mktemp("wheelhouse")
    lock = REPOSITORY / "requirements" / "shell.lock"
    line = ("download", "-q", "--no-deps", "--require-hashes", "-r", lock, "-d", house)
    fetch(newest, *line, cwd=house)
    # pipx begins with a pip of its own.
    fetch(newest, "download", "-q", "-d", house, "pip", cwd=house)
    return house


def fetch(python: Path, *line: str | Path, cwd: Path) -> str:
    """Run pip with the package index and return what it printed; skip where it has no index."""
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    done = ran(*pip, *line, code=None, cwd=cwd, env=outside())
    if done.returncode and "connection" in done.stderr.lower():
        absent(f"the package index cannot be reached: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def resolved(newest: Path, tmp_path: Path) -> Path:
    """Make an environment of the newest Python with nothing but pip; return its programs."""
    run(newest, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    return tmp_path / "venv" / "bin"


@pytest.mark.parametrize("file", [pure_wheel, source])
def test_the_newest_python_installs_it_with_what_it_needs(
    dist: Path, wheelhouse: Path, resolved: Path, tmp_path: Path, file: object
) -> None:
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-cache-dir")
    where = ("--no-index", "--find-links", wheelhouse)
    assert callable(file)

    run(resolved / "python", *pip, *where, file(dist), toolkit(dist), cwd=tmp_path)

    told = kernels_of(resolved, tmp_path)
    if file is source:
        assert set(told.split(", ")) >= KERNELS
    else:
        assert told.startswith(NOT_BUILT)
    assert "usage: mqnamesrv" in run(resolved / "mqnamesrv", "--help", cwd=tmp_path)
    assert "topic list" in run(resolved / "mqadmin", "help", "all", cwd=tmp_path)


def test_pipx_installs_the_programs(
    dist: Path, wheelhouse: Path, resolved: Path, tmp_path: Path
) -> None:
    fetch(resolved / "python", "install", "-q", "pipx", cwd=tmp_path)
    homes = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "programs")}
    where = f"--no-index --find-links {wheelhouse} --find-links {dist}"

    run(resolved / "pipx", "install", "--pip-args", where, toolkit(dist), cwd=tmp_path, **homes)

    programs = tmp_path / "programs"
    assert {path.name for path in programs.iterdir()} == {
        "mqadmin", "mqbroker", "mqcontroller", "mqnamesrv", "mqproxy"
    }  # fmt: skip
    assert run(programs / "mqadmin", "--version", cwd=tmp_path).startswith("mqadmin ")
