"""Keys and lines of the live view, without a screen."""

from functools import reduce

import pytest

from mqadmin.output.table import cell_width
from mqadmin.top.sample import TopRow
from mqadmin.top.view import KEYS_LINE, InputMode, View, draw, press, select_rows, within

ROWS = [
    TopRow("broker", "broker-a", in_tps=3.0, out_tps=1.5, disk_ratio=0.42),
    TopRow("broker", "broker-a:1", slave_lag=77),
    TopRow("topic", "orders", in_tps=1.0),
    TopRow("topic", "日志" * 10, in_tps=9.0, out_tps=2.0),
    TopRow("group", "billing", out_tps=0.0, lag=12, members=3),
    TopRow("group", "audit", out_tps=5.0, lag=1, members=1),
]


def after(*keys: str) -> View:
    return reduce(press, keys, View())


def names(view: View) -> list[str]:
    return [row.name for row in select_rows(view, ROWS)]


def test_groups_that_are_behind_come_before_topics() -> None:
    assert names(View()) == ["broker-a", "broker-a:1", "billing", "audit", "日志" * 10, "orders"]


def test_a_stuck_group_is_seen_on_a_small_terminal_with_many_idle_topics() -> None:
    topics = [TopRow("topic", f"idle-{number}", in_tps=0.0) for number in range(100)]
    groups = [TopRow("group", f"busy-{number}", out_tps=9.0, lag=0) for number in range(30)]
    stuck = TopRow("group", "stuck", out_tps=0.0, lag=1_000, members=0)

    lines = draw(View(), [*topics, *groups, stuck], title="T", width=80, height=24)

    assert lines[3].startswith("stuck")
    assert lines[1] == "sort busy | show all | lines 1-21 of 134, down: more"


def test_the_second_line_says_when_the_end_is_reached() -> None:
    rows = [TopRow("topic", f"t-{number}") for number in range(30)]
    view = reduce(lambda at, _: within(press(at, "down"), rows, height=24), range(99), View())

    assert view.offset == 10
    assert "lines 11-31 of 31, up: more" in draw(view, rows, title="T", width=80, height=24)[1]
    assert within(press(view, "up"), rows, height=24).offset == 9


@pytest.mark.parametrize("key", ["?", "h"])
def test_a_key_explains_the_keys_and_any_other_goes_back(key: str) -> None:
    lines = draw(after(key), ROWS, title="T", width=80, height=24)

    assert all(cell_width(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines if line][1:6] == ["q", "s", "that", "r", "tab"]
    assert not any(line.endswith("…") for line in lines)
    assert after(key, "x") == View()
    assert after(key, "q").quit
    assert "? help" in draw(View(), ROWS, title="T", width=80, height=24)[-1]


def test_s_sorts_by_the_next_column_and_r_turns_it_round() -> None:
    assert after("s").sort == "lag"
    assert names(after("s"))[2:4] == ["billing", "audit"]
    assert names(after("s", "r"))[2:4] == ["audit", "billing"]
    assert names(after("s", "s", "s", "s"))[:2] == ["broker-a", "broker-a:1"]
    assert after(*"sssss") == View()


def test_tab_shows_one_kind_alone() -> None:
    assert names(after("tab", "tab", "tab")) == ["日志" * 10, "orders"]
    assert after("tab", "tab", "tab", "tab") == View()


def test_a_filter_is_typed_kept_and_dropped() -> None:
    typing = after("/", "O", "x", "backspace", "r")
    assert (typing.mode, typing.text) == (InputMode.FILTERING, "Or")
    assert names(press(typing, "enter")) == ["orders"]
    assert press(typing, "escape") == View()
    assert press(press(typing, "enter"), "escape").text == ""


def test_keys_that_mean_nothing_change_nothing() -> None:
    assert after("x", "left", "enter") == View()
    assert after("q").quit
    assert not after("/", "q").quit
    assert after(" ").paused
    assert not after(" ", " ").paused


@pytest.mark.parametrize(("width", "height"), [(120, 40), (80, 24), (40, 10), (20, 5), (8, 3)])
def test_nothing_is_wider_or_longer_than_the_terminal(width: int, height: int) -> None:
    lines = draw(View(), ROWS, title="mqadmin top", width=width, height=height)

    assert len(lines) <= height
    assert all(cell_width(line) <= width for line in lines)


def test_the_screen_in_full() -> None:
    lines = draw(after("tab", "tab"), ROWS, title="T", width=50, height=10)

    assert lines == [
        "T",
        "sort busy | show group",
        "GROUP                  OUT/S        LAG    MEMBERS",
        "billing                    0         12          3",
        "audit                      5          1          1",
        KEYS_LINE[:49] + "…",
    ]


def test_scrolling_ends_at_the_last_row() -> None:
    view = after(*["down"] * 50)

    assert any("orders" in line for line in draw(view, ROWS, title="T", width=60, height=6))


def test_names_from_servers_cannot_steer_the_terminal() -> None:
    rows = [TopRow("topic", "a\x1b[2Jb", in_tps=0.0), TopRow("broker", "b", error="\x1b]0;x")]

    assert "\x1b" not in "".join(draw(View(), rows, title="T", width=60, height=20))


def test_the_standing_of_replicas_has_a_column_where_there_are_some() -> None:
    replicas = [TopRow("broker", "g", in_tps=3.0, replica="MASTER 4"), TopRow("broker", "h")]

    lines = draw(View(), replicas, title="T", width=80, height=24)

    assert lines[2].split() == ["BROKER", "REPLICA", "IN/S", "OUT/S", "DISK", "SLAVE", "LAG"]
    assert lines[3].split() == ["g", "MASTER", "4", "3", "-", "-", "-"]
    assert lines[4].split()[1] == "-"
    assert "REPLICA" not in draw(View(), ROWS, title="T", width=80, height=24)[2]
