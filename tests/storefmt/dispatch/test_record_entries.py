"""What one record gives: queue entries, tags code and index keys."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.dispatch.record_entries import (
    DueTimes,
    copy_offsets,
    copy_queue_id,
    is_indexed,
    is_queued,
    tag_and_keys_of,
    tags_code_of,
)
from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import parse_properties
from storefmt.formats.sysflag import (
    COMPRESSED,
    TRANSACTION_COMMIT,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
)
from storefmt.names import SCHEDULE_TOPIC

DUE = DueTimes((1_000, 5_000))


@pytest.mark.parametrize(
    ("sys_flag", "queued", "indexed"),
    [
        (COMPRESSED, True, True),
        (TRANSACTION_COMMIT, True, True),
        (TRANSACTION_PREPARED, False, True),
        (TRANSACTION_ROLLBACK | COMPRESSED, False, False),
    ],
)
def test_a_half_message_is_only_indexed_and_a_rollback_is_nowhere(
    sys_flag: int, queued: bool, indexed: bool
) -> None:
    assert is_queued(sys_flag) == queued
    assert is_indexed(sys_flag) == indexed


@pytest.mark.parametrize(
    ("level", "code"),
    [
        ("1", 1_100),
        ("2", 5_100),
        ("3", 5_100),
        ("2147483647", 5_100),
        ("0000000001", 1_100),
        ("+2", 5_100),
    ]
    + [(text, tags_code("t")) for text in ("0", "-1", "--5", "x", "٣", "9999999999", "9" * 5_000)],
)
def test_a_delayed_record_has_its_due_time_and_without_a_level_its_tag(
    level: str, code: int
) -> None:
    properties = f"DELAY\x01{level}\x02TAGS\x01t\x02".encode()

    assert tags_code_of(SCHEDULE_TOPIC, properties, 100, due=DUE) == code
    assert tags_code_of("topic-a", properties, 100, due=DUE) == tags_code("t")


@pytest.mark.parametrize(
    ("names", "offsets", "copies"),
    [
        ("%LMQ%a,b", "7,3", {"%LMQ%a": 7, "b": 3}),
        ("a,", "7", {"a": 7}),
        ("a,b", "7", {}),
        ("a,,b", "7,1,3", {"a": 7, "b": 3}),
        ("a,b", "7,x", {"a": 7}),
    ],
)
def test_further_entries_are_those_whose_offsets_the_record_names(
    names: str, offsets: str, copies: dict[str, int]
) -> None:
    properties = f"INNER_MULTI_DISPATCH\x01{names}\x02INNER_MULTI_QUEUE_OFFSET\x01{offsets}\x02"

    assert copy_offsets(properties.encode()) == copies
    assert copy_offsets(b"TAGS\x01t\x02") == {}


def test_only_a_light_queue_with_enable_lmq_has_queue_0() -> None:
    ids = [copy_queue_id(name, 3, enable_lmq=on) for name in ("%LMQ%a", "a") for on in (1, 0)]

    assert ids == [0, 3, 3, 3]


NAMES = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "XTAGS", "MYKEYS", "K", "", "CLUSTER"])
VALUES = st.sampled_from(["", "a", "a b", "  k1  k2 ", "x\x01y", "TAGS\x01z", "schlüssel", "KEYS"])
ENDS = st.sampled_from(["\x02", "", "\x02\x02"])


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.lists(st.tuples(NAMES, VALUES, ENDS), max_size=6))
def test_tag_and_keys_are_those_of_the_parser(parts: list[tuple[str, str, str]]) -> None:
    raw = "".join(f"{name}\x01{value}{end}" for name, value, end in parts).encode()
    parsed = parse_properties(raw)
    unique = parsed.get("UNIQ_KEY")
    users = [key for key in parsed.get("KEYS", "").split(" ") if key]

    keys = ([] if unique is None else [unique]) + users
    assert tag_and_keys_of(raw) == (parsed.get("TAGS"), tuple(keys))
