"""The Go client (rocketmq-client-go v2) through the real servers, and through ours."""

import json
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop.kit.our_clients import make_topic
from tests.interop.kit.process import Child
from tests.interop.kit.servers import Broker, Namesrv, Servers, Side
from tests.programs import absent, ran

SOURCE: Final = Path(__file__).resolve().parent / "go"
BUILD_TIMEOUT_S: Final = 400.0
LINE_TIMEOUT_S: Final = 90.0
COUNT: Final = 4
HOWS: Final = ("sync", "async", "oneway", "batch")
QUICK_CHECK: Final = {"transactionCheckInterval": "1500", "transactionTimeOut": "4000"}

Line = dict[str, Any]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled Go program; skips without Go, or when its modules cannot be had."""
    go = shutil.which("go", path=f"{os.environ['PATH']}:/usr/local/go/bin")
    if go is None:
        pytest.skip("go is not on the path: install Go 1.20 or later")
    built = tmp_path_factory.mktemp("go") / "interop"
    done = ran(
        *(go, "build", "-mod=readonly", "-o", built, "."),
        code=None,
        cwd=SOURCE,
        timeout_s=BUILD_TIMEOUT_S,
    )
    if done.returncode:
        assert "main.go:" not in done.stderr, done.stderr
        absent(f"the modules of go.mod cannot be had: {done.stderr[-500:]}")
    return built


class Go:
    """The Go program against one pair of servers."""

    def __init__(self, program: Path, servers: Servers, scratch: Path) -> None:
        self._program = program
        self._namesrv = servers.namesrv.address
        self._scratch = scratch
        self.topic = f"Go_{uuid.uuid4().hex[:6]}"
        make_topic(servers, self.topic, 2)

    def start(self, mode: str, *, group: str, count: int) -> Child:
        """Start one mode."""
        group = f"{group}_{self.topic}"
        words = [str(self._program), mode, self._namesrv, self.topic, group, str(count)]
        log = self._scratch / f"{mode}.err"
        return Child(words, log=log, directory=self._scratch, piped=True)

    def run(self, mode: str, *, group: str, count: int) -> list[Line]:
        """Run one mode to its end, return its lines."""
        return lines_of(self.start(mode, group=group, count=count))


def line_of(child: Child) -> Line:
    """Return the next line; raises ChildEnded."""
    return dict(json.loads(child.line(timeout_s=LINE_TIMEOUT_S)))


def lines_of(child: Child) -> list[Line]:
    """Return the lines of a program that ends by itself; raises ChildEnded when it fails."""
    return [json.loads(line) for line in child.rest(timeout_s=LINE_TIMEOUT_S)]


@pytest.fixture
def go(program: Path, servers: Servers, tmp_path: Path) -> Go:
    """Return the program against the pair, with a topic of its own."""
    return Go(program, servers, tmp_path)


def bodies(lines: list[Line]) -> list[str]:
    return sorted(line["body"] for line in lines if line["event"] == "message")


ALL: Final = sorted([*(f"{how} {i}" for how in HOWS for i in range(COUNT)), "delay 0"])


def test_what_go_sends_go_receives_by_push_and_pull(go: Go) -> None:
    sent = go.run("send", group="P", count=COUNT)

    # A pull consumer gets its queues after 20 seconds; both wait at the same time.
    pulling = go.start("pull", group="Pull", count=len(ALL))
    pushing = go.start("push", group="Push", count=len(ALL))
    pushed, pulled = lines_of(pushing), lines_of(pulling)

    assert {line["status"] for line in sent} == {0}
    assert sorted(line["how"] for line in sent) == sorted(
        ["sync"] * COUNT + ["async"] * COUNT + ["batch", "delay"]
    )
    assert bodies(pushed) == bodies(pulled) == ALL
    # The message that was refused once came back by the retry topic.
    assert [line["times"] for line in pushed if line["body"] == "sync 0"] == [1]
    for line in pulled:
        how, number = line["body"].split()
        assert line["keys"] == f"{how}{number}"
        assert line["tags"] == f"Tag{int(number) % 2}"


def test_orderly_consumer_gets_each_queue_in_order(go: Go) -> None:
    go.run("send", group="P", count=COUNT)

    lines = go.run("orderly", group="Orderly", count=len(ALL))

    assert bodies(lines) == ALL
    for queue_id in (0, 1):
        offsets = [line["offset"] for line in lines if line["queue"] == queue_id]
        assert offsets == sorted(offsets)


def test_transactions_are_committed_rolled_back_and_checked(
    side: Side, namesrv: Namesrv, program: Path, tmp_path: Path
) -> None:
    broker = quick_broker(side, tmp_path / "store", namesrv.address, QUICK_CHECK)
    try:
        go = Go(program, Servers(side.name, namesrv, broker), tmp_path)
        producing = go.start("transaction", group="T", count=3)
        lines = [line_of(producing) for _ in range(4)]
        got = go.run("push", group="Push", count=2)
        producing.stop()
    finally:
        broker.kill()

    assert [line["how"] for line in lines[:3]] == ["Commit", "Rollback", "Unknown"]
    assert (lines[3]["event"], lines[3]["body"]) == ("checked", "Unknown")
    assert bodies(got) == ["Commit", "Unknown"]


def quick_broker(side: Side, store: Path, namesrv: str, settings: Mapping[str, str]) -> Broker:
    """Return a broker of its own name that asks about open transactions at once."""
    named = {**settings, "brokerName": "broker-go"}
    return Broker(side, store=store, namesrv=namesrv, settings=named).await_ready()
