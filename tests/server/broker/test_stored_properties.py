"""Properties written again as Java writes them; recorded records are the oracle."""

import json
import random
from pathlib import Path

import pytest

from server.broker.stored_properties import Recoder, in_java_order, index_keys
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import decode_records
from storefmt.formats.properties import parse_properties

SEED = 7


def slow(text: str) -> tuple[bytes, int, tuple[str, ...], bool]:
    """Return what the path by name makes of a text."""
    recoded = Recoder("C")._by_name(parse_properties(text))
    return recoded.data, recoded.tags_code, recoded.keys, recoded.waits


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


@pytest.mark.parametrize(
    "text",
    [
        "A\0011\2A\0012\2TAGS\1t",
        "CLUSTER\1other\2TAGS\1t",
        "A\0011\2",
        "A\1x\1y\2B\0012",
        "WAIT\1false\2KEYS\1 a  b ",
        "KEYS\1k\2cut",
        "100%\1%s\2a.b\1x\ny",
    ],
)
def test_odd_texts_give_the_same_on_both_paths(text: str) -> None:
    recoder = Recoder("C")

    # Twice: the second time the shape is known.
    for _ in range(2):
        recoded = recoder.recode(text)
        assert (recoded.data, recoded.tags_code, recoded.keys, recoded.waits) == slow(text)


def test_random_texts_give_the_same_on_both_paths() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    names = ["KEYS", "TAGS", "UNIQ_KEY", "WAIT", "Zürich", *(f"p{n}" for n in range(20))]
    recoder = Recoder("C")

    for _ in range(300):
        chosen = rng.sample(names, rng.randrange(len(names)))
        values = [rng.choice(["1", "true", "a b", "é", "x\1y"]) for _ in chosen]
        pairs = zip(chosen, values, strict=True)
        text = "\2".join(f"{name}\1{value}" for name, value in pairs)
        recoded = recoder.recode(text)
        assert (recoded.data, recoded.tags_code, recoded.keys, recoded.waits) == slow(text)


@pytest.mark.parametrize("text", ["DELAY\0013\2TAGS\1t", "TRAN_MSG\1true"])
def test_properties_the_broker_acts_on_come_by_name_in_insertion_order(text: str) -> None:
    recoded = Recoder("C").recode("WAIT\1true\2" + text)

    assert recoded.named is not None
    assert list(recoded.named)[-2:] == ["CLUSTER", "WAIT"]


def test_batch_suffix_keeps_wait_and_entries_are_read_one_by_one() -> None:
    recoder = Recoder("C")

    assert recoder.batch_suffix("WAIT\1false") == (
        b"CLUSTER\1C\2WAIT\1false", False, False, False
    )  # fmt: skip
    levels = ("2", "x", "0", "-2")
    delayed = [recoder.batch_suffix(f"DELAY\1{level}").is_delayed for level in levels]
    assert delayed == [True, True, False, False]
    assert recoder.batch_entry(b"KEYS\1a b\2TAGS\1t") == (tags_code("t"), ("a", "b"))


def test_index_keys_are_split_at_blanks_behind_the_unique_key() -> None:
    assert index_keys({"KEYS": " a  b ", "UNIQ_KEY": "U"}) == ("U", "a", "b")
    assert index_keys({}) == ()


def test_known_shapes_do_not_grow_without_end() -> None:
    recoder = Recoder("C")

    for number in range(10_000):
        recoder.recode(f"name{number}\1x")

    assert len(recoder._shapes) <= 4_096


def test_stored_order_is_that_of_recorded_java_records(shared: Path) -> None:
    recoder = Recoder("HFCT_CLUSTER")
    sent, stored = {}, {}
    path = shared / "facts" / "captures" / "frames_json.jsonl"
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
