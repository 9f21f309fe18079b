"""The plugin gives a test session one running pair."""

import os
import socket
import sys
from pathlib import Path

from tests.golden import REPOSITORY
from tests.programs import ran

TEST = """
import socket
from pathlib import Path

SEEN = []

def connect(address):
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), 5).close()

def test_both_ports_answer(rocketmq_broker):
    connect(rocketmq_broker.namesrv)
    connect(rocketmq_broker.broker)
    SEEN.append(rocketmq_broker)
    Path("ports").write_text(rocketmq_broker.namesrv)

def test_the_pair_is_shared(rocketmq_broker):
    assert [rocketmq_broker] == SEEN
    assert (rocketmq_broker.store / "abort").exists()

def test_a_fresh_pair_is_another_one(rocketmq_broker, rocketmq_broker_fresh):
    connect(rocketmq_broker_fresh.broker)
    assert rocketmq_broker_fresh.store != rocketmq_broker.store
"""


def test_a_session_gets_one_pair_and_leaves_none(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    # Loaded by its name: whether the package is installed makes no difference.
    environment = {
        "PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY, REPOSITORY / "server"))),
        "PATH": "/usr/bin:/bin",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }

    done = ran(
        # No configuration that may lie in a directory above.
        *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path)),
        *("-p", "mqserver.pytest_plugin", "test_it.py"),
        code=None,
        cwd=tmp_path,
        env=environment,
    )

    assert "3 passed" in done.stdout, done.stdout + done.stderr
    host, _, port = (tmp_path / "ports").read_text().rpartition(":")
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0
