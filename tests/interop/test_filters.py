"""Filters through the real Java client: SQL92 and tags, the real broker's answers and ours."""

import re
import uuid

import pytest

from tests.interop.conftest import Servers
from tests.interop.kit.our_clients import make_topic, text_of
from tests.interop.kit.toolbox import Job, Toolbox, spec_of
from tests.waiting import wait

MESSAGE_COUNT = 60


def spec_for(servers: Servers, topic: str, **more: object) -> dict[str, object]:
    group = f"G_{topic}_{uuid.uuid4().hex[:4]}"
    return spec_of(servers, topic, group=group, timeoutMs=60_000, **more)


def send(toolbox: Toolbox, servers: Servers, topic: str) -> None:
    messages = [
        {
            "body": f"{n}",
            "tags": f"T{n % 3}",
            "properties": {"n": str(n), **({"half": f"{n / 2}"} if n % 2 else {})},
        }
        for n in range(MESSAGE_COUNT)
    ]
    sent = toolbox.run("Producer", spec_for(servers, topic, mode="sync", messages=messages))
    assert {line["event"] for line in sent} == {"sent"}


EXPRESSIONS = {
    "n BETWEEN 10 AND 19": set(range(10, 20)),
    "TAGS = 'T1' AND n < 10": {1, 4, 7},
    "half > 25.0 OR n IN ('3', '4')": {3, 4, 51, 53, 55, 57, 59},
    # A number with a point is no integer.
    "half > 25": set(),
    "half IS NULL AND NOT (n >= 10)": {0, 2, 4, 6, 8},
    # The tail is dropped: this is "n = 5".
    "n = 5 LIKE 'x%'": {5},
}


def consume(toolbox: Toolbox, servers: Servers, topic: str, **how: object) -> tuple[Job, set[int]]:
    """Start a consumer, return its job and the numbers that came until it was quiet."""
    count = int(str(how.pop("count")))
    job = toolbox.start("PushConsumer", spec_for(servers, topic, count=count, linger=True, **how))
    job.until("started")
    return job, {int(line["properties"]["n"]) for line in job.messages(count)}


def test_sql_push_consumers_get_what_matches(toolbox: Toolbox, servers: Servers) -> None:
    topic = f"sql_{uuid.uuid4().hex[:6]}"
    make_topic(servers, topic, 2)
    send(toolbox, servers, topic)

    jobs = [
        (*consume(toolbox, servers, topic, sql=sql, count=len(wanted)), wanted)
        for sql, wanted in EXPRESSIONS.items()
    ]

    # What comes later shows that nothing else was on its way.
    for job, got, wanted in jobs:
        assert got == wanted
        assert [line for line in job.stop() if line["event"] == "message"] == []


def test_a_waiting_sql_consumer_gets_new_messages(toolbox: Toolbox, servers: Servers) -> None:
    topic = f"live_{uuid.uuid4().hex[:6]}"
    make_topic(servers, topic, 2)
    spec = spec_for(servers, topic, sql="n > 57", count=2, linger=True)
    job = toolbox.start("PushConsumer", spec)
    job.until("started")

    send(toolbox, servers, topic)

    assert {int(line["properties"]["n"]) for line in job.messages(2)} == {58, 59}
    job.stop()


@pytest.mark.parametrize(("tags", "wanted"), [("T0 || T2", {0, 2}), ("*", {0, 1, 2}), ("T1", {1})])
def test_tag_push_consumers_get_their_tags(
    toolbox: Toolbox, servers: Servers, tags: str, wanted: set[int]
) -> None:
    topic = f"tag_{uuid.uuid4().hex[:6]}"
    make_topic(servers, topic, 2)
    send(toolbox, servers, topic)

    numbers = {n for n in range(MESSAGE_COUNT) if n % 3 in wanted}
    job, got = consume(toolbox, servers, topic, subscription=tags, count=len(numbers))

    assert got == numbers
    job.stop()


def test_a_bad_expression_is_refused_at_the_start(toolbox: Toolbox, servers: Servers) -> None:
    topic = f"bad_{uuid.uuid4().hex[:6]}"
    make_topic(servers, topic, 2)
    job = toolbox.start("PushConsumer", spec_for(servers, topic, sql="n > 'x'", count=1))

    with pytest.raises(Exception, match="Value ''x'' cannot be compared"):
        job.until("started")


FILE = """{
	"groupFilterData":{
		"G_filter_file":{
			"bloomFilterData":{
				"bitNum":112,
				"bitPos":[71,110,68]
			},
			"bornTime":0,
			"clientVersion":0,
			"consumerGroup":"G_filter_file",
			"dead":false,
			"deadTime":0,
			"expression":"n > 1 AND s = 'ä\\t\\"'",
			"expressionType":"SQL92",
			"topic":"filter_file"
		}
	},
	"topic":"filter_file"
}"""


def test_the_filter_file_is_written_alike(toolbox: Toolbox, servers: Servers) -> None:
    topic = "filter_file"
    make_topic(servers, topic, 2)
    spec = {**spec_for(servers, topic), "group": f"G_{topic}", "linger": True, "count": 1}
    job = toolbox.start("PushConsumer", {**spec, "sql": "n > 1 AND s = 'ä\t\"'"})
    job.until("started")
    path = servers.broker.store / "config" / "consumerFilter.json"

    found = wait(lambda: text_of(path), lambda text: f"G_{topic}" in text)
    job.stop()

    start = found.index(f'"{topic}":{{') + len(topic) + 3
    lines = found[start : found.index("\n\t\t}", start) + 4].split("\n")
    written = "\n".join(line.removeprefix("\t\t") for line in lines)
    assert re.sub(r"(?<=:)\d{13}(?=,)", "0", written) == FILE
