"""Message ids: what Java's clients and brokers made, and new ones like them."""

from datetime import datetime

import pytest

from storefmt.errors import BadCall
from storefmt.formats.hosts import parse_host
from storefmt.formats.msgid import UniqueId, UniqueIds, decode_unique_id, offset_id, parse_offset_id
from tests.storefmt.corpus import STORES

NOON_MS = int(datetime(2026, 11, 21, 12).timestamp() * 1000)


@pytest.mark.parametrize("name", STORES)
def test_golden_offset_ids_say_where_their_records_are(corpus, name: str) -> None:
    for row, _ in corpus(name).messages:
        host = parse_host(row["storeHost"])

        assert offset_id(host, row["physicOffset"]) == row["msgId"]
        assert parse_offset_id(row["msgId"]) == (host, row["physicOffset"])


def test_unique_id_of_a_java_client_is_understood() -> None:
    found = decode_unique_id("FD00000000000000000000000000000272BB4E0E2F2A67EC3C1B0000")

    assert found == UniqueId("fd00::2", 0x72BB, 0x4E0E2F2A, 0x67EC3C1B, 0)


def test_golden_unique_ids_are_of_the_days_they_were_made(corpus) -> None:
    # Some were sent by a raw client that made its own kind of id.
    rows = [
        row
        for row, _ in corpus("basic").messages
        if row["properties"].get("UNIQ_KEY", "").startswith("FD00")
    ]
    assert len(rows) > 1000

    for row in rows:
        found = decode_unique_id(row["properties"]["UNIQ_KEY"])
        month = datetime.fromtimestamp(row["bornTimestamp"] / 1000).replace(
            day=1, hour=0, minute=0, second=0, microsecond=0
        )

        assert found.ip == "fd00::2"
        made_ms = month.timestamp() * 1000 + found.born_ms_in_month
        # Their clock may have been in another time zone than this one.
        assert abs(row["bornTimestamp"] - made_ms) < 15 * 3_600_000


def test_new_id_tells_address_process_and_time() -> None:
    ids = UniqueIds(b"\x0a\0\0\1", pid=70_000, seed=7)
    month_ms = int(datetime(2026, 11, 1).timestamp() * 1000)

    first, second = ids.next(NOON_MS), ids.next(NOON_MS)

    assert len(first) == 32
    assert decode_unique_id(first) == UniqueId(
        "10.0.0.1", 70_000 & 0xFFFF, 7, NOON_MS - month_ms, 0
    )
    assert decode_unique_id(second).counter == 1


def test_id_of_an_ipv6_client_is_longer() -> None:
    assert len(UniqueIds(bytes(16)).next(NOON_MS)) == 56


@pytest.mark.parametrize(
    ("before", "after"), [((2026, 11, 30), (2026, 12, 1)), ((2026, 12, 31), (2027, 1, 1))]
)
def test_time_starts_again_with_the_month(before: tuple, after: tuple) -> None:
    ids = UniqueIds()
    last_ms = int(datetime(*before, 23, 59, 59).timestamp() * 1000)
    first_ms = int(datetime(*after).timestamp() * 1000)

    assert decode_unique_id(ids.next(last_ms)).born_ms_in_month > 29 * 86_400_000
    assert decode_unique_id(ids.next(first_ms)).born_ms_in_month == 0
    assert decode_unique_id(ids.next(last_ms)).born_ms_in_month > 29 * 86_400_000


def test_counter_goes_round_and_ids_stay_different() -> None:
    ids = UniqueIds(pid=1, seed=1)

    made = [ids.next(NOON_MS) for _ in range(65_537)]

    assert len(set(made)) == 65_536
    assert made[0] == made[-1]


def test_generators_do_not_make_the_same_ids() -> None:
    assert UniqueIds(pid=1).next(NOON_MS) != UniqueIds(pid=1).next(NOON_MS)


@pytest.mark.parametrize("text", ["", "7F", "G" * 32, "0" * 31, "0" * 33, " " * 32, "00 " * 16])
def test_text_that_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(BadCall):
        parse_offset_id(text)
    with pytest.raises(BadCall):
        decode_unique_id(text)


def test_address_of_another_length_is_refused() -> None:
    with pytest.raises(BadCall, match="5 bytes"):
        UniqueIds(bytes(5))
