"""Permission, clusters, order configuration and readers of topics; rates of groups."""

from pathlib import Path

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, cells, rows
from tests.waiting import wait


def test_taking_a_permission_is_asked_for_and_giving_one_is_not(at: Run) -> None:
    at("topic", "create", "perm", "-q", "2")

    assert at("topic", "perm", "perm", "R").exit_code == 2
    taken = at.row("topic", "perm", "perm", "R", "-y")
    same = at.row("topic", "perm", "perm", "4")
    given = at.rows("updateTopicPerm", "-c", "DefaultCluster", "-t", "perm", "-p", "6")

    assert (taken["perm"], taken["was"], taken["read_queues"]) == ("R--", {"perm": 6}, 2)
    assert same["result"] == "unchanged"
    assert (given[0]["perm"], given[0]["result"]) == ("RW-", "changed")
    assert at("topic", "perm", "never-made", "R", "-y").exit_code == 3
    assert at("topic", "perm", "perm", "X9").exit_code == 2
    assert at("updateTopicPerm", "-t", "perm", "-p", "6").exit_code == 2


def test_a_topic_is_in_a_cluster(at: Run) -> None:
    at("topic", "create", "where", "-q", "1")

    found = at.rows("topic", "clusters", "where")

    assert found == [{"topic": "where", "cluster": "DefaultCluster", "brokers": ["broker-a"]}]
    assert at.rows("topicClusterList", "-t", "where") == found
    assert at("topic", "clusters", "never-made").exit_code == 3


def test_an_order_configuration_is_set_shown_deleted_and_undone(at: Run) -> None:
    conf = "broker-a:4;broker-b:2"
    java = ("updateOrderConf", "-t", "ordered")

    assert at("topic", "order-conf", "ordered").exit_code == 3
    assert at.row("topic", "order-conf", "ordered", conf)["result"] == "changed"
    shown = at.row("topic", "order-conf", "ordered")
    assert (shown["order_conf"], shown["was"], shown["result"]) == (conf, None, "unchanged")
    assert at.row(*java, "-m", "get")["order_conf"] == conf
    put = at.row(*java, "-m", "put", "-v", "broker-a:8")
    assert (put["order_conf"], put["was"]) == ("broker-a:8", conf)
    assert at(*java, "-m", "delete").exit_code == 2
    gone = at.row(*java, "-m", "delete", "-y")
    assert (gone["order_conf"], gone["was"]) == (None, "broker-a:8")
    assert at(*java, "-m", "delete", "-y").exit_code == 3
    at("undo", "-y")
    assert at.row(*java, "-m", "get")["order_conf"] == "broker-a:8"


@pytest.mark.parametrize("conf", ["broker-a", "broker-a:0", "broker-a:4 b:1", ""])
def test_an_order_configuration_that_is_none_exits_2(at: Run, conf: str) -> None:
    assert at("topic", "order-conf", "t", conf).exit_code == 2
    assert at("updateOrderConf", "-t", "t", "-m", "put").exit_code == 2


def test_an_order_configuration_takes_commas_and_keeps_javas_semicolons(at: Run) -> None:
    changed = at.row("topic", "order-conf", "commas", "broker-a:4,b:1")

    assert changed["order_conf"] == "broker-a:4;b:1"


def test_who_reads_a_topic_and_how_fast(at: Run) -> None:
    assert at("topic", "create", "paced", "-q", "1").exit_code == 0
    for number in range(3):
        assert at("message", "send", "paced", f"m{number}").exit_code == 0
    alone = at.rows("group", "tps", "--topic", "paced")
    assert cells(alone, "group", "lag") == [(None, None)]
    # The servers are those of other files as well: no other test may use this group.
    assert at("offset", "reset", "pacer", "paced", "--to", "+1", "-y").exit_code == 0

    found = at.rows("topic", "consumers", "paced")
    assert found == [
        {"topic": "paced", "group": "pacer", "members": 0, "lag": 2, "brokers": ["broker-a"]}
    ]
    paces = at.rows("group", "tps", "pacer")
    java = at.rows("statsAll", "-t", "paced")
    assert cells(paces, "topic", "lag") == [("paced", 2)]
    assert cells(java, "topic", "group", "lag") == [("paced", "pacer", 2)]
    assert "paced" in {row["topic"] for row in at.rows("group", "tps")}
    assert at("topic", "consumers", "never-made").exit_code == 3
    assert at("group", "tps", "never-made").exit_code == 3
    assert at("statsAll", "-t", "never-made").exit_code == 3


def test_a_group_without_members_runs_nowhere(at: Run, servers: ServerAddresses) -> None:
    at("group", "create", "idle")

    done = at("group", "running", "idle", "-ojson")

    assert rows(done) == []
    assert "the group has no members online" in done.err
    assert at("group", "running", "idle", "--client", "x").exit_code == 3
    assert at("consumerStatus", "-g", "never-made", "-b", servers.broker).exit_code == 3


def test_topics_are_listed_with_their_readers(at: Run) -> None:
    at("topic", "create", "listed", "-q", "1")
    at("message", "send", "listed", "m")
    at("offset", "reset", "lister", "listed", "--to", "earliest", "-y")

    plain = at.rows("topic", "list", "--kind", "normal")
    full = at.rows("topicList", "-c")

    assert {"topic": "listed", "kind": "normal"} in plain
    assert [row for row in full if row["topic"] == "listed"] == [
        {"topic": "listed", "kind": "normal", "clusters": ["DefaultCluster"], "groups": ["lister"]}
    ]


def test_unit_bits_are_set_and_cleared_alone(at: Run) -> None:
    at("topic", "create", "units", "-q", "1")
    java = ("updateTopic", "-c", "DefaultCluster", "-t", "units")

    made = at.row(*java, "-u", "true", "-s", "true")
    cleared = at.row("topic", "update", "units", "--unit", "false")
    same = at.row("topic", "update", "units", "--unit-sub", "true")

    assert (made["result"], made["was"]) == ("changed", {"topic_sys_flag": 0})
    assert (cleared["result"], cleared["was"]) == ("changed", {"topic_sys_flag": 3})
    assert same["result"] == "unchanged"


def test_java_timeouts_are_in_ms(at: Run, servers: ServerAddresses) -> None:
    assert at("brokerConsumeStats", "-b", servers.broker, "-t", "3000").exit_code == 0
    assert at("brokerConsumeStats", "-b", servers.broker, "-t", "soon").exit_code == 2


def test_the_list_of_clusters_has_todays_totals(at: Run) -> None:
    row = at.row("clusterList", "-m")

    assert isinstance(row["in_today"], int)
    assert row["in_yesterday"] == 0


def test_flags_that_came_with_the_newer_java_tool_are_taken(at: Run) -> None:
    at("topic", "create", "newer", "-q", "1")
    sent = at.row("message", "send", "newer", "x", "-k", "k")
    json_ = ("--output", "json")
    at("offset", "reset", "NEWER", "newer", "--to", "earliest", "-y")

    cluster = at.row("clusterList", "-c", "DefaultCluster")
    assert cluster["cluster"] == "DefaultCluster"
    assert at("clusterList", "-c", "Other").exit_code == 3
    lag = at.row("consumerProgress", "-g", "NEWER", "-t", "newer")
    assert lag["lag"] == 1
    assert len(at.rows("topicStatus", "-t", "newer", "-c", "DefaultCluster")) == 1
    by_id = ("queryMsgById", "-i", sent["unique_key"], "-t", "newer", *json_)
    by_key = ("queryMsgByKey", "-t", "newer", "-k", "k", *json_)
    for words in (by_id, (*by_key, "-b", "0", "-m", "1")):
        found = wait(lambda words=words: at(*words), lambda done: done.exit_code == 0)
        assert [row["keys"] for row in rows(found)] == [["k"]]
    assert at(*by_key, "-e", "1").exit_code == 3
    skipped = at.row(
        "skipAccumulatedMessage", "-g", "NEWER", "-t", "newer", "-c", "DefaultCluster", "-y"
    )
    assert skipped["new_offset"] == 1


def test_an_ordered_topic_is_one_at_the_name_servers(at: Run) -> None:
    java = ("updateTopic", "-c", "DefaultCluster", "-t", "in-order")

    def conf() -> object:
        return at.row("topic", "order-conf", "in-order")["order_conf"]

    planned = at.row(*java, "-o", "true", "--dry-run")
    assert (planned["result"], at("topic", "show", "in-order").exit_code) == ("would change", 3)
    made = at.row(*java, "-r", "4", "-w", "4", "-o", "true")
    assert (made["result"], made["order"], conf()) == ("changed", True, "broker-a:4")
    assert at.row(*java, "-o", "true")["result"] == "unchanged"
    assert at.row(*java, "-w", "2")["was"] == {"write_queue_nums": 4}
    assert conf() == "broker-a:4"

    at("topic", "order-conf", "in-order", "broker-b:1;broker-a:4")
    taken = at.row(*java, "-o", "false")
    assert taken["was"] == {"order_conf": "broker-b:1;broker-a:4"}
    assert conf() == "broker-b:1"
    created = at.row("topic", "create", "in-order-2", "--order")
    assert (created["result"], created["order"]) == ("changed", True)


def test_topics_and_groups_of_a_file_are_made_and_changed(at: Run, tmp_path: Path) -> None:
    topics, groups = tmp_path / "topics.json", tmp_path / "groups.json"
    at("topic", "create", "filed-1", "-q", "2")
    topics.write_text(
        '[{"topicName": "filed-1", "readQueueNums": 4, "writeQueueNums": 3, "perm": 4},'
        ' {"topicName": "filed-2", "order": true, "topicSysFlag": 1}]'
    )
    groups.write_text('[{"groupName": "filed", "retryMaxTimes": 3}]')

    assert at.rows("topic", "import", str(topics), "--dry-run")[1]["result"] == "would change"
    made = at.rows("topic", "import", str(topics))
    again = at.rows("updateTopicList", "-c", "DefaultCluster", "-f", str(topics))
    group = at.row("updateSubGroupList", "-f", str(groups))

    shown = cells(made, "topic", "read_queues", "write_queues", "perm", "order")
    assert shown == [("filed-1", 4, 3, "R--", False), ("filed-2", 16, 16, "RW-", True)]
    assert made[0]["was"] == {"read_queue_nums": 2, "write_queue_nums": 2, "perm": 6}
    assert [row["result"] for row in again] == ["unchanged", "unchanged"]
    assert (group["group"], group["retry_max_times"]) == ("filed", 3)
    assert group["consume_broadcast_enable"] is True


def test_attributes_of_a_topic_are_set_removed_and_undone(at: Run) -> None:
    fifo, java = {"message.type": "FIFO"}, ("updateTopic", "-c", "DefaultCluster", "-t", "typed")

    made = at.row("topic", "create", "typed", "--attributes", "+message.type=FIFO")
    again = at.row("topic", "create", "typed", "--attributes", "+message.type=FIFO")
    other = at(
        "topic", "create", "typed", "--attributes", "+message.type=DELAY", "--output", "json"
    )
    reset = at.row(*java, "--replace")
    removed = at.row(*java, "--attributes=-message.type")
    gone = at.row(*java, "--attributes=-message.type")
    at("undo", "-y")
    after = at.row("topic", "update", "typed", "--queues", "8")

    assert (made["result"], made["message_type"], again["result"]) == (
        *("changed", "FIFO"),
        "unchanged",
    )
    assert (other.exit_code, other.rows[0]["remark"]) == (1, "it exists with other settings")
    assert (reset["result"], reset["message_type"]) == ("unchanged", "FIFO")
    assert (removed["result"], removed["message_type"]) == ("changed", "NORMAL")
    assert removed["was"] == {"message_type": fifo["message.type"]}
    assert gone["result"] == "unchanged"
    assert (after["message_type"], after["other_attributes"]) == ("FIFO", {})


def test_an_attribute_that_the_broker_does_not_know_is_refused(at: Run) -> None:
    at("topic", "create", "keeps", "-q", "2")

    both = ("--attributes", "+message.type=FIFO,+reserve.time=72")
    done = at("topic", "update", "keeps", *both, "--output", "json")
    (refused,) = rows(done, exit_code=1)

    assert refused["result"] == "refused"
    assert "unsupported key: reserve.time" in str(refused["remark"])
    assert refused["message_type"] == "NORMAL"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--attributes", "message.type=FIFO"), "add/alter attribute format is wrong"),
        (("--attributes", "+a=1,+a=2"), "key duplication: +a"),
        (("--attributes", "+a=1,-a"), "sets and removes a"),
        (("--attributes", "-message.type", "--message-type", "FIFO"), "name it once"),
    ],
)
def test_changes_that_cannot_be_read_are_a_wrong_line(
    at: Run, words: tuple[str, ...], says: str
) -> None:
    done = at("topic", "update", "anything", *words)

    assert done.exit_code == 2
    assert says in done.err


def test_attributes_of_a_file_are_changes_or_those_of_an_export(at: Run, tmp_path: Path) -> None:
    file = tmp_path / "typed.json"
    file.write_text(
        '[{"topicName": "typed-1", "attributes": {"+message.type": "FIFO"}},'
        ' {"topicName": "typed-2", "attributes": {"message.type": "DELAY"}}]'
    )

    made = at.rows("topic", "import", str(file))

    assert cells(made, "result", "message_type") == [("changed", "FIFO"), ("changed", "DELAY")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "the array is empty"),
        ('{"topicName": "x"}', "expected an array"),
        ('[{"topicName": "fine"}, {"topicName": "no good"}]', "no good"),
        ('[{"topicName": "fine", "perm": "many"}]', "entry 1"),
        ("[{}]", "topic"),
        ('[{"topicName": "fine"}, {"topicName": "fine"}]', "entry 2: fine appears twice"),
    ],
)
def test_a_file_that_is_no_list_of_topics_changes_nothing(
    at: Run, tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "topics.json"
    file.write_text(text)

    done = at("topic", "import", str(file))

    assert done.exit_code == 2
    assert says in done.err
    assert at("topic", "show", "fine").exit_code == 3
