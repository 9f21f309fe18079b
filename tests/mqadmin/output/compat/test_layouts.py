"""``--compat``: a layout is printed where there is one, else refused before anything is sent."""

from pathlib import Path

import pytest

from mqadmin.cli.java.names import Java
from mqadmin.cli.java.table import JAVA
from mqadmin.output.compat import messages
from mqadmin.output.compat.java_text import Line, map_text
from mqadmin.output.compat.layouts import LAYOUTS, layout_of
from mqadmin.shell.server import ServerAddresses
from storefmt.formats.javamaps import hash_order, queue_hash
from tests.mqadmin.conftest import Run


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


def test_a_variable_makes_the_whole_tool_behave_as_java_s(at: Run, env: dict[str, str]) -> None:
    at("topic", "create", "compat-all", "-q", "1")
    env["MQADMIN_COMPAT"] = "1"

    listed = at("topicList")
    deleted = at("deleteTopic", "-t", "compat-all", "-c", "DefaultCluster")

    assert "compat-all" in listed.out.splitlines()
    assert deleted.exit_code == 0
    assert deleted.out.splitlines() == [
        "delete topic [compat-all] from cluster [DefaultCluster] success.",
        "delete topic [compat-all] from NameServer success.",
    ]
    assert at("topicStatus", "-t", "compat-all").exit_code == 3
    assert at.rows("topicList")
    assert at("context", "list").exit_code == 0

    env["MQADMIN_COMPAT"] = "strict"
    assert at("topicStatus", "-t", "compat-all").exit_code == 0


def test_a_permission_is_told_as_java_tells_it(at: Run, servers: ServerAddresses) -> None:
    at("topic", "create", "compat-perm", "-q", "2")
    words = ("updateTopicPerm", "-t", "compat-perm", "-p", "2", "--compat", "-y")

    first = at(*words, "-b", servers.broker)
    again = at(*words, "-c", "DefaultCluster")

    assert first.out.splitlines() == [
        f"update topic perm from 6 to 2 in {servers.broker} success.",
        "TopicConfig [topicName=compat-perm, readQueueNums=2, writeQueueNums=2, perm=-W-, "
        "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false].",
    ]
    # Of a cluster Java changes a permission that is the same; of one broker it says so.
    assert again.out == f"update topic perm from 2 to 2 in {servers.broker} success.\n"
    assert at(*words, "-b", servers.broker).out == "new perm equals to the old one!\n"


def test_messages_of_another_broker_are_not_printed(at: Run) -> None:
    at("topic", "create", "compat-broker", "-q", "1")
    at("message", "send", "compat-broker", "hello")
    words = ("message", "print", "compat-broker", "--compat", "--broker")

    assert "BODY: hello" in at(*words, "broker-a").out
    assert at(*words, "another").out == ""


SINCE_5 = ("updateSubGroupList", "updateTopicList")
"""Names of the tool of 5.x, which a 4.9.7 tool prints nothing for."""


@pytest.mark.parametrize(
    "java",
    [one for one in JAVA if one.name not in SINCE_5],
    ids=lambda one: f"{one.name} {one.command}",
)
def test_every_name_of_the_java_tool_has_a_layout(java: Java) -> None:
    layout = layout_of(java.command, Line(java.name, {}, {}))

    assert callable(layout)


def test_what_finds_nothing_to_print_prints_nothing() -> None:
    layout = layout_of("doctor", Line("startMonitoring", {}, {}))

    assert not list(layout([{"check": "lag"}]))


def test_properties_are_in_the_order_of_a_hash_map() -> None:
    # As the real tool printed them.
    put = ["TAGS", "UNIQ_KEY", "CLUSTER", "KEYS", "MAX_OFFSET", "MIN_OFFSET"]
    printed = ["MIN_OFFSET", "MAX_OFFSET", "KEYS", "UNIQ_KEY", "CLUSTER", "TAGS"]

    assert map_text(dict.fromkeys(put, 1)) == "{" + ", ".join(f"{name}=1" for name in printed) + "}"


def test_queues_are_in_the_order_of_a_hash_set() -> None:
    queues = hash_order(range(4), lambda number: queue_hash("SceneTopic", "broker-a", number))

    assert queues.index(1) < queues.index(0)


def test_a_body_is_written_to_no_file_that_a_producer_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "BODIES", tmp_path / "bodies")
    record = {
        **dict.fromkeys(("topic", "tags", "log_offset", "reconsume_times", "sys_flag"), ""),
        **dict.fromkeys(("queue_id", "queue_offset", "born_ms", "store_ms"), 0),
        "keys": [],
        "properties": {},
        "born_host": "",
        "store_host": "",
        "unique_key": "../outside",
        "msg_id": "7F00",
        "body": "text",
    }

    told = "".join(messages.message([record]))

    assert f"Message Body Path:   {tmp_path}/bodies/7F00\n" in told
    assert told.endswith("WARN: No Consumer")
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["7F00"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("deleteTopic", "-t", "NO_SUCH", "-c", "DefaultCluster"), "delete topic [NO_SUCH] from "),
        (("deleteSubGroup", "-g", "NO_SUCH", "-c", "DefaultCluster"), "delete subscription group "),
        (("deleteKvConfig", "-s", "NO_SUCH", "-k", "k"), "delete kv config from namespace success"),
    ],
)
def test_a_deletion_of_what_is_not_there_succeeds_as_java_s_does(
    at: Run, words: tuple[str, ...], said: str
) -> None:
    java, honest = at(*words, "--compat", "-y"), at(*words, "--compat=honest", "-y")
    own = at(*words, "-y")

    assert (java.exit_code, java.out.startswith(said)) == (0, True)
    assert (honest.exit_code, own.exit_code) == (3, 3)
