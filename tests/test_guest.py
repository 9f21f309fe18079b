"""The wheel in other people's projects: their names stay theirs, and ours are found.

A made-up application has packages called ``server``, ``pipeline``, ``config`` and ``tests``, and is
installed as editable beside the wheel. A hostile folder has modules that nobody survives who
imports them from the current folder.
"""

import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.golden import Golden
from tests.server.test_wheel import (
    PIP,
    dist,  # noqa: F401 - a fixture
    environment,
    install,
    lend_all,
    packages_of,
    pure_wheel,
    run,
)
from tests.waiting import wait

APPLICATION = {
    "pyproject.toml": """
[project]
name = "application"
version = "1"
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[tool.setuptools]
packages = ["server", "pipeline", "config"]
""",
    "server/__init__.py": "OWNER = 'application'\n",
    "pipeline/__init__.py": "OWNER = 'application'\n",
    "config/__init__.py": "",
    "tests/__init__.py": "",
    "tests/test_plain.py": """
import pipeline
import server


def test_the_application_imports_its_own():
    assert server.OWNER == pipeline.OWNER == "application"
""",
    "tests/test_orders.py": """
from mqclient import BlockingAdmin, BlockingClient, Message, MessageSelector


def test_a_topic_of_the_tests_own(rocketmq_client, rocketmq_topic):
    assert rocketmq_client.send(Message(rocketmq_topic, b"1")).status.name == "SEND_OK"


def test_sql_filters_work_as_they_come(rocketmq_client, rocketmq_topic):
    rocketmq_client.send(Message(rocketmq_topic, b"1", properties={"n": "1"}))
    rocketmq_client.send(Message(rocketmq_topic, b"2", properties={"n": "2"}))

    chosen = {rocketmq_topic: MessageSelector.by_sql("n > 1")}
    with rocketmq_client.lite_pull_consumer("sql", chosen) as consumer:
        assert [message.body for message in consumer.poll()] == [b"2"]


def test_what_is_stored_survives_a_kill_and_a_restart(rocketmq_broker_fresh):
    pair = rocketmq_broker_fresh
    before = pair.namesrv
    with BlockingClient(pair.namesrv) as client:
        client.send(Message("T", b"kept"))
    pair.kill()
    pair.start()
    pair.restart()

    assert pair.namesrv == before
    with BlockingClient(pair.namesrv) as client:
        with client.lite_pull_consumer("g", {"T": "*"}) as consumer:
            assert [message.body for message in consumer.poll()] == [b"kept"]


def test_a_pair_with_settings(rocketmq_start):
    pair = rocketmq_start({"autoCreateTopicEnable": "false"})

    with BlockingClient(pair.namesrv) as client, BlockingAdmin(client) as admin:
        assert admin.broker_config(pair.broker)["autoCreateTopicEnable"] == "false"
""",
}
HOSTILE = (
    "server/__init__.py", "pipeline/__init__.py", "remoting/__init__.py", "click/__init__.py",
    "rich/__init__.py", "yaml.py", "logging.py", "platform.py",
)  # fmt: skip


@pytest.fixture(scope="module")
def programs(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """Return the programs of an environment with the wheel and the application."""
    folder = tmp_path_factory.mktemp("guest")
    made = environment(folder / "venv")
    lend_all(made)
    install(made, pure_wheel(dist))
    application = folder / "application"
    for name, text in APPLICATION.items():
        (application / name).parent.mkdir(parents=True, exist_ok=True)
        (application / name).write_text(text)
    line = ("install", "-q", "--no-deps", "--no-build-isolation", "--no-index", "--editable", ".")
    run(*PIP, "--python", made / "python", *line, cwd=application)
    return made


@pytest.fixture(scope="module")
def application(programs: Path) -> Path:
    """Return the folder of the application."""
    return programs.parents[1] / "application"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a folder whose modules raise when they are imported."""
    for name in HOSTILE:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise ImportError('this module is not yours')\n")
    return tmp_path


def test_the_application_runs_its_tests_and_ours(programs: Path, application: Path) -> None:
    said = run(programs / "python", "-m", "pytest", "-q", "-p", "no:xdist", cwd=application)

    assert "5 passed" in said


@pytest.mark.parametrize(("shared", "count"), [("false", 2), ("true", 1)])
def test_workers_of_xdist_have_a_pair_each_or_share_one(
    programs: Path, tmp_path: Path, shared: str, count: int
) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nrocketmq_shared = {shared}\n")
    test = """
import pathlib

def test_{}(rocketmq_broker):
    pathlib.Path(rocketmq_broker.namesrv.replace(":", "-")).touch()
"""
    for number in range(2):
        (tmp_path / f"test_{number}.py").write_text(test.format(number))

    run(programs / "python", "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", cwd=tmp_path)

    assert len(list(tmp_path.glob("127.0.0.1-*"))) == count


def test_the_pair_ends_when_pytest_is_killed(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("""
import pathlib, time

def test_it(rocketmq_broker):
    pathlib.Path("store").write_text(str(rocketmq_broker.store))
    pathlib.Path("ports").write_text(rocketmq_broker.namesrv)
    time.sleep(600)
""")
    with subprocess.Popen([programs / "python", "-m", "pytest", "-q"], cwd=tmp_path) as process:
        wait(lambda: (tmp_path / "ports").exists())
        process.send_signal(signal.SIGKILL)

    host, _, port = (tmp_path / "ports").read_text().rpartition(":")
    wait(lambda: is_refused(host, int(port)))
    wait(lambda: not Path((tmp_path / "store").read_text()).exists())


def test_the_plugin_imports_nothing_of_the_server(programs: Path, tmp_path: Path) -> None:
    code = (
        "import pytest, json, sys; before = set(sys.modules)\n"
        "import mqserver.pytest_plugin\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )

    said = run(programs / "python", "-c", code, cwd=tmp_path)

    assert said.strip() == '["mqserver", "mqserver.pytest_plugin"]'


@pytest.mark.parametrize("engine", [("--engine", "local"), ()], ids=["local", "spark"])
@pytest.mark.parametrize("place", ["application", "hostile"])
def test_jobs_run_in_folders_with_names_of_ours(
    programs: Path, place: str, engine: tuple[str, ...], golden: Golden, request: object
) -> None:
    assert isinstance(request, pytest.FixtureRequest)
    folder = request.getfixturevalue(place)
    line = ("pipeline", "stats", golden.store("basic"), *engine, "-o", "json")

    assert '"topic"' in run(programs / "mqadmin", *line, cwd=folder)


@pytest.mark.parametrize("place", ["application", "hostile"])
def test_servers_and_shell_run_in_folders_with_names_of_ours(
    programs: Path, place: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(place)
    script = "topic create T --yes; message send T hello"

    assert "SEND_OK" in run(programs / "mqadmin", "shell", "--embedded", "-c", script, cwd=folder)
    for name in ("mqbroker", "mqnamesrv"):
        assert run(programs / name, "--version", cwd=folder).startswith(name)


def test_uninstalling_leaves_nothing_behind(
    dist: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    programs = environment(tmp_path / "venv")
    before = set(tmp_path.rglob("*"))
    install(programs, pure_wheel(dist))
    lend_all(programs)
    run(programs / "mqadmin", "--version", cwd=tmp_path)
    (packages_of(programs) / "needed.pth").unlink()

    run(*PIP, "--python", programs / "python", "uninstall", "-q", "-y", "mqadmin", cwd=tmp_path)

    # pip also removes folders that it leaves empty.
    left = set(tmp_path.rglob("*")) - before
    assert not {path for path in left if "__pycache__" not in path.parts}


def is_refused(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) != 0
