"""The parameters of our clients are those that the getters of the Java classes tell."""

from dataclasses import fields
from typing import Any

import pytest

from docs.clientpage import ELSEWHERE
from mqclient.client.client_settings import ClientSettings
from tests.interop.kit.toolbox import Toolbox
from tests.mqclient.test_settings import CLASSES, OTHER_DEFAULTS, java_name

OF_ONE_CLASS = {"consumeTimestamp", "sendMessageWithVIPChannel"}
"""A time given as text; and another name of ``vipChannelEnabled``."""
IN_NO_FIELD = {
    "send_latency_fault_enable": "sendLatencyFaultEnable",
    "connect_broker_by_user": "connectBrokerByUser",
    "default_broker_id": "defaultBrokerId",
}
"""Java keeps them inside of the implementation."""
LATER = "told after the start"
"""What the toolbox says of a value that Java's getter does not tell before."""


@pytest.fixture(scope="module")
def told(toolbox: Toolbox) -> dict[str, dict[str, Any]]:
    """Return the simple parameters of each class, with their defaults."""
    return {line["name"]: line["values"] for line in toolbox.run("Parameters", {})}


@pytest.mark.parametrize("java_class", CLASSES)
def test_parameters_are_those_of_the_class(
    told: dict[str, dict[str, Any]], java_class: str
) -> None:
    java = told[java_class]
    named = set()
    for item in fields(CLASSES[java_class]):  # type: ignore[arg-type]
        name = IN_NO_FIELD.get(item.name) or java_name(item.name)
        if name is not None and name in java:
            named.add(name)
            if item.name not in OTHER_DEFAULTS and java[name] != LATER:
                assert getattr(item.default, "name", item.default) == java[name], item.name

    of_the_client = {java_name(item.name) for item in fields(ClientSettings)}
    assert len(named) >= 5
    assert set(java) - named - of_the_client - set(ELSEWHERE) - OF_ONE_CLASS == set()
