"""A batch read in one pass is the batch that ``split_batch`` reads."""

from itertools import chain

import pytest

from mqserver.broker.send.batches import read_batch
from mqserver.broker.stored_properties import Recoder
from mqserver.runtime.request import RequestRefused
from mqserver.store.results import RunMessage
from remoting.codes import ResponseCode
from storefmt.errors import RecordDamaged
from storefmt.formats.batch import BatchEntry, join_batch, split_batch
from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import parse_properties

ENDS = Recoder("C").batch_suffix("WAIT\1true")
SUFFIX = ENDS.data
ENTRIES = [
    BatchEntry(3, b"one", b"KEYS\1a b\2UNIQ_KEY\1U1\2WAIT\1true\2TAGS\1t"),
    BatchEntry(-1, b"", b"UNIQ_KEY\1U2\2WAIT\1true\2"),
    BatchEntry(0, b"three", b""),
    BatchEntry(0, b"four", b"TAGS\1\xff"),
]

SEED = 5


def read(data: bytes) -> list[RunMessage]:
    return list(chain(*read_batch(data, ends=ENDS, illegal="no")))


def test_messages_keep_their_bytes_and_get_the_suffix() -> None:
    found = read(join_batch(ENTRIES))

    assert [(one.flag, one.body) for one in found] == [one[:2] for one in ENTRIES]
    assert [one.properties for one in found] == [
        ENTRIES[0].properties + b"\2" + SUFFIX,
        ENTRIES[1].properties + SUFFIX,
        SUFFIX,
        ENTRIES[3].properties + b"\2" + SUFFIX,
    ]
    assert [one.keys for one in found] == [("U1", "a", "b"), ("U2",), (), ()]
    assert [one.tags_code for one in found] == [tags_code("t"), 0, 0, tags_code("\ufffd")]


def test_cut_and_changed_bodies_are_refused_where_they_are_no_batch() -> None:
    whole = join_batch(ENTRIES)
    changed = [
        whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :]
        for at in range(len(whole))
        for bit in (1, 0x80)
    ]

    for data in [*(whole[:size] for size in range(1, len(whole))), *changed]:
        try:
            expected = [(one.flag, one.body) for one in split_batch(data)]
        except RecordDamaged:
            with pytest.raises(RequestRefused) as refused:
                read(data)
            assert refused.value.code == ResponseCode.SYSTEM_ERROR
            assert "not a batch of messages" in refused.value.remark
        else:
            assert [(one.flag, one.body) for one in read(data)] == expected


@pytest.mark.parametrize(
    "data",
    [
        b"",
        join_batch([BatchEntry(0, b"x", b"a\1" + b"y" * 32_760)]),
    ],
)
def test_messages_that_no_batch_may_hold_are_illegal(data: bytes) -> None:
    with pytest.raises(RequestRefused) as refused:
        read(data)

    assert (refused.value.code, refused.value.remark) == (ResponseCode.MESSAGE_ILLEGAL, "no")


@pytest.mark.parametrize("name", ["DELAY", "INNER_MULTI_DISPATCH", "TRAN_MSG"])
def test_a_message_that_asks_for_something_is_seen_behind_plain_ones(name: str) -> None:
    plain = BatchEntry(0, b"x", b"UNIQ_KEY\1A\2WAIT\1true")
    asking = BatchEntry(0, b"x", f"UNIQ_KEY\1A\2WAIT\1true\2{name}\0013".encode())

    assert [one.keys for one in read(join_batch([plain, plain, asking]))] == [("A",)] * 3


def test_tags_and_keys_of_the_batch_count_more_than_those_of_its_messages() -> None:
    ends = Recoder("C").batch_suffix("TAGS\1B\2KEYS\1k2")
    entries = [BatchEntry(0, b"x", b"TAGS\1A\2KEYS\1k1"), BatchEntry(0, b"y", b"")]

    (found,) = read_batch(join_batch(entries), ends=ends, illegal="no")

    assert [(one.tags_code, one.keys) for one in found] == [(tags_code("B"), ("k2",))] * 2
    named = [parse_properties(one.properties.decode()) for one in found]
    assert [one["TAGS"] for one in named] == ["B", "B"]
