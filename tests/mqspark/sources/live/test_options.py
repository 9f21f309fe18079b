"""Options of the live source and sink: their meaning, and errors that name them."""

import json
from pathlib import Path

import pytest

from mqspark.errors import BadOption
from mqspark.sources.live.options import (
    EARLIEST,
    LATEST,
    Use,
    live_settings,
    queue_of,
    queue_text,
    sink_settings,
)
from remoting.aio.tls import ClientTls
from remoting.bodies import MessageQueue

GIVEN = {"namesrv": "127.0.0.1:9876", "subscribe": "orders"}
QUEUE = MessageQueue("orders", "broker-a", 3)


def tree(value: object) -> str:
    return json.dumps({"orders": {"broker-a": {"3": value}}})


def test_defaults_are_those_of_kafkas_source() -> None:
    batch, stream = live_settings(GIVEN, use=Use.BATCH), live_settings(GIVEN, use=Use.STREAM)

    assert (batch.starting.offset, batch.ending.offset) == (EARLIEST, LATEST)
    assert stream.starting.offset == LATEST
    assert batch.fail_on_data_loss
    assert batch.wanted.topics == ("orders",)
    assert "body" in batch.columns


def test_the_strongest_of_three_starting_options_counts() -> None:
    given = {**GIVEN, "startingOffsets": tree(7)}
    assert live_settings(given, use=Use.BATCH).starting.by_queue == {QUEUE: 7}

    given["startingOffsetsByTimestamp"] = tree(1_000)
    assert live_settings(given, use=Use.BATCH).starting.is_time

    given["startingTimestamp"] = "2000"
    assert live_settings(given, use=Use.BATCH).starting.time_ms == 2_000


def test_minus_one_is_latest_where_kafkas_source_has_it_so() -> None:
    ending = live_settings({**GIVEN, "endingOffsets": tree(-1)}, use=Use.BATCH).ending
    starting = live_settings({**GIVEN, "startingOffsets": tree(-1)}, use=Use.STREAM).starting

    assert ending.by_queue == starting.by_queue == {QUEUE: LATEST}


def test_queues_may_be_named_one_by_one() -> None:
    given = {"nameServer": "n", "assign": '{"orders": {"broker-a": [3, 1]}}'}

    wanted = live_settings(given, use=Use.BATCH).wanted

    assert wanted.queues == (MessageQueue("orders", "broker-a", 1), QUEUE)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startingOffset": "earliest"}, "no option 'startingOffset'; it has namesrv"),
        ({"subscribePattern": "o.*"}, "one of the options subscribe"),
        ({"startingOffsets": "latest"}, "startingOffsets is latest, which is for a stream"),
        (
            {"startingOffsets": tree(-1)},
            "startingOffsets: orders@broker-a@3 has -1, latest, which is for a stream",
        ),
        ({"endingOffsets": "earliest"}, "is earliest, with which a batch would have no rows"),
        ({"endingOffsets": tree(-2)}, "orders@broker-a@3 has -2, earliest, with which"),
        ({"startingOffsets": "soon"}, "startingOffsets is 'soon', no word it knows"),
        ({"startingOffsets": "[1]"}, "expected JSON topic -> broker -> queue"),
        ({"startingOffsets": tree(-3)}, r"'3': -3, expected a queue id and an offset, -2 \("),
        ({"startingOffsetsByTimestamp": tree(-1)}, "'3': -1, expected a queue id and ms since"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp is 'yesterday'"),
        ({"maxOffsetsPerTrigger": "5"}, "'maxOffsetsPerTrigger' is for a stream, not for a batch"),
        ({"topic": "x"}, "'topic' is for a sink, not for a batch"),
        ({"failOnDataLoss": "no"}, "failOnDataLoss is 'no', expected false or true"),
        ({"minPartitions": "0"}, "minPartitions is '0'"),
        ({"columns": "body,colour"}, "no column colour; it has"),
        ({"filterExpression": "||"}, "filterExpression is"),
        ({"filterExpression": "a", "filterType": "LUA"}, "filterExpression is"),
        ({"accessKey": "me"}, "accessKey and secretKey go together"),
        ({"tlsCa": "ca.pem"}, "tlsCa needs option tls=true"),
        ({"tls": "yes"}, "tls is 'yes', expected false or true"),
        ({"tls": "true", "tlsKey": "k.pem"}, "tlsCert and tlsKey go together"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, str], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        live_settings({**GIVEN, **given}, use=Use.BATCH)


def test_name_servers_are_needed() -> None:
    with pytest.raises(BadOption, match="needs option namesrv"):
        live_settings({"subscribe": "orders"}, use=Use.BATCH)


def test_tls_is_that_of_the_client() -> None:
    assert live_settings(GIVEN, use=Use.BATCH).access.tls is None
    assert live_settings({**GIVEN, "tls": "true"}, use=Use.BATCH).access.tls == ClientTls()
    files = {"tlsCert": "c.pem", "tlsKey": "k.pem", "tlsKeyPassword": "secret"}

    tls = live_settings(
        {**GIVEN, "tls": "true", "tlsCa": "ca.pem", **files}, use=Use.BATCH
    ).access.tls
    known = sink_settings({"namesrv": "n", "tls": "true", "tlsCa": "system"}).access.tls

    assert tls == ClientTls(True, Path("ca.pem"), Path("c.pem"), Path("k.pem"), "secret")
    assert known == ClientTls(auth_server=True)
    assert "secret" not in repr(tls)


def test_a_stream_has_no_end() -> None:
    with pytest.raises(BadOption, match="'endingOffsets' is for a batch"):
        live_settings({**GIVEN, "endingOffsets": "latest"}, use=Use.STREAM)


def test_a_key_for_deduplication_means_deduplication() -> None:
    sink = sink_settings({"namesrv": "n", "dedupKey": "order_id"})

    assert (sink.dedup, sink.dedup_key, sink.in_flight) == (True, "order_id", 32)
    with pytest.raises(BadOption, match="'subscribe' is for a batch or stream, not for a sink"):
        sink_settings(GIVEN)


def test_queues_have_one_text() -> None:
    assert queue_text(QUEUE) == "orders@broker-a@3"
    assert queue_of("orders@broker-a@3") == QUEUE
    for text in ("orders", "orders@broker-a", "orders@broker-a@x", "@b@1"):
        with pytest.raises(BadOption, match="no queue"):
            queue_of(text)
