"""Tags that are found together are those that are found one by one."""

import random

import pytest

np = pytest.importorskip("numpy")

from storefmt.formats.javahash import tags_code  # noqa: E402
from storefmt.offline.verify.bulk_tags import codes_of, find_tags, texts_of  # noqa: E402

PARTS = (
    b"TAGS\x01A", b"TAGS\x01", b"TAGS\x01two words", b"KEYS\x01TAGS", b"xTAGS\x01B", b"TAG",
    b"S\x01", b"\x01", b"", b"UNIQ_KEY\x017F00",
)  # fmt: skip


def one_by_one(text: bytes) -> bytes | None:
    """Return the tag of some properties, empty where there is none, None where it is odd."""
    names = [at for at in range(len(text)) if text.startswith(b"TAGS\x01", at)]
    if not names:
        return b""
    value = text[names[0] + 5 :].split(b"\x02")[0]
    at_start = names[0] == 0 or text[names[0] - 1] == 2
    return value if len(names) == 1 and at_start and value else None


@pytest.mark.parametrize("seed", range(20))
def test_each_record_gets_its_own_tag(seed: int) -> None:
    chance = random.Random(seed)
    texts = [
        b"\x02".join(chance.choices(PARTS, k=chance.randrange(5))) + chance.choice((b"", b"\x02"))
        for _ in range(chance.randrange(60))
    ]
    # Whatever lies around them, as bodies do, is not looked at.
    data = b"TAGS\x01body".join([b"", *texts, b"TAGS\x01" * 20])
    pos = np.cumsum([9, *(len(text) + 9 for text in texts)], dtype=np.int64)[:-1]
    sizes = np.array([len(text) for text in texts], dtype=np.int64)

    found: dict[int, bytes | None] = {}
    for some in texts_of(np.frombuffer(data, dtype=np.uint8), pos, sizes):
        tags = find_tags(some)
        for row, start, end, odd in zip(
            some.rows.tolist(), *map(np.ndarray.tolist, tags), strict=True
        ):
            found[row] = None if odd else some.data[start:end]

    assert found == {number: one_by_one(text) for number, text in enumerate(texts)}


def test_properties_at_the_end_of_a_window_may_be_left_out() -> None:
    data = b"..KEYS\x01A.TAGS\x01B"
    view, pos = np.frombuffer(data, dtype=np.uint8), np.array([2, 10], dtype=np.int64)

    rows = [some.rows.tolist() for some in texts_of(view, pos, np.array([7, 4], dtype=np.int64))]

    assert rows == [[0]]


def test_codes_are_those_of_java() -> None:
    tags = [b"", b"A", b"two words", "Grüße".encode(), b"x" * 32, b"x" * 33, b"\x7f\xff\x80"]
    ends = np.cumsum([len(tag) for tag in tags], dtype=np.int64)
    starts = ends - [len(tag) for tag in tags]

    found = codes_of(b"".join([*tags, bytes(32)]), starts, ends)

    assert found.tolist() == [tags_code(tag.decode("utf-8", "replace")) for tag in tags]
