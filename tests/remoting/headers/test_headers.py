"""Every header class of 4.9.7 is there, with its fields, types and required ones."""

import json
from dataclasses import MISSING
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remoting import headers
from remoting.codes import SerializeType
from remoting.command import Command
from remoting.header import Header, HeaderField, fields_of
from remoting.headers import auth, controller, pop, storage
from remoting.serialize import decode_header, encode_header

INT32, INT64 = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
KINDS = {
    "String": (str, None),
    "Integer": (int, INT32),
    "int": (int, INT32),
    "Long": (int, INT64),
    "long": (int, INT64),
    "Boolean": (bool, None),
    "boolean": (bool, None),
    # Travels as the list's toString, if at all.
    "List<PlainAccessConfig>": (str, None),
}
ALL = [getattr(headers, name) for name in headers.__all__]
OURS = {
    "DemoteMaster", "GetAllConsumerOffset", "GetEpoch", "GetEpochResponse", "HaEpoch",
    "PromoteSlave",
}  # fmt: skip
"""Headers of requests that no Java broker knows, and of fields that none looks at."""
WITHOUT_CLASS = {"CreateStaticTopic", "SetReadAheadMode", "SwitchTimerEngine"}
"""Requests without a header class of their own in Java."""
LATER = {
    *pop.__dict__, *controller.__dict__, *auth.__dict__, *storage.__dict__
} & set(headers.__all__) - {"Rpc", *WITHOUT_CLASS}  # fmt: skip
"""Headers of RocketMQ 5."""
OPTIONAL_IN_JAVA = set(controller.__dict__) & set(headers.__all__)
"""Headers of which Java requires hardly a field, and fails later without one."""
LATER_FIELDS = {
    "CreateTopic": {"attributes"},
    "ResetOffset": {"offset", "queueId"},
    "ElectMaster": {"isUnclean"},
    "ExchangeHaInfo": {"brokerName", "masterEpoch"},
}
"""Fields that RocketMQ 5 added to headers of 4.9, and those that we added to headers of 5."""
RENAMED = {
    "SendMessageRequestHeaderV2": "SendMessageV2",
    # The body of the answer has the other name.
    "ConsumeMessageDirectlyResultRequestHeader": "ConsumeMessageDirectly",
    "CleanControllerBrokerDataRequestHeader": "CleanBrokerData",
    "ExchangeHAInfoRequestHeader": "ExchangeHaInfo",
    "ExchangeHAInfoResponseHeader": "ExchangeHaInfo",
}
NOT_READ = {"lo", "ns", "nsd", "oway"}
"""Fields that 5.4.0 inherits in every header, and that our servers have no use for."""
NEVER_SENT = {
    "CheckTransactionStateResponse",
    "EndTransactionResponse",
    "GetBrokerClusterAclConfigResponse",
    "RegisterOrderTopic",
    "ViewMessageResponse",
}
"""Headers that 4.9.7 declares and no peer sends, or sends without a field."""
# Quick text, with what escaping has to get right in it.
TEXT = st.text(
    st.sampled_from("aZ09 %|-_\\\"'/{}\x00\x01\x02\x0b\x1f\x7f\x85\u2028é中\U0001f600"), max_size=12
)


def python_name(java_name: str) -> str:
    if java_name in RENAMED:
        return RENAMED[java_name]
    for end, instead in (("RequestHeader", ""), ("ResponseHeader", "Response"), ("Header", "")):
        if java_name.endswith(end):
            return java_name.removesuffix(end) + instead
    raise AssertionError(java_name)


def test_every_java_class_is_declared_with_its_fields(fact_tables: Path) -> None:
    table = json.loads((fact_tables / "headers.json").read_text())

    declared_by_java = {python_name(name): described for name, described in table.items()}
    assert (
        declared_by_java.keys() | OURS | LATER | WITHOUT_CLASS == set(headers.__all__) | NEVER_SENT
    )
    for java_name, described in table.items():
        if python_name(java_name) in NEVER_SENT:
            continue
        declared = {one.key: one for one in fields_of(getattr(headers, python_name(java_name)))}
        later = LATER_FIELDS.get(python_name(java_name), set())
        assert set(declared) - later == {one["name"] for one in described["fields"]}, java_name
        for one in described["fields"]:
            assert_declared_alike(java_name, one, declared[one["name"]])


def test_every_class_of_five_has_the_fields_of_five(fact_tables: Path) -> None:
    table = json.loads((fact_tables / "headers_5x.json").read_text())

    names = {name for name in table if name.endswith("Header")}
    declared_by_java = {python_name(name): table[name] for name in names}
    for name in LATER:
        declared = {one.key: one for one in fields_of(getattr(headers, name))}
        fields = [one for one in declared_by_java[name]["fields"] if one["name"] not in NOT_READ]
        later = LATER_FIELDS.get(name, set())
        assert set(declared) - later == {one["name"] for one in fields}, name
        for one in fields:
            if name in OPTIONAL_IN_JAVA:
                assert declared[one["name"]].kind is KINDS[one["javaType"]][0]
            else:
                assert_declared_alike(name, one, declared[one["name"]])


def assert_declared_alike(java_name: str, expected: dict, declared: HeaderField) -> None:
    where = f"{java_name}.{expected['name']}"
    kind, span = KINDS[expected["javaType"]]
    assert declared.kind is kind, where
    if span is not None:
        assert (declared.low, declared.high) == span, where
    has_default = "default" in expected
    # A Java primitive that is "required" has a default and is never missing.
    assert declared.required == (expected["required"] and not has_default), where
    assert declared.optional == (not expected["required"] and not has_default), where
    if has_default:
        assert declared.default == expected["default"], where


@pytest.mark.parametrize("header_class", ALL)
def test_every_class_says_what_it_is_for(header_class: type[Header]) -> None:
    first_line = (header_class.__doc__ or "").splitlines()[0]

    assert first_line.endswith(".")
    assert not first_line.startswith(header_class.__name__ + "(")


def values_of(one: HeaderField) -> st.SearchStrategy[object]:
    if one.kind is str:
        value: st.SearchStrategy[object] = TEXT
    elif one.kind is bool:
        value = st.booleans()
    else:
        value = st.integers(one.low, one.high)
    return st.none() | value if one.optional else value


def instances(header_class: type[Header]) -> st.SearchStrategy[Header]:
    return st.builds(header_class, **{one.name: values_of(one) for one in fields_of(header_class)})


@pytest.mark.parametrize("header_class", ALL)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_every_class_survives_both_serialisations(
    header_class: type[Header], data: st.DataObject
) -> None:
    header = data.draw(instances(header_class))

    for serialize in SerializeType:
        sent = Command.request(10, header)
        sent.serialize = serialize
        received = decode_header(serialize, encode_header(sent))
        assert received.code == 10
        expected = sent.ext
        if serialize is SerializeType.ROCKETMQ:
            # The binary form cannot tell an empty text from none.
            expected = {name: value for name, value in sent.ext.items() if value}
        assert received.ext == expected
        if expected == sent.ext:
            assert received.header(header_class) == header


def test_defaults_are_plain_values() -> None:
    for header_class in ALL:
        for one in fields_of(header_class):
            assert one.default is not MISSING
            assert one.default is None or isinstance(one.default, str | int | bool)
