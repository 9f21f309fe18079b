"""The real RocketMQ as fixtures: one name server, one broker and one client JVM a session."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.javabuild import class_path, need_java
from tests.interop.rocketmq import JavaBroker, JavaHome, JavaNamesrv
from tests.interop.toolbox import Toolbox


@pytest.fixture(scope="session")
def java_home(tmp_path_factory: pytest.TempPathFactory) -> JavaHome:
    """Return the Java side, built; skips (under CI: fails) where there is no Java."""
    need_java()
    return JavaHome(tmp_path_factory.mktemp("rocketmq"), class_path())


@pytest.fixture(scope="session")
def toolbox(java_home: JavaHome) -> Iterator[Toolbox]:
    """Yield the JVM that runs the Java client and the Java mqadmin."""
    running = Toolbox(java_home)
    try:
        yield running.await_ready()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def java_namesrv(java_home: JavaHome) -> Iterator[JavaNamesrv]:
    """Yield a real name server."""
    running = JavaNamesrv(java_home)
    try:
        yield running.await_ready()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def java_broker(
    java_home: JavaHome, java_namesrv: JavaNamesrv, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaBroker]:
    """Yield a real broker, registered with ``java_namesrv``."""
    store: Path = tmp_path_factory.mktemp("java") / "store"
    running = JavaBroker(java_home, store=store, namesrv=java_namesrv.address)
    try:
        yield running.await_ready()
    finally:
        # Nobody reads this store again, and an orderly stop takes the broker nine seconds.
        running.kill()
