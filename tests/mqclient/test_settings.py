"""Settings have Java's names and defaults, and refuse values that are not allowed."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from docs.clientpage import ELSEWHERE, PAGES, Settings, parameters
from mqclient.client.client_settings import ClientSettings
from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings
from mqclient.errors import BadRequest
from mqclient.producer.producer_settings import ProducerSettings
from remoting.codes import LaterResponseCode, ResponseCode

# Java's name where it is not ours in camelCase; None where Java's class has no such field.
OTHER_NAMES: Mapping[str, str | None] = {
    "consume_timeout_min": "consumeTimeout",
    "pull_interval_ms": "pullInterval",
    "suspend_current_queue_time_ms": "suspendCurrentQueueTimeMillis",
    "await_termination_ms_when_shutdown": "awaitTerminationMillisWhenShutdown",
    "persist_consumer_offset_interval_ms": "persistConsumerOffsetInterval",
    "pull_time_delay_ms_when_exception": "pullTimeDelayMillsWhenException",
    "auto_commit_interval_ms": "autoCommitIntervalMillis",
    "poll_timeout_ms": "pollTimeoutMillis",
    "topic_metadata_check_interval_ms": "topicMetadataCheckIntervalMillis",
    "broker_suspend_max_time_ms": "brokerSuspendMaxTimeMillis",
    "consumer_timeout_ms_when_suspend": "consumerTimeoutMillisWhenSuspend",
    "retry_another_broker_when_not_store_ok": "retryAnotherBrokerWhenNotStoreOK",
    "allocate_strategy": "allocateMessageQueueStrategy",
    "consume_from_ms": "consumeTimestamp",
    "send_msg_timeout_ms": "sendMsgTimeout",
    "client_ip": "clientIP",
    "poll_name_server_interval_ms": "pollNameServerInterval",
    "heartbeat_broker_interval_ms": "heartbeatBrokerInterval",
    "configured_queues": None,
    "rooms": None,
    "room_of": None,
    "compress_type": None,
    "compress_level": None,
    "send_latency_fault_enable": None,
    "retry_backoff_ms": None,
    "max_in_flight": None,
    "connect_broker_by_user": None,
    "default_broker_id": None,
}
# Given in another form here: an object there, a time from now, the client's own limit; or more
# than Java's (attempts are spread over the time limit).
OTHER_DEFAULTS = {
    "retry_times_when_send_failed",
    "retry_times_when_send_async_failed",
    "retry_response_codes",
    "allocate_strategy",
    "consume_from_ms",
    "send_msg_timeout_ms",
    "client_ip",
    "instance_name",
}
# Java's own, and no parameter for anybody.
INSIDE = {
    "MIN_AUTOCOMMIT_INTERVAL_MILLIS",
    "SEND_MESSAGE_WITH_VIP_CHANNEL_PROPERTY",
    "defaultLitePullConsumerImpl",
    "defaultMQProducerImpl",
    "defaultMQPushConsumerImpl",
    "namespaceInitialized",
}
CLASSES: Mapping[str, type[Settings]] = {
    "ClientConfig": ClientSettings,
    "DefaultMQProducer": ProducerSettings,
    "DefaultMQPushConsumer": PushSettings,
    "DefaultLitePullConsumer": LitePullSettings,
}


def java_name(name: str) -> str | None:
    camel = re.sub(r"_(\w)", lambda found: found[1].upper(), name)
    return OTHER_NAMES.get(name, camel)


@pytest.mark.parametrize("java_class", CLASSES)
def test_parameters_and_defaults_are_javas(java_class: str, fact_tables: Path) -> None:
    known: dict[str, dict[str, Any]] = json.loads((fact_tables / "config.json").read_text())
    java = known["classes"][java_class]["fields"]
    client = known["classes"]["ClientConfig"]["fields"]
    named = set()
    for item in fields(CLASSES[java_class]):  # type: ignore[arg-type]
        name = java_name(item.name)
        if name is None:
            continue
        named.add(name)
        fact = java.get(name) or client[name]
        if item.name not in OTHER_DEFAULTS:
            default = getattr(item.default, "name", item.default)
            assert default == fact["default"], item.name

    assert set(java) - named - INSIDE <= set(ELSEWHERE)


def test_the_page_names_no_parameter_that_java_has_not(fact_tables: Path) -> None:
    known = json.loads((fact_tables / "config.json").read_text())["classes"]

    assert {name for java_class in CLASSES for name in known[java_class]["fields"]} > set(ELSEWHERE)


def test_retry_codes_are_those_of_java_and_three_more(fact_tables: Path) -> None:
    known = json.loads((fact_tables / "config.json").read_text())
    java = known["classes"]["DefaultMQProducer"]["fields"]["retryResponseCodes"]["default"]

    ours = {
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.FLOW_CONTROL,
        LaterResponseCode.NOT_LEADER_FOR_QUEUE,
    }
    assert ProducerSettings().retry_response_codes == {*java, *ours}


@pytest.mark.parametrize("name", PAGES)
def test_every_parameter_has_its_meaning(name: str) -> None:
    settings, _ = PAGES[name]

    assert list(parameters(settings)) == [item.name for item in fields(settings)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "bad"),
    [
        (PushSettings, {"pull_batch_size": 0}),
        (PushSettings, {"pull_batch_size": 1025}),
        (PushSettings, {"pull_batch_size": True}),
        (PushSettings, {"pull_batch_size": "32"}),
        (PushSettings, {"consume_thread_min": 21}),
        (PushSettings, {"consume_thread_max": 1001}),
        (PushSettings, {"pull_threshold_for_topic": 0}),
        (PushSettings, {"suspend_current_queue_time_ms": 9}),
        (PushSettings, {"max_reconsume_times": -2}),
        (PushSettings, {"message_model": "BROADCASTING"}),
        (PushSettings, {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"}),
        (PushSettings, {"allocate_strategy": "AVG"}),
        (PushSettings, {"consume_from_ms": "20260101000000"}),
        (PushSettings, {"consume_from_ms": -1}),
        (LitePullSettings, {"message_model": "BROADCASTING"}),
        (LitePullSettings, {"consume_from_ms": 1.5}),
        (LitePullSettings, {"auto_commit_interval_ms": 999}),
        (LitePullSettings, {"poll_timeout_ms": -1}),
        (LitePullSettings, {"default_broker_id": -1}),
        (LitePullSettings, {"consumer_timeout_ms_when_suspend": 20_000}),
        (LitePullSettings, {"pull_time_delay_ms_when_exception": 0}),
        (ClientSettings, {"poll_name_server_interval_ms": 0}),
        (ClientSettings, {"heartbeat_broker_interval_ms": 2**31}),
        (ClientSettings, {"namespace": "a%b"}),
        (ClientSettings, {"namespace": "a b"}),
        (ClientSettings, {"instance_name": 7}),
        (ProducerSettings, {"compress_type": "LZ4"}),
        (ProducerSettings, {"compress_level": 10}),
        (ProducerSettings, {"send_msg_timeout_ms": 0}),
        (ProducerSettings, {"max_message_size": 0}),
        (ProducerSettings, {"max_in_flight": 0}),
        (ProducerSettings, {"retry_backoff_ms": -1}),
    ],
)
def test_a_value_out_of_its_range_is_refused(
    settings: type[PushSettings], bad: dict[str, Any]
) -> None:
    with pytest.raises(BadRequest, match=next(iter(bad))):
        settings(**bad)
