"""The lists of Java's keys are those read from the real classes by reflection."""

import json
from pathlib import Path

import pytest

from mqserver.runtime.javakeys import BROKER_KEYS, NAMESRV_KEYS


@pytest.mark.parametrize(
    ("keys", "classes", "more"),
    [
        (
            BROKER_KEYS,
            ["BrokerConfig", "MessageStoreConfig", "NettyServerConfig", "NettyClientConfig"],
            # A setter without a field of its name, and fields that DLedger sets.
            {"enableBatchPush", "dLegerGroup", "dLegerPeers", "dLegerSelfId"},
        ),
        (NAMESRV_KEYS, ["NamesrvConfig", "NettyServerConfig"], set()),
    ],
)
def test_keys_are_those_of_java(fact_tables: Path, keys, classes, more) -> None:
    facts = json.loads((fact_tables / "config.json").read_text())["classes"]

    settable = {
        name
        for one in classes
        for name, field in facts[one]["fields"].items()
        if field.get("settableByProperties")
    }

    assert keys == settable | more
