"""Request-reply of the real Java client through the real servers, and through ours."""

import json
import uuid
from collections.abc import Iterator

import pytest

from tests.interop.kit.our_clients import make_topic
from tests.interop.kit.servers import Servers
from tests.interop.kit.toolbox import Job, Line, Toolbox, body_of

QUICK_MS, PATIENT_MS = 5_000, 60_000
LATE = "late"


@pytest.fixture
def replier(toolbox: Toolbox, servers: Servers) -> Iterator[tuple[dict[str, object], Job]]:
    """Yield the spec of a requester, and the consumer that replies to it."""
    name = f"Ask_{uuid.uuid4().hex[:6]}"
    make_topic(servers, name, 1)
    spec: dict[str, object] = {"namesrv": servers.namesrv.address, "topic": name}
    job = toolbox.start("Replier", {**spec, "group": f"R_{name}"})
    try:
        job.until("started")
        yield {**spec, "group": f"P_{name}"}, job
    finally:
        job.stop()


def texts(lines: list[Line]) -> list[str]:
    return sorted(body_of(line).decode() for line in lines)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_every_request_gets_its_reply(
    toolbox: Toolbox, servers: Servers, replier: tuple[dict[str, object], Job], mode: str
) -> None:
    spec, job = replier
    bodies = [f"request {i}" for i in range(5)]

    replies = toolbox.run(
        "Requester", {**spec, "mode": mode, "timeoutMs": PATIENT_MS, "bodies": bodies}
    )

    assert [line["event"] for line in replies] == ["message"] * 5, json.dumps(replies)
    assert texts(replies) == [f"reply to {body}" for body in bodies]
    for line in replies:
        properties = line["properties"]
        assert line["topic"] == f"{servers.broker.cluster}_REPLY_TOPIC"
        assert properties["MSG_TYPE"] == "reply"
        assert {"CORRELATION_ID", "PUSH_REPLY_TIME", "ARRIVE_TIME"} <= properties.keys()
    sent = [job.until("sent")[-1] for _ in bodies]
    assert {line["status"] for line in sent} == {"SEND_OK"}
    assert all(len(line["offsetMsgId"]) == 32 for line in sent)


def test_late_reply_ends_in_a_time_out_and_finds_nobody(
    toolbox: Toolbox, replier: tuple[dict[str, object], Job]
) -> None:
    spec, job = replier

    (late,) = toolbox.run(
        "Requester", {**spec, "mode": "sync", "timeoutMs": QUICK_MS, "bodies": [LATE]}
    )
    (refused,) = job.until("refused")

    assert "RequestTimeoutException" in late["error"]
    # The requester has gone: code 1 each time, and the reply is stored three times.
    assert refused["code"] == 1
    assert "Send [3] times, still failed" in refused["error"]
