"""Live views, checks and documents against the real servers and ours, with a Java consumer."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import Servers
from tests.interop.kit.toolbox import Job, Toolbox, spec_of
from tests.waiting import eventually

TOPIC, GROUP = "LiveTopic", "LiveTopic_GROUP"


@pytest.fixture
def ask(servers: Servers, tmp_path: Path) -> OurMqadmin:
    """Return our mqadmin on the servers."""
    return OurMqadmin(servers.namesrv.address, {"HOME": str(tmp_path)})


@pytest.fixture
def consumer(ask: OurMqadmin, toolbox: Toolbox, servers: Servers) -> Iterator[Job]:
    """Return a live Java consumer that has read four messages in order."""
    ask("topic", "create", TOPIC, "-q", "2")
    spec = spec_of(servers, TOPIC, group=GROUP, mode="orderly", linger=True)
    job = toolbox.start("PushConsumer", spec)
    for number in range(4):
        ask("message", "send", TOPIC, f"m{number}", "--queue", str(number % 2))
    ask("wait", "lag", GROUP, TOPIC, "--within", "2m")
    yield job
    job.stop()


def test_views_of_a_live_group(ask: OurMqadmin, consumer: Job) -> None:
    async def owners() -> set[object]:
        return {row["client_id"] for row in ask("rebalance", "show", GROUP, TOPIC)}

    member = asyncio.run(eventually(owners, lambda found: len(found) == 1 and None not in found))
    assert ask("assert", "lag", GROUP, TOPIC)[0]["holds"]
    assert ask("assert", "group", GROUP, "--members", "1", "--within", "30s")[0]["holds"]
    assert ask("assert", "message-count", TOPIC, "--min", "4")[0]["holds"]
    ask("assert", "message-count", TOPIC, "--max", "3", exit_code=1)

    locks = ask("lock", "list", "-g", GROUP, "--topic", TOPIC)
    assert {row["client_id"] for row in locks} == member
    assert all(row["waiting"] == [] for row in locks)

    drawn = ask.text("rebalance", "plan", GROUP, TOPIC, "--add", "zz@new", "-o", "table")
    assert "then (AVG): 2 members read 2 of 2 queues, 1 each; 1 moves" in drawn
    told = ask("rebalance", "watch", GROUP, TOPIC, "--interval", "0.1", "--for", "50ms")
    assert [row["what"] for row in told] == ["joined", "taken", "taken"]

    rows = {(row["kind"], row["name"]): row for row in ask("top", "--once", "--interval", "0.1")}
    assert rows["group", GROUP]["members"] == 1
    assert rows["group", GROUP]["lag"] == 0
    assert ("topic", TOPIC) in rows


def test_doctor_export_diff_apply(ask: OurMqadmin, servers: Servers) -> None:
    ask("topic", "create", "DocTopic", "-q", "3")
    ask("wait", "topic", "DocTopic")
    checks = [word for name in ("address", "master", "clock", "slave") for word in ("-c", name)]
    assert ask("doctor", *checks) == []
    routes = [row for row in ask("doctor", "-c", "route") if "DocTopic" in row["subject"]]
    assert routes == []

    document = yaml.safe_load(ask.text("export", "-o", "yaml"))
    assert document["topics"]["DocTopic"]["*"]["read_queues"] == 3
    document = {"topics": {"DocTopic": {"*": {"read_queues": 4, "write_queues": 4}}}}
    text = yaml.safe_dump(document)
    applied = ask("apply", "-", stdin=text)
    assert [(row["name"], row["result"]) for row in applied] == [("DocTopic", "changed")]
    told = ask("diff", "-", stdin=text, exit_code=1)
    assert not [row for row in told if row["name"] == "DocTopic"]


def test_exporter_scrapes(ask: OurMqadmin, servers: Servers) -> None:
    found = {row["metric"] for row in ask("exporter", "--once")}

    assert {
        "rocketmq_brokeruntime_commitlog_maxoffset",
        "rocketmq_brokeruntime_put_tps10",
        "rocketmq_producer_offset",
    } <= found
