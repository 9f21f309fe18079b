"""The compiled columns are the plain ones, whatever the bytes are."""

import mmap
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")

from storefmt.arrow import columns  # noqa: E402
from storefmt.arrow.columns_plain import PlainColumns  # noqa: E402
from storefmt.formats.message import encode_record  # noqa: E402
from storefmt.formats.scan import scan_log  # noqa: E402
from tests.storefmt.broken import guarded_page  # noqa: E402
from tests.storefmt.formats.test_message import SMALL  # noqa: E402
from tests.storefmt.formats.test_scan_kernel import EDGES  # noqa: E402
from tests.twins import compiled, needs_kernel  # noqa: E402

COMPILED = compiled("CompiledColumns")
pytestmark = needs_kernel("CompiledColumns")
PAD = columns.PAD_SIZE

names = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "PGROUP", "WAIT", "a", "имя", ""])
texts = st.one_of(
    st.lists(st.tuples(names, st.text("aB 7\x01é中😀", max_size=40)), max_size=6).map(
        lambda pairs: "\x02".join(f"{name}\x01{value}" for name, value in pairs).encode()
    ),
    st.text("TAGSKEY\x01\x02 é", max_size=60).map(str.encode),
    st.binary(max_size=60),
)
hosts = st.one_of(st.binary(min_size=8, max_size=8), st.binary(min_size=20, max_size=20))
numbers = st.integers(-(2**31), 2**31 - 1)
longs = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**41))


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Return records of all kinds, some of their bytes and numbers overwritten."""
    raw = b""
    for _ in range(draw(st.integers(1, 5))):
        raw += encode_record(
            topic=draw(st.sampled_from([b"", b"t", b"t" * 127, "тема".encode(), b"t" * 300])),
            queue_id=draw(numbers),
            queue_offset=draw(longs),
            log_offset=len(raw),
            flag=draw(numbers),
            sys_flag=draw(numbers),
            born_ms=draw(longs),
            born_host=draw(hosts),
            store_ms=draw(longs),
            store_host=draw(hosts),
            reconsume_times=draw(numbers),
            prepared_transaction_offset=draw(longs),
            body=draw(st.binary(max_size=70)),
            properties=draw(texts),
        )
    data = bytearray(raw)
    for _ in range(draw(st.integers(0, 3))):
        pos = draw(st.integers(0, len(data) - 4))
        value = draw(st.one_of(st.sampled_from(EDGES), st.integers(0, (1 << 32) - 1)))
        size = draw(st.sampled_from([1, 4]))
        data[pos : pos + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "big")
    return bytes(data)


def both(raw: bytes, names: list[str]) -> tuple:
    """Return how many records each way takes, and its batch."""
    data = np.frombuffer(raw + bytes(PAD), dtype=np.uint8)
    starts = np.array(scan_log(raw, 0, len(raw))[0], dtype=np.int64)
    schema = columns.schema_of(names)
    makers = [make(schema, "a file", True, 9) for make in (PlainColumns, COMPILED)]
    counts = [maker.add(data, starts, None) for maker in makers]
    batches = [maker.take_batch() for maker in makers]
    for batch in batches:
        batch.validate(full=True)
    return counts, batches


@settings(max_examples=400, deadline=None)
@given(logs(), st.sets(st.sampled_from(columns.SCHEMA.names), min_size=1))
def test_damaged_logs_give_the_same_columns_on_both_ways(raw: bytes, some: set[str]) -> None:
    counts, batches = both(raw, sorted(some))

    assert counts[0] == counts[1]
    assert batches[0].equals(batches[1])


@settings(max_examples=300, deadline=None)
@given(logs())
def test_all_columns_together_are_the_same_on_both_ways(raw: bytes) -> None:
    counts, batches = both(raw, columns.SCHEMA.names)

    assert counts[0] == counts[1]
    assert batches[0].equals(batches[1])


def test_nothing_behind_the_data_is_read() -> None:
    memory, page = guarded_page(), mmap.PAGESIZE
    random_numbers = random.Random(7)
    record = encode_record(**{**SMALL, "properties": b"TAGS\x01a\x02KEYS\x01b c"})

    for _ in range(3_000):
        data = bytearray(record[: random_numbers.randrange(len(record)) + 1])
        for _ in range(random_numbers.randrange(3)):
            pos = random_numbers.randrange(len(data))
            data[pos : pos + 4] = random_numbers.choice(EDGES).to_bytes(4, "big")
        del data[len(record) :]
        memory[page - len(data) : page] = bytes(data)
        view = np.frombuffer(memory, dtype=np.uint8)[page - len(data) : page]
        maker = COMPILED(columns.SCHEMA, "a file", True, 9)
        if maker.add(view, np.zeros(1, dtype=np.int64), None):
            maker.take_batch().validate(full=True)


def test_kernel_refuses_starts_outside_of_the_data() -> None:
    data = np.zeros(200, dtype=np.uint8)
    for start in (-1, 201, 1 << 62):
        maker = COMPILED(columns.SCHEMA, "a file", False, 9)
        with pytest.raises(IndexError, match="of 200"):
            maker.add(data, np.array([start], dtype=np.int64), None)


def test_time_grows_with_the_number_of_names_and_no_faster() -> None:
    # 4,000 different names in each record: comparing each with each would take minutes.
    some = b"\x02".join(b"%x\x01v" % number for number in range(4_000))
    raw = b"".join(encode_record(**{**SMALL, "properties": some}) for _ in range(300))
    starts = np.array(scan_log(raw, 0, len(raw))[0], dtype=np.int64)
    maker = COMPILED(columns.schema_of(["properties"]), "a file", False, 300)

    assert maker.add(np.frombuffer(raw, dtype=np.uint8), starts, None) == 300
    assert len(maker.take_batch().column(0)[299]) == 4_000
