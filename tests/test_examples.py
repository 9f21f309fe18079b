"""The examples and the code of the README run against the embedded broker."""

import asyncio
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import yaml
from django.test import Client as DjangoClient

from examples import django_service
from examples.fastapi_service import app
from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqserver.pytest_plugin import RocketMQ
from storefmt.config.tables import TopicConfig
from tests.golden import REPOSITORY
from tests.programs import python
from tests.waiting import eventually, wait

CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def run(*words: str) -> list[str]:
    done = python(*words, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def filled(rocketmq: RocketMQ) -> RocketMQ:
    """Return the pair after the producer's example."""
    (line,) = run("-m", "examples.producer", rocketmq.namesrv)
    assert line.startswith("SEND_OK")
    return rocketmq


def test_push_consumer_gets_what_the_producer_sent(filled: RocketMQ) -> None:
    lines = run("-m", "examples.push_consumer", filled.namesrv, "5")

    assert sorted(lines) == [
        "new order 1",
        "new order 2",
        "new order 3",
        "state packed",
        "state sent",
    ]


def test_orderly_consumer_keeps_the_order_of_the_key(filled: RocketMQ) -> None:
    first, second = run("-m", "examples.orderly_consumer", filled.namesrv, "2")

    assert first.split()[::2] == [second.split()[0], "packed"]
    assert second.split()[2] == "sent"


def test_lite_pull_consumer_polls_and_commits(filled: RocketMQ) -> None:
    lines = run("-m", "examples.lite_pull_consumer", filled.namesrv, "3")

    assert sorted(lines) == ["order 1", "order 2", "order 3"]


def test_loops_and_blocks_consume_each_message_once(filled: RocketMQ) -> None:
    lines = run("-m", "examples.iteration", filled.namesrv, "3")

    assert sorted(lines) == sorted(
        f"{way} order {number}"
        for way in ("message", "batch", "acknowledged")
        for number in (1, 2, 3)
    )


def test_a_fast_producer_stores_every_reading(rocketmq: RocketMQ) -> None:
    assert run("-m", "examples.fast_producer", rocketmq.namesrv, "1000") == ["1000 stored"]


def test_handlers_get_typed_bodies_by_tag(rocketmq: RocketMQ) -> None:
    asyncio.run(make_topic(rocketmq, "ExampleTyped"))

    lines = run("-m", "examples.typed_handlers", rocketmq.namesrv)

    assert sorted(lines) == ["order 7 tea, cups", "paid 7 1250", "refunded 7 -1250"]


def test_broadcast_consumer_keeps_its_positions(filled: RocketMQ, tmp_path: Path) -> None:
    lines = run("-m", "examples.broadcast_consumer", filled.namesrv, "3", str(tmp_path))

    assert sorted(lines) == ["order 1", "order 2", "order 3"]
    assert [path.name for path in tmp_path.rglob("offsets.json")] == ["offsets.json"]


def test_outbox_writes_and_sends_both_or_neither(rocketmq: RocketMQ, tmp_path: Path) -> None:
    path = tmp_path / "orders.db"
    done = python("-m", "examples.transactional_outbox", rocketmq.namesrv, str(path))

    assert done.stdout.splitlines() == ["paid-1 COMMIT_MESSAGE", "paid-1-again UNKNOW"]
    assert "UNIQUE constraint failed: orders.id" in done.stderr
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT key FROM outbox").fetchall() == [("paid-1",)]


async def make_topic(rocketmq: RocketMQ, topic: str) -> None:
    """Return when the name server has a new topic."""
    async with MQClient(rocketmq.namesrv, timeout_s=60) as client:
        admin = Admin(client)
        await admin.create_topic(rocketmq.broker, TopicConfig(topic, 4, 4))
        await eventually(admin.topic_list, lambda names: topic in names)


def test_the_code_of_the_readme_runs(rocketmq: RocketMQ, tmp_path: Path) -> None:
    # A consumer says so on standard error when its topic has no route yet.
    asyncio.run(make_topic(rocketmq, "greetings"))
    awaiting, blocking = CODE.findall((REPOSITORY / "README.md").read_text())
    outputs = []
    for number, code in enumerate((awaiting, blocking)):
        path = tmp_path / f"readme{number}.py"
        path.write_text(code.replace("127.0.0.1:9876", rocketmq.namesrv))
        outputs.append(run(str(path)))

    assert outputs[0] == ["hello"]
    assert re.fullmatch(r"\[(b'hello'(, )?)?(b'hello again')?\]", outputs[1][0])


async def test_service_sends_and_consumes(
    rocketmq: RocketMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", rocketmq.namesrv)
    orders = [f"o-{number}" for number in range(5)]

    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://service") as service,
    ):
        answers = [await service.post(f"/orders/{order}") for order in orders]
        assert {answer.json()["status"] for answer in answers} == {"SEND_OK"}
        await eventually(lambda: service.get("/seen"), lambda seen: sorted(seen.json()) == orders)


def test_django_sends_and_says_503_while_no_broker_can_be_asked(
    rocketmq: RocketMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", rocketmq.namesrv)
    service = DjangoClient()

    stored = service.post("/orders/o-1", b"an order", content_type="text/plain")
    django_service.client().close()
    refused = service.post("/orders/o-2")

    assert (stored.status_code, stored.json()["status"]) == (200, "SEND_OK")
    assert refused.status_code == 503
    assert refused.json()["error"]
    assert service.get("/orders/o-1").status_code == 405


def test_probes_say_that_a_worker_is_ready_and_alive(filled: RocketMQ) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "examples.probes"],
        cwd=REPOSITORY,
        env={**os.environ, "NAMESRV_ADDR": filled.namesrv, "PROBE_PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        port = int(worker.stdout.readline().split()[1])

        def page(path: str) -> httpx.Response:
            return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=60)

        try:
            wait(lambda: page("/lag"), lambda answer: answer.text == "0")
            wait(lambda: page("/live"), lambda answer: "last answer" in answer.text)
            ready = page("/ready")
            assert (ready.status_code, page("/other").status_code) == (200, 404)
            assert filled.namesrv in ready.text
            assert filled.broker in ready.text
        finally:
            worker.terminate()
    assert worker.returncode == 0


def test_the_deployment_probes_pages_that_the_worker_has() -> None:
    text = (REPOSITORY / "examples" / "probes.yaml").read_text()
    (container,) = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"]
    probes = [value for name, value in container.items() if name.endswith("Probe")]
    worker = (REPOSITORY / "examples" / "probes.py").read_text()

    assert len(probes) == 3
    assert all(f'"{probe["httpGet"]["path"]}":' in worker for probe in probes)


def test_a_worker_ends_when_the_messages_in_its_hands_are_done(filled: RocketMQ) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "examples.worker"],
        cwd=REPOSITORY,
        env={**os.environ, "NAMESRV_ADDR": filled.namesrv},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        assert worker.stderr is not None
        first = worker.stdout.readline()
        worker.terminate()
        # Not `communicate`, which does not see what `readline` has read ahead.
        lines = [first.strip(), *worker.stdout.read().splitlines()]
        err = worker.stderr.read()

    begun = [line.removeprefix("begin ") for line in lines if line.startswith("begin ")]
    done = [line.removeprefix("done ") for line in lines if line.startswith("done ")]
    # On a busy machine the client may warn of a late answer.
    assert worker.returncode == 0, err
    assert "Traceback" not in err
    assert begun
    assert sorted(begun) == sorted(done), err
