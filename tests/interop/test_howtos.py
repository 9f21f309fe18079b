"""docs/howto/replace-a-java-broker.md, run against the real broker of 4.9.7."""

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from tests.interop.kit.servers import SMALL_STORE, JavaSide, Namesrv
from tests.ports import free_ports
from tests.test_howtos import check_page, clean_environment


def home_of_rocketmq(java_side: JavaSide, home: Path) -> Path:
    """Make a directory whose ``bin/mqbroker`` runs the real broker, and notes its process."""
    words = shlex.join(java_side.broker(Path("broker.conf"))[:-2])
    script = home / "bin" / "mqbroker"
    script.parent.mkdir(parents=True)
    script.write_text(f'echo $$ >>"$ROCKETMQ_HOME/pids"\nexec {words} "$@"\n')
    return home


@contextmanager
def java_broker(home: Path, directory: Path) -> Iterator[int]:
    """Run the broker until somebody ends it; at the end of the block kill what runs by then."""
    env = {**os.environ, "ROCKETMQ_HOME": str(home)}
    command = ["sh", str(home / "bin" / "mqbroker"), "-c", "broker.conf"]
    with (directory.parent / "java.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=directory, env=env, stdout=log, stderr=log)
    # A process that has ended is seen by others as long as nobody asked for its exit code.
    Thread(target=process.wait).start()
    try:
        yield process.pid
    finally:
        for pid in (home / "pids").read_text().split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue


def test_the_page_prints_what_it_says(
    java_side: JavaSide, namesrv: Namesrv, tmp_path: Path
) -> None:
    directory, port = tmp_path / "here", free_ports(4) + 2
    directory.mkdir()
    settings = {
        **SMALL_STORE,
        "brokerName": "broker-a",
        "brokerIP1": "127.0.0.1",
        "listenPort": str(port),
        "haListenPort": str(port + 1),
        "namesrvAddr": namesrv.address,
        "storePathRootDir": str(directory / "store"),
        "storePathCommitLog": str(directory / "store" / "commitlog"),
        "autoCreateTopicEnable": "true",
    }
    conf = directory / "broker.conf"
    conf.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    home = home_of_rocketmq(java_side, tmp_path / "rocketmq")
    env = {"NAMESRV_ADDR": namesrv.address, "ROCKETMQ_HOME": str(home)}

    with java_broker(home, directory) as pid:
        subprocess.run(
            ["sh", "-ec", "mqadmin wait broker --within 100s; mqadmin topic create orders -q 1"],
            env={**clean_environment(directory), **env},
            check=True,
        )
        check_page("replace-a-java-broker.md", directory, {**env, "JAVA_BROKER": str(pid)})
