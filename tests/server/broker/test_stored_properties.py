"""Properties written again as Java writes them; recorded records are the oracle."""

import json
import random
from pathlib import Path

import pytest

from mqserver.broker.stored_properties import Recoder, put_again
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import decode_record, decode_records
from storefmt.formats.properties import in_java_order, index_keys, parse_properties
from tests.records import record_bytes

SEED = 7


def moved(text: str) -> tuple[bytes, list[str | None]] | None:
    """Return the stored form by ``layout_of``, and the values of TAGS, KEYS, UNIQ_KEY and WAIT."""
    parts = text.split("\2")
    found = Recoder("C").layout_of([part.partition("\1")[0] for part in parts])
    if found is None:
        return None
    order, places = found
    stored = "\2".join("CLUSTER\1C" if at < 0 else parts[at] for at in order)
    return stored.encode(), [None if at < 0 else parts[at].partition("\1")[2] for at in places]


def test_cluster_is_added_wait_dropped_and_the_order_is_a_hash_maps() -> None:
    recoded = Recoder("TestCluster").recode(
        "KEYS\1k1 k2\2UNIQ_KEY\1U\2WAIT\1true\2TAGS\1A\2age\0015"
    )

    assert recoded.data == b"KEYS\1k1 k2\2UNIQ_KEY\1U\2CLUSTER\1TestCluster\2TAGS\1A\2age\0015"
    assert recoded.tags_code == tags_code("A")
    assert recoded.keys == ("U", "k1", "k2")
    assert recoded.waits
    assert recoded.named is None


@pytest.mark.parametrize("text", [None, "", "\2\2", "x\1", "\1y", "novalue"])
def test_nothing_useful_gives_the_cluster_alone(text: str | None) -> None:
    recoded = Recoder("C").recode(text)

    assert (recoded.data, recoded.tags_code, recoded.keys) == (b"CLUSTER\1C", 0, ())


def test_a_layout_gives_what_recoding_gives() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    names = ["KEYS", "TAGS", "UNIQ_KEY", "WAIT", "Zürich", *(f"p{n}" for n in range(60))]

    for _ in range(300):
        chosen = rng.sample(names, rng.randrange(1, len(names)))
        values = [rng.choice(["1", "true", "a b", "é", "x\1y", "%s"]) for _ in chosen]
        pairs = zip(chosen, values, strict=True)
        text = "\2".join(f"{name}\1{value}" for name, value in pairs)
        recoded, named = Recoder("C").recode(text), parse_properties(text)
        assert moved(text) == (
            recoded.data, [named.get(name) for name in ("TAGS", "KEYS", "UNIQ_KEY", "WAIT")],
        )  # fmt: skip


@pytest.mark.parametrize(
    "text", ["A\0011\2A\0012", "CLUSTER\1other", "TRAN_MSG\1true", "DELAY\0011", "A\1b\2DELAY\0010"]
)
def test_names_that_are_given_twice_or_acted_on_have_no_layout(text: str) -> None:
    assert moved(text) is None


@pytest.mark.parametrize("text", ["DELAY\0013\2TAGS\1t", "TRAN_MSG\1true"])
def test_properties_the_broker_acts_on_come_by_name_in_insertion_order(text: str) -> None:
    recoded = Recoder("C").recode("WAIT\1true\2" + text)

    assert recoded.named is not None
    assert list(recoded.named)[-2:] == ["CLUSTER", "WAIT"]


def test_batch_suffix_keeps_wait() -> None:
    recoder = Recoder("C")

    assert recoder.batch_suffix("WAIT\1false") == (
        b"CLUSTER\1C\2WAIT\1false", False, False, False
    )  # fmt: skip
    levels = ("2", "x", "0", "-2")
    delayed = [recoder.batch_suffix(f"DELAY\1{level}").is_delayed for level in levels]
    assert delayed == [True, True, False, False]


def test_index_keys_are_split_at_blanks_behind_the_unique_key() -> None:
    assert index_keys({"KEYS": " a  b ", "UNIQ_KEY": "U"}) == ("U", "a", "b")
    assert index_keys({}) == ()


def test_stored_order_is_that_of_recorded_java_records(fact_tables: Path) -> None:
    recoder = Recoder("HFCT_CLUSTER")
    sent, stored = {}, {}
    path = fact_tables / "captures" / "frames_json.jsonl"
    for line in path.read_text().splitlines():
        frame = json.loads(line)
        fields = (frame["header_json"] or {}).get("extFields") or {}
        if frame["code"] == 310 and frame["role"] == "broker" and "UNIQ_KEY" in fields.get("i", ""):
            sent[parse_properties(fields["i"])["UNIQ_KEY"]] = fields["i"]
        if frame.get("request_code") == 11 and frame["body_len"] == len(frame["body_hex"]) // 2:
            for record in decode_records(bytes.fromhex(frame["body_hex"])):
                stored[record.unique_key] = record.properties_raw

    compared = 0
    for key, text in sent.items():
        recoded = recoder.recode(text)
        if key in stored and recoded.named is None:
            assert recoded.data == stored[key]
            compared += 1
    assert compared >= 3
    assert in_java_order({}) == ""


@pytest.mark.parametrize("name", ["TIMER_DELIVER_MS", "TIMER_DELAY_SEC", "TIMER_DELAY_MS"])
def test_kernel_leaves_timer_messages_to_the_general_way(name: str) -> None:
    recoder = Recoder("c")

    assert recoder.layout_of(["KEYS", name]) is None
    assert recoder.layout_of(["KEYS", "TIMER_OUT_MS"]) is not None
    assert recoder.recode(f"{name}\x015").named == {name: "5", "CLUSTER": "c"}


def test_a_record_that_is_put_again_keeps_all_but_its_place_and_its_properties() -> None:
    record = decode_record(record_bytes(flag=3, sys_flag=8, reconsume_times=2))
    named = {"TAGS": "A", "KEYS": "k", "UNIQ_KEY": "U"}

    message = put_again(record, named, topic="Other", queue_id=5)

    assert (message.topic, message.topic_bytes, message.queue_id) == ("Other", b"Other", 5)
    assert parse_properties(message.properties) == named
    assert (message.tags_code, message.keys) == (tags_code("A"), ("U", "k"))
    assert message.prepared_transaction_offset == 0
    for name in (
        "body", "flag", "sys_flag", "born_ms", "born_host", "store_host", "reconsume_times",
    ):  # fmt: skip
        assert getattr(message, name) == getattr(record, name)
