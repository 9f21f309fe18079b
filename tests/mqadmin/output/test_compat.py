"""``--compat``: a layout is printed where there is one, else refused before anything is sent."""

from collections.abc import Callable

from mqadmin.output.compat import LAYOUTS
from tests.mqadmin.conftest import Result

Run = Callable[..., Result]


def test_rows_come_in_java_s_columns(at: Run) -> None:
    at("topic", "create", "compat-topic", "-q", "1")

    shown = at("topicStatus", "-t", "compat-topic", "--compat")

    head, row = shown.out.splitlines()
    assert shown.exit_code == 0
    assert head.startswith("#Broker Name" + " " * 22 + "#QID")
    assert row.split() == ["broker-a", "0", "0", "0"]
    assert "compat-topic\n" in at("topicList", "--compat").out


def test_a_time_is_local_and_a_long_name_is_cut() -> None:
    record = {
        "broker": "b" * 40,
        "queue_id": 1,
        "min_offset": 0,
        "max_offset": 2,
        "last_updated_ms": 1_700_000_000_123,
    }

    _, row = LAYOUTS["topic status"]([record])

    assert row.startswith("b" * 32 + "  1   ")
    assert row.endswith(",123\n")


def test_a_command_without_layout_says_so(run: Run) -> None:
    done = run("group", "list", "--compat")

    assert (done.exit_code, "no --compat layout" in done.err) == (2, True)


def test_exit_codes_are_java_s_only_where_that_is_asked_for(at: Run) -> None:
    missing = ("topicStatus", "-t", "no-such-topic")

    assert at(*missing, "--compat").exit_code == 3
    assert at(*missing, "--compat", "strict").exit_code == 0
    assert at(*missing, "--compat=strict", "--no-such").exit_code == 1
    assert at("topicList", "--compat").exit_code == 0
    assert at("--compat", "topicList").exit_code == 0
    assert at("topicList", "--compat=java").exit_code == 2
