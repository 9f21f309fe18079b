"""Every body class of 4.9.7 is there, and reads and writes what the real encoder wrote."""

import json
from enum import Enum
from pathlib import Path

import pytest

from remoting import bodies
from remoting.bodies import Body, decode_value, encode_value
from remoting.bodies.base import JsonValue
from remoting.codes import LanguageCode
from storefmt.config import fastjson
from storefmt.config.tables import DataVersion, SubscriptionGroup, TopicConfig

# The store owns these: they are configuration files, and storefmt.config.tables reads them.
FILES_OF_THE_STORE = {"ConsumerOffsetManager", "SubscriptionGroupManager"}
PARTS_OF_THOSE_FILES = {
    "DataVersion": DataVersion,
    "SubscriptionGroupConfig": SubscriptionGroup,
    "TopicConfig": TopicConfig,
}
# No request of 4.9.7 and none of its answers has these bodies.
NEVER_SENT = {
    "ClusterAclVersionInfo",
    "ConsumeByWho",
    "RollbackStats",
}
# Written in strict JSON on the wire; here the bare form is the ordinary one.
STRICT = {"TopicRouteData"}


def table(fact_tables: Path) -> dict[str, dict]:
    everything = json.loads((fact_tables / "bodies.json").read_text())
    return {
        name: one
        for name, one in everything.items()
        if not name.startswith("_") and name not in NEVER_SENT
    }


def class_of(name: str) -> type:
    found = PARTS_OF_THOSE_FILES.get(name) or getattr(bodies, name)
    assert isinstance(found, type)
    return found


def again(kind: type[JsonValue], data: bytes) -> bytes:
    if issubclass(kind, Body):
        return kind.decode(data).encode()
    return encode_value(decode_value(kind, data))


def test_every_java_class_is_there(fact_tables: Path) -> None:
    for name in set(table(fact_tables)) - FILES_OF_THE_STORE - PARTS_OF_THOSE_FILES.keys():
        assert name in bodies.__all__


def test_examples_of_the_real_encoder_come_back_byte_for_byte(fact_tables: Path) -> None:
    count = 0
    for name, one in table(fact_tables).items():
        example = one.get("exampleJson", "")
        if example.startswith("{"):
            count += 1
            assert again(class_of(name), example.encode()).decode() == example, name

    assert count == 58


def test_recorded_bodies_come_back_byte_for_byte(fact_tables: Path) -> None:
    count = 0
    for name, one in table(fact_tables).items():
        recorded = one.get("captured", "")
        if recorded and "(cut)" not in recorded:
            count += 1
            written = again(class_of(name), recorded.encode()).decode()
            if name in STRICT:
                assert fastjson.loads(written.replace("{0:", '{"0":')) == fastjson.loads(recorded)
            else:
                assert written == recorded, name

    assert count == 30


def test_enums_have_the_real_names_in_order(fact_tables: Path) -> None:
    for name, one in table(fact_tables).items():
        if "enum" in one:
            kind = class_of(name)
            assert issubclass(kind, Enum)
            assert [member.name for member in kind] == one["enum"]


@pytest.mark.parametrize(
    "name", ["ConsumeFromWhere", "MessageModel", "ConsumeType", "CMResult", "LanguageCode"]
)
def test_enums_equal_the_constants(fact_tables: Path, name: str) -> None:
    enums = json.loads((fact_tables / "constants.json").read_text())["enums"]
    by_name = {key.partition("(")[0]: values for key, values in enums.items()}

    kind = getattr(bodies, name, LanguageCode)

    assert [member.name for member in kind] == list(by_name[name])


def test_every_class_with_a_default_writes_what_it_reads(fact_tables: Path) -> None:
    for name, one in table(fact_tables).items():
        kind = class_of(name) if name not in FILES_OF_THE_STORE else None
        if kind is not None and issubclass(kind, Body) and one.get("exampleJson"):
            value = kind.decode(one["exampleJson"].encode())
            assert kind.decode(value.encode()) == value
