"""Records that are dispatched together get the same entries as each of them alone."""

import pytest

from mqserver.store.commitlog.dispatch_requests import dispatch_entries
from mqserver.store.commitlog.log_scan import ScannedRecord
from storefmt.dispatch.record_entries import DueTimes
from storefmt.formats.javahash import tags_code
from storefmt.names import SCHEDULE_TOPIC

STORE_MS = 1_700_000_000_000
DUE = DueTimes((1_000, 5_000))
RUN = [
    ScannedRecord(number * 100, 100, topic, number % 3, number, 0, STORE_MS + number, properties)
    for number, (topic, properties) in enumerate(
        [
            ("topic-a", b"TAGS\x01red\x02KEYS\x01a b\x02UNIQ_KEY\x01u1\x02"),
            ("topic-a", b"TAGS\x01red\x02KEYS\x01c\x02UNIQ_KEY\x01u2\x02"),
            (SCHEDULE_TOPIC, b"TAGS\x01red\x02DELAY\x012\x02UNIQ_KEY\x01u3\x02"),
            (SCHEDULE_TOPIC, b"TAGS\x01red\x02UNIQ_KEY\x01u4\x02"),
            ("topic-b", b""),
            ("topic-b", b"TAGS\x01blue\x02"),
            ("topic-a", b"TAGS\x01red\x02UNIQ_KEY\x01u5\x02KEYS\x01d\x02"),
        ]
    )
]


def test_a_run_gives_what_each_record_gives() -> None:
    assert dispatch_entries(RUN, DUE) == [dispatch_entries([found], DUE)[0] for found in RUN]


@pytest.mark.parametrize(
    ("number", "code", "keys"),
    [
        (0, tags_code("red"), ("u1", "a", "b")),
        (1, tags_code("red"), ("u2", "c")),
        (2, STORE_MS + 2 + 5_000, ("u3",)),
        (3, tags_code("red"), ("u4",)),
        (4, 0, ()),
        (5, tags_code("blue"), ()),
        (6, tags_code("red"), ("u5", "d")),
    ],
)
def test_a_record_in_a_run_gets_its_own_code_and_keys(
    number: int, code: int, keys: tuple[str, ...]
) -> None:
    entry = dispatch_entries(RUN, DUE)[number]

    assert (entry.tags_code, entry.keys) == (code, keys)
    assert entry.log_offset == number * 100
    assert entry.queue_id == number % 3
