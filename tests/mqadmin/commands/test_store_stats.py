"""``store stats`` and ``store timeline``: counts, and bars where a person looks."""

from pathlib import Path

import pytest

from tests.golden import Golden
from tests.mqadmin.commands.offline import run
from tests.mqadmin.conftest import cells
from tests.programs import python


def test_stats_by_topic_are_largest_first(golden: Golden) -> None:
    rows = run("store", "stats", golden.store("basic")).rows

    assert [row["topic"] for row in rows][:2] == ["big_bodies", "ord-events"]
    assert sum(row["count"] for row in rows) == 1420
    assert rows[0]["relative"] == 1.0
    assert round(sum(row["share"] for row in rows), 3) == 1.0
    assert "bar" not in rows[0]


def test_stats_by_queue_tag_producer_and_hour(kinds: Path) -> None:
    queues = run("store", "stats", kinds, "--by", "queue", "--topic", "kd-normal").rows
    tags = run("store", "stats", kinds, "--by", "tag").rows
    hosts = run("store", "stats", kinds, "--by", "producer").rows
    hours = run("store", "stats", kinds, "--by", "hour").rows

    assert cells(queues, "key", "topic", "queue_id") == [
        ("kd-normal 0", "kd-normal", 0), ("kd-normal 1", "kd-normal", 1),
    ]  # fmt: skip
    assert {"TagA", None} <= {row["key"] for row in tags}
    assert cells(hosts, "key", "count") == [("127.0.0.1", 335)]
    assert [row["key"] for row in hours] == ["2026-11-21T04:00:00.000Z"]


def test_the_table_has_bars(golden: Golden) -> None:
    lines = run("store", "stats", golden.store("basic"), output="table").out.splitlines()

    assert "BAR" in lines[0]
    assert "█" * 32 in lines[1]
    assert all("█" in line or "▏" in line or "▎" in line for line in lines[1:])


def test_timeline_is_in_order_without_gaps(golden: Golden) -> None:
    rows = run("store", "timeline", golden.store("kinds"), "--every", "1s").rows

    starts = [row["start_ms"] for row in rows]
    assert starts == list(range(starts[0], starts[-1] + 1, 1000))
    assert sum(row["count"] for row in rows) == 335
    assert [row["count"] for row in rows][:3] == [293, 3, 0]


def test_timeline_chooses_its_spans(golden: Golden) -> None:
    rows = run("store", "timeline", golden.store("basic")).rows

    assert 5 < len(rows) <= 60


def test_events_are_told_in_order_with_the_message_that_proves_them(golden: Golden) -> None:
    rows = run("store", "events", golden.store("retention"), "--pause", "1m").rows

    kinds = [row["kind"] for row in rows]
    assert kinds[:2] == ["deleted", "first"]
    assert kinds[-1] == "last"
    pause = rows[kinds.index("pause")]
    assert 60_000 <= pause["span_ms"] < rows[-1]["at_ms"] - rows[0]["at_ms"]
    assert pause["at_time"].endswith("Z")
    assert run("store", "events", golden.store("retention"), "--pause", "0s").exit_code == 2


def test_an_empty_store_has_no_rows(ipv6: Path) -> None:
    for file in (ipv6 / "commitlog").iterdir():
        file.unlink()

    assert run("store", "stats", ipv6).rows == run("store", "timeline", ipv6).rows == []


@pytest.mark.parametrize(
    "words",
    [
        ("stats", "--by", "colour"), ("stats", "--limit", "-1"), ("timeline", "--every", "0s"),
        ("timeline", "--every", "soon"), ("timeline", "--every", "1ms"),
    ],
)  # fmt: skip
def test_wrong_words_are_exit_2(golden: Golden, words: tuple[str, ...]) -> None:
    assert run("store", words[0], golden.store("kinds"), *words[1:]).exit_code == 2


def test_no_command_loads_numpy_for_a_small_store(golden: Golden) -> None:
    script = (
        "import sys; from mqadmin.program import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'numpy', 'pyarrow'} & set(sys.modules), 'loaded'"
    )
    path = str(golden.store("ipv6"))
    for words in (("stats", path), ("verify", path), ("trace", path, "x"), ("info", path)):
        python("-c", script, "store", *words)
