"""The plugin gives a test session one running pair."""

import socket
import subprocess
import sys
from pathlib import Path

TEST = """
import socket
from pathlib import Path

SEEN = []

def connect(address):
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), 5).close()

def test_both_ports_answer(rocketmq):
    connect(rocketmq.namesrv)
    connect(rocketmq.broker)
    SEEN.append(rocketmq)
    Path("ports").write_text(rocketmq.namesrv)

def test_the_pair_is_shared(rocketmq):
    assert [rocketmq] == SEEN
    assert (rocketmq.store / "abort").exists()
"""


def test_a_session_gets_one_pair_and_leaves_none(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    root = Path(__file__).resolve().parents[2]
    # Loaded by its name: whether the package is installed makes no difference.
    environment = {
        "PYTHONPATH": str(root),
        "PATH": "/usr/bin:/bin",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "server.pytest_plugin", "test_it.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "2 passed" in done.stdout, done.stdout + done.stderr
    host, _, port = (tmp_path / "ports").read_text().rpartition(":")
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0
