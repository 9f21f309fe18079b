"""Records of POP: the bodies are those that 5.4.0 brokers stored."""

import json

import pytest

from storefmt.formats.pop_records import PopRecord, read_pop_record

CK = (
    b'{"bm":0,"bn":"broker-a","c":"infl","d":[0,1],"it":60000,"n":2,"pt":1795479175131,"q":1,'
    b'"reviveTime":1795479235131,"ro":0,"so":5,"t":"Fifo1"}'
)
ACK = b'{"ao":2,"bn":"broker-a","c":"G","pt":1795476736034,"q":0,"so":0,"t":"T"}'
BATCH = b'{"ao":-1,"aol":[0,1],"bn":"broker-a","c":"G","pt":1795476736034,"q":0,"so":0,"t":"T"}'


def test_a_checkpoint_names_its_messages_and_when_they_come_again() -> None:
    found = read_pop_record("ck", CK)

    assert found == PopRecord(
        "checkpoint", "infl", "Fifo1", 1, 5, (5, 6), 1_795_479_175_131, 60_000, "broker-a"
    )
    assert found.revive_ms == json.loads(CK)["reviveTime"]


def test_acknowledgements_name_one_message_or_several() -> None:
    one, several = read_pop_record("ack", ACK), read_pop_record("bAck", BATCH)

    assert one == PopRecord("ack", "G", "T", 0, 0, (2,), 1_795_476_736_034, None, "broker-a")
    assert several.kind == "batch ack"
    assert several.queue_offsets == (0, 1)
    assert one.revive_ms is several.revive_ms is None


def test_without_distances_the_messages_are_in_a_row() -> None:
    body = {name: value for name, value in json.loads(CK).items() if name not in ("d", "bn")}
    found = read_pop_record("ck", json.dumps(body).encode())

    assert found.queue_offsets == (5, 6)
    assert found.broker is None


@pytest.mark.parametrize("tag", [None, "", "other", "CK"])
def test_another_tag_is_none_of_them(tag: str | None) -> None:
    assert read_pop_record(tag, CK) is None


@pytest.mark.parametrize("tag", ["ck", "ack", "bAck"])
@pytest.mark.parametrize("size", range(0, len(BATCH), 7))
def test_a_body_that_was_cut_is_none_of_them(tag: str, size: int) -> None:
    assert read_pop_record(tag, {"ck": CK, "ack": ACK, "bAck": BATCH}[tag][: size % 70]) is None


@pytest.mark.parametrize(
    ("tag", "changes"),
    [
        ("ck", {"so": "5"}),
        ("ck", {"d": 3}),
        ("ck", {"d": [True]}),
        ("ck", {"d": None, "n": 1_000_000_000}),
        ("ck", {"d": list(range(2_000))}),
        ("ck", {"c": None}),
        ("ack", {"ao": None}),
        ("bAck", {"aol": None}),
    ],
)
def test_a_body_with_other_values_is_none_of_them(tag: str, changes: dict[str, object]) -> None:
    body = {**json.loads({"ck": CK, "ack": ACK, "bAck": BATCH}[tag]), **changes}

    assert read_pop_record(tag, json.dumps(body).encode()) is None


@pytest.mark.parametrize("body", [b"[]", b"7", b"null", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_none_of_them(body: bytes) -> None:
    assert read_pop_record("ck", body) is None
