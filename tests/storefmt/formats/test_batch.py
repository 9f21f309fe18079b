"""Batch bodies: both ways, cut anywhere, any length changed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.batch import BatchEntry, join_batch, split_batch
from tests.storefmt.broken import flipped

ENTRIES = st.lists(
    st.builds(
        BatchEntry,
        st.integers(-(2**31), 2**31 - 1),
        st.binary(max_size=40),
        st.binary(max_size=40),
    ),
    max_size=5,
)
TWO = [BatchEntry(1, b"one", b"TAGS\x01A"), BatchEntry(-2, b"", b"")]


@settings(derandomize=True)
@given(ENTRIES)
def test_batch_comes_back_and_equals_the_declared_layout(entries: list[BatchEntry]) -> None:
    body = join_batch(entries)
    pos = 0

    assert split_batch(body) == entries
    for entry in entries:
        found = {span.field.name: span.value for span in layout.BATCH_ENTRY.spans(body, pos)}
        assert (found["flag"], found["body"], found["properties"]) == entry
        assert found["magic"] == 0
        assert found["body_crc"] == 0
        pos += found["size"]
    assert pos == len(body)


def test_entry_has_the_bytes_that_java_clients_send() -> None:
    assert join_batch(TWO[:1]) == bytes.fromhex(
        "0000001f 00000000 00000000 00000001 00000003 6f6e65 0006 544147530141"
    )


def test_cut_batch_is_damage_at_every_byte_but_between_entries() -> None:
    body = join_batch(TWO)
    between = {0, len(join_batch(TWO[:1]))}

    for size in set(range(len(body))) - between:
        with pytest.raises(RecordDamaged) as caught:
            split_batch(body[:size])
        assert caught.value.pos in between


def test_flipped_bit_of_a_length_is_damage() -> None:
    body = join_batch(TWO)

    for pos in (*range(4), *range(16, 20), 23, 24):
        for bit in range(8):
            with pytest.raises(RecordDamaged) as caught:
                split_batch(flipped(body, 8 * pos + bit))
            assert caught.value.kind in (DamageKind.TRUNCATED, DamageKind.BAD_LENGTH)


@pytest.mark.parametrize("entry", [BatchEntry(0, b"", bytes(32768)), BatchEntry(2**31, b"", b"")])
def test_what_no_entry_can_hold_is_refused(entry: BatchEntry) -> None:
    with pytest.raises(BadCall, match="message 1 of the batch"):
        join_batch([TWO[0], entry])
