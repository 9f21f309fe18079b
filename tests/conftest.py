"""What every test may ask for: golden stores, the fact tables, one Spark session, one pair."""

import asyncio
import gc
import inspect
import os
import shutil
import signal
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from mqserver.pytest_plugin import RocketMQ
from mqserver.runtime.program import event_loop
from tests import soak
from tests.facts import FACTS
from tests.golden import Golden
from tests.lanes import scheduler
from tests.programs import absent
from tests.tiers import Place, Tier, place_of, runs_pure, summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

MARKS = pytest.StashKey[dict[str, frozenset[str]]]()
"""The markers of every test that was collected, also of those that do not run."""
LEFT_OUT = pytest.StashKey[Counter[tuple[str, str]]]()
"""How many tests of which tier and kind do not run."""
PLACE = pytest.StashKey[Place]()
"""The tier of a test that was collected."""

# A busy machine may stop a process for longer than any deadline, and slowness is no failure here.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")
# A shell starts what runs in the background with Ctrl-C ignored, and children inherit that;
# the programs under test must hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Every Spark of a test lives for a minute or so, also where a program under test starts it:
# most of its work would be to compile itself for years to come.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function in an event loop of its own.

    Those of remoting and server run in the loop of servers: in uvloop's where it is installed,
    and with ``make pure`` in asyncio's.
    """
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    of_server = pyfuncitem.nodeid.startswith(("tests/remoting/", "tests/server/"))
    run = event_loop.run if of_server else asyncio.run
    run(coroutine_of(pyfuncitem))
    return True


async def coroutine_of(item: pytest.Function) -> None:
    """Run a test with the fixtures that it names.

    A fixture that is an asynchronous context is entered for the time of the test.
    """
    async with AsyncExitStack() as contexts:
        arguments = {}
        for name in item._fixtureinfo.argnames:
            found = item.funcargs[name]
            if isinstance(found, AbstractAsyncContextManager):
                found = await contexts.enter_async_context(found)
            arguments[name] = found
        await item.obj(**arguments)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> "LoadScopeScheduling":
    """Keep together what shares servers, where the suite runs in several processes."""
    return scheduler(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: all that is made stays until the end of the run.

    With some 16,000 tests that is a quarter of the time of collecting. What was collected is left
    out of every later look, so that a test that asks for one pays only for what it made itself.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def place(item: pytest.Item) -> Place:
    """Return the tier of a test."""
    marks = {mark.name for mark in item.iter_markers()}
    arguments = (
        item.callspec.params
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
        else {}
    )
    return place_of(item.nodeid, marks, arguments)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs Java, and the tests of the full tier, before pytest selects by markers."""
    if config.option.markexpr == Tier.SOAK.expression:
        items.sort(key=lambda item: not item.nodeid.startswith(soak.LONGEST))
    for item in items:
        if item.nodeid.startswith("tests/interop/"):
            item.add_marker("java")
        item.stash[PLACE] = place(item)
        if item.stash[PLACE].tier is Tier.FULL:
            item.add_marker("full")
        if runs_pure(item.nodeid):
            item.add_marker("pure")
    config.stash[MARKS] = {
        item.nodeid: frozenset(mark.name for mark in item.iter_markers()) for item in items
    }


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count what does not run; a process of several tells the one that started it."""
    if not items:
        return
    config = items[0].config
    left_out = config.stash.setdefault(LEFT_OUT, Counter())
    for item in items:
        tier, what = item.stash[PLACE]
        left_out[tier.name, what] += 1
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = [[*kind, count] for kind, count in left_out.items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: "WorkerController") -> None:
    """Take over what a process did not run: all of them collect the same."""
    told = getattr(node, "workeroutput", {}).get("left_out", [])
    node.config.stash[LEFT_OUT] = Counter({(tier, what): count for tier, what, count in told})


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which tests a tier left out, and which commands run them."""
    if config.option.markexpr in [tier.expression for tier in Tier]:
        for line in summary(config.stash.get(LEFT_OUT, Counter[tuple[str, str]]())):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def fact_tables() -> Path:
    """Return the directory of what the real classes say of themselves."""
    return FACTS


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Golden:
    """Return the golden stores; each call of ``store`` gives a private copy."""
    return Golden(tmp_path_factory.mktemp("golden"))


@pytest.fixture
def basic(golden: Golden) -> Path:
    """Return a fresh copy of the golden store ``basic``."""
    return golden.store("basic")


@pytest.fixture
def ipv6(golden: Golden) -> Path:
    """Return a fresh copy of the golden store ``ipv6``."""
    return golden.store("ipv6")


@pytest.fixture
def kinds(golden: Golden) -> Path:
    """Return a fresh copy of the golden store ``kinds``."""
    return golden.store("kinds")


@pytest.fixture(scope="session")
def rocketmq(rocketmq_broker: RocketMQ) -> RocketMQ:
    """Return the pair that the tests of this repository share."""
    return rocketmq_broker


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """Return a session on this machine, or skip where there is no Java."""
    if shutil.which("java") is None:
        absent("Spark needs Java 17 and none is on the PATH")
    # Most tests do without the import, and without Spark's packages.
    from mqspark.sessions import session

    made = session("local[2]")
    yield made
    made.stop()
