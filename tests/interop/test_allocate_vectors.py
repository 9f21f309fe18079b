"""The checked-in allocation vectors are what the Java classes print today."""

import json

from tests.interop.kit.toolbox import Toolbox
from tests.mqclient.consumer.rebalance.test_allocate import VECTORS


def test_vectors_are_those_of_java(toolbox: Toolbox) -> None:
    printed = toolbox.run("AllocateVectors", {"seed": 20260101, "cases": 60})

    assert printed == [json.loads(line) for line in VECTORS.read_text().splitlines()]
