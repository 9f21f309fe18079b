"""QueueRows returns the rows that were put, in whatever order."""

import random

import pytest

from mqserver.store.queues.queue_rows import QueueRow, QueueRows


def test_rows_are_what_a_dict_would_hold() -> None:
    chance = random.Random(1)
    rows, expected = QueueRows(), dict[tuple[str, int], QueueRow]()
    for number in range(2_000):
        key = chance.choice(["a", "b"]), chance.randrange(40)
        if chance.random() < 0.3:
            assert rows.pop(*key) == expected.pop(key, None)
        else:
            expected[key] = QueueRow(number, number + 1, 1 << 40)
            rows.put_row(*key, expected[key])
        assert (key in rows) is (key in expected)
        assert len(rows) == len(expected)

    assert sorted(rows) == sorted((*key, row) for key, row in expected.items())
    assert rows.get("a", 99) is None
    assert sorted(rows.topics()) == ["a", "b"]


def test_text_of_a_topic_can_be_read_back() -> None:
    rows, again = QueueRows(), QueueRows()
    for queue_id in (7, 0, 3):
        rows.put_row("a", queue_id, QueueRow(queue_id, queue_id + 1, queue_id + 2))

    again.put_text("a", rows.text_of("a"))

    assert rows.text_of("a") == "0 0 1 2 3 3 4 5 7 7 8 9"
    assert list(again) == list(rows)


@pytest.mark.parametrize("text", ["1 2 3", "1 0 0 0 1 0 0 0", "2 0 0 0 1 0 0 0", "x 0 0 0"])
def test_text_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"rows of topic|invalid literal"):
        QueueRows().put_text("a", text)
