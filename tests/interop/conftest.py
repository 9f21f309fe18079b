"""Both sides as fixtures: a name server and a broker each, and one JVM of Java clients.

    servers   the pair a test talks to: once the real one, once ours

Rule: a test of ``servers`` asserts the same of both, so that the real servers show first
that the test itself is right.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.kit.java_build import JAVA_FIVE, class_path, need_java
from tests.interop.kit.our_clients import await_registered
from tests.interop.kit.scene import Scene, play, settle
from tests.interop.kit.servers import (
    Broker,
    JavaSide,
    Namesrv,
    OurSide,
    Servers,
    Side,
    running_pair,
)
from tests.interop.kit.toolbox import Toolbox


@pytest.fixture(scope="session")
def java_side(tmp_path_factory: pytest.TempPathFactory) -> JavaSide:
    """Return the Java side, built; skips (under CI: fails) where there is no Java."""
    need_java()
    return JavaSide(tmp_path_factory.mktemp("java"), class_path())


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> JavaSide:
    """Return how programs and servers of 5.4.0 are run."""
    need_java()
    return JavaSide(tmp_path_factory.mktemp("five"), class_path(JAVA_FIVE))


@pytest.fixture(scope="module")
def five_tool(five: JavaSide) -> Iterator[Toolbox]:
    """Yield the JVM that runs mqadmin of 5.4.0."""
    running = Toolbox(five, main="FiveAdmin")
    try:
        yield running.await_ready()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def five_pair(five: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Yield a name server and a broker of 5.4.0.

    They end with the module, since an idle broker of 5.4.0 takes a third of a processor.
    """
    quick = {
        "transactionCheckInterval": "3000",
        "transactionTimeOut": "3000",
        # 5.x notes for 3 s what was decided before it stores that, and asks again meanwhile.
        "transactionOpBatchInterval": "100",
        "recallMessageEnable": "true",
    }
    with running_pair(five, tmp_path_factory.mktemp("five") / "store", settings=quick) as found:
        await_registered(found)
        yield found


@pytest.fixture(scope="session")
def our_side(tmp_path_factory: pytest.TempPathFactory) -> OurSide:
    """Return our own side."""
    return OurSide(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module", params=["java", "ours"])
def side(request: pytest.FixtureRequest, java_side: JavaSide, our_side: OurSide) -> Side:
    """Return the real side, then ours."""
    return java_side if request.param == "java" else our_side


@pytest.fixture(params=["java first", "ours first"])
def sides(request: pytest.FixtureRequest, java_side: JavaSide, our_side: OurSide) -> list[Side]:
    """Return both sides in one order, then in the other."""
    return [java_side, our_side] if request.param == "java first" else [our_side, java_side]


@pytest.fixture(scope="session")
def toolbox(java_side: JavaSide) -> Iterator[Toolbox]:
    """Yield the JVM that runs the Java client and the Java mqadmin."""
    running = Toolbox(java_side)
    try:
        yield running.await_ready()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def java_namesrv(java_side: JavaSide) -> Iterator[Namesrv]:
    """Yield a real name server."""
    with Namesrv(java_side) as namesrv:
        yield namesrv


@pytest.fixture(scope="session")
def java_broker(
    java_side: JavaSide, java_namesrv: Namesrv, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """Yield a real broker, registered with ``java_namesrv``."""
    store: Path = tmp_path_factory.mktemp("java") / "store"
    # Nobody reads this store again, and an orderly stop takes the broker nine seconds.
    with Broker(java_side, store=store, namesrv=java_namesrv.address) as broker:
        yield broker


def _our_namesrv(our_side: OurSide) -> Iterator[Namesrv]:
    with Namesrv(our_side) as namesrv:
        yield namesrv
        assert namesrv.stop() == 0


@pytest.fixture(scope="session")
def our_namesrv(our_side: OurSide) -> Iterator[Namesrv]:
    """Yield our name server."""
    yield from _our_namesrv(our_side)


@pytest.fixture(scope="module")
def namesrv(our_side: OurSide) -> Iterator[Namesrv]:
    """Yield a name server of ours for one module alone."""
    yield from _our_namesrv(our_side)


@pytest.fixture(scope="session")
def our_broker(
    our_side: OurSide, our_namesrv: Namesrv, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """Yield our broker, registered with ``our_namesrv``."""
    store: Path = tmp_path_factory.mktemp("ours") / "store"
    with Broker(our_side, store=store, namesrv=our_namesrv.address) as broker:
        yield broker
        assert broker.stop() == 0


@pytest.fixture(scope="session", params=["java", "ours"])
def servers(request: pytest.FixtureRequest) -> Servers:
    """Return the real pair, then ours."""
    prefix = {"java": "java", "ours": "our"}[request.param]
    namesrv = request.getfixturevalue(f"{prefix}_namesrv")
    return Servers(request.param, namesrv, request.getfixturevalue(f"{prefix}_broker"))


@pytest.fixture(scope="module")
def scenes(
    toolbox: Toolbox,
    java_side: JavaSide,
    our_side: OurSide,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Scene, Scene]]:
    """Yield the scene on a real pair and on one of ours, both with empty stores."""
    with ExitStack() as running:
        pairs = [
            running.enter_context(
                running_pair(
                    side,
                    tmp_path_factory.mktemp(side.name) / "store",
                    settings={"traceTopicEnable": "true"},
                )
            )
            for side in (java_side, our_side)
        ]
        java, ours = (play(servers, toolbox) for servers in pairs)
        for scene in (java, ours):
            scene.consumer.messages(6)
            asyncio.run(settle(scene.servers))
        yield java, ours
        java.consumer.stop()
        ours.consumer.stop()
