"""Tags that are found together are those that are found one by one."""

import random

import pytest

np = pytest.importorskip("numpy")

from storefmt.offline.bulk_tags import find_tags  # noqa: E402 - only where numpy is

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
    joined = b"\x02".join([b"", *texts])

    found = find_tags(joined, np.array([len(text) for text in texts], dtype=np.int64))

    tags = [joined[start:end] for start, end in zip(found.start, found.end, strict=True)]
    assert [None if odd else tag for tag, odd in zip(tags, found.odd.tolist(), strict=True)] == [
        one_by_one(text) for text in texts
    ]
