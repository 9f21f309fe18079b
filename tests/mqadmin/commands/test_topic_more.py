"""Permission, clusters, order configuration and readers of topics; rates of groups."""

from pathlib import Path

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, rows
from tests.waiting import wait


def test_taking_a_permission_is_asked_for_and_giving_one_is_not(at: Run) -> None:
    at("topic", "create", "perm", "-q", "2")

    assert at("topic", "perm", "perm", "R").exit_code == 2
    taken = rows(at("topic", "perm", "perm", "R", "-y", "-ojson"))[0]
    same = rows(at("topic", "perm", "perm", "4", "-ojson"))[0]
    given = rows(
        at("updateTopicPerm", "-c", "DefaultCluster", "-t", "perm", "-p", "6", "--output=json")
    )

    assert (taken["perm"], taken["was"], taken["read_queues"]) == ("R--", {"perm": 6}, 2)
    assert same["result"] == "unchanged"
    assert (given[0]["perm"], given[0]["result"]) == ("RW-", "changed")
    assert at("topic", "perm", "never-made", "R", "-y").exit_code == 3
    assert at("topic", "perm", "perm", "X9").exit_code == 2
    assert at("updateTopicPerm", "-t", "perm", "-p", "6").exit_code == 2


def test_a_topic_is_in_a_cluster(at: Run) -> None:
    at("topic", "create", "where", "-q", "1")

    found = rows(at("topic", "clusters", "where", "-ojson"))

    assert found == [{"topic": "where", "cluster": "DefaultCluster", "brokers": ["broker-a"]}]
    assert rows(at("topicClusterList", "-t", "where", "--output", "json")) == found
    assert at("topic", "clusters", "never-made").exit_code == 3


def test_an_order_configuration_is_set_shown_deleted_and_undone(at: Run) -> None:
    conf = "broker-a:4;broker-b:2"
    java = ("updateOrderConf", "-t", "ordered", "--output", "json")

    assert at("topic", "order-conf", "ordered").exit_code == 3
    assert rows(at("topic", "order-conf", "ordered", conf, "-ojson"))[0]["result"] == "changed"
    shown = rows(at("topic", "order-conf", "ordered", "-ojson"))[0]
    assert (shown["order_conf"], shown["was"], shown["result"]) == (conf, None, "unchanged")
    assert rows(at(*java, "-m", "get"))[0]["order_conf"] == conf
    put = rows(at(*java, "-m", "put", "-v", "broker-a:8"))[0]
    assert (put["order_conf"], put["was"]) == ("broker-a:8", conf)
    assert at(*java, "-m", "delete").exit_code == 2
    gone = rows(at(*java, "-m", "delete", "-y"))[0]
    assert (gone["order_conf"], gone["was"]) == (None, "broker-a:8")
    assert at(*java, "-m", "delete", "-y").exit_code == 3
    at("undo", "-y")
    assert rows(at(*java, "-m", "get"))[0]["order_conf"] == "broker-a:8"


@pytest.mark.parametrize("conf", ["broker-a", "broker-a:0", "broker-a:4,b:1", ""])
def test_an_order_configuration_that_is_none_exits_2(at: Run, conf: str) -> None:
    assert at("topic", "order-conf", "t", conf).exit_code == 2
    assert at("updateOrderConf", "-t", "t", "-m", "put").exit_code == 2


def test_who_reads_a_topic_and_how_fast(at: Run) -> None:
    at("topic", "create", "read", "-q", "1")
    for number in range(3):
        at("message", "send", "read", f"m{number}")
    alone = rows(at("group", "tps", "--topic", "read", "-ojson"))
    assert [(row["group"], row["lag"]) for row in alone] == [(None, None)]
    at("offset", "reset", "reader", "read", "--to", "+1", "-y")

    found = rows(at("topic", "consumers", "read", "-ojson"))
    assert found == [
        {"topic": "read", "group": "reader", "members": 0, "lag": 2, "brokers": ["broker-a"]}
    ]
    paces = rows(at("group", "tps", "reader", "-ojson"))
    java = rows(at("statsAll", "-t", "read", "--output", "json"))
    assert [(row["topic"], row["lag"]) for row in paces] == [("read", 2)]
    assert [(row["topic"], row["group"], row["lag"]) for row in java] == [("read", "reader", 2)]
    assert "read" in {row["topic"] for row in rows(at("group", "tps", "-ojson"))}
    assert at("topic", "consumers", "never-made").exit_code == 3
    assert at("group", "tps", "never-made").exit_code == 3
    assert at("statsAll", "-t", "never-made").exit_code == 3


def test_a_group_without_members_runs_nowhere(at: Run, servers: ServerAddresses) -> None:
    at("group", "create", "idle")

    done = at("group", "running", "idle", "-ojson")

    assert rows(done) == []
    assert "nobody of the group is online" in done.err
    assert at("group", "running", "idle", "--client", "x").exit_code == 3
    assert at("consumerStatus", "-g", "never-made", "-b", servers.broker).exit_code == 3


def test_topics_are_listed_with_their_readers(at: Run) -> None:
    at("topic", "create", "listed", "-q", "1")
    at("message", "send", "listed", "m")
    at("offset", "reset", "lister", "listed", "--to", "earliest", "-y")

    plain = rows(at("topic", "list", "--kind", "normal", "-ojson"))
    full = rows(at("topicList", "-c", "--output", "json"))

    assert {"topic": "listed", "kind": "normal"} in plain
    assert [row for row in full if row["topic"] == "listed"] == [
        {
            "topic": "listed",
            "kind": "normal",
            "clusters": ["DefaultCluster"],
            "groups": ["lister"],
        }
    ]


def test_unit_bits_are_set_and_cleared_alone(at: Run) -> None:
    at("topic", "create", "units", "-q", "1")
    java = ("updateTopic", "-c", "DefaultCluster", "-t", "units", "--output", "json")

    made = rows(at(*java, "-u", "true", "-s", "true"))[0]
    cleared = rows(at("topic", "update", "units", "--unit", "false", "-ojson"))[0]
    same = rows(at("topic", "update", "units", "--unit-sub", "true", "-ojson"))[0]

    assert (made["result"], made["was"]) == ("changed", {"topic_sys_flag": 0})
    assert (cleared["result"], cleared["was"]) == ("changed", {"topic_sys_flag": 3})
    assert same["result"] == "unchanged"


def test_java_timeouts_are_in_ms(at: Run, servers: ServerAddresses) -> None:
    assert at("brokerConsumeStats", "-b", servers.broker, "-t", "3000").exit_code == 0
    assert at("brokerConsumeStats", "-b", servers.broker, "-t", "soon").exit_code == 2


def test_the_list_of_clusters_has_todays_totals(at: Run) -> None:
    (row,) = rows(at("clusterList", "-m", "--output", "json"))

    assert isinstance(row["in_today"], int)
    assert row["in_yesterday"] == 0


def test_flags_that_came_with_the_newer_java_tool_are_taken(at: Run) -> None:
    at("topic", "create", "newer", "-q", "1")
    (sent,) = rows(at("message", "send", "newer", "x", "-k", "k", "-ojson"))
    json_ = ("--output", "json")
    at("offset", "reset", "NEWER", "newer", "--to", "earliest", "-y")

    (cluster,) = rows(at("clusterList", "-c", "DefaultCluster", *json_))
    assert cluster["cluster"] == "DefaultCluster"
    assert at("clusterList", "-c", "Other").exit_code == 3
    (lag,) = rows(at("consumerProgress", "-g", "NEWER", "-t", "newer", *json_))
    assert lag["lag"] == 1
    assert len(rows(at("topicStatus", "-t", "newer", "-c", "DefaultCluster", *json_))) == 1
    by_id = ("queryMsgById", "-i", str(sent["unique_key"]), "-t", "newer", *json_)
    by_key = ("queryMsgByKey", "-t", "newer", "-k", "k", *json_)
    for words in (by_id, (*by_key, "-b", "0", "-m", "1")):
        found = wait(lambda words=words: at(*words), lambda done: done.exit_code == 0)
        assert [row["keys"] for row in rows(found)] == [["k"]]
    assert at(*by_key, "-e", "1").exit_code == 3
    (skipped,) = rows(
        at("skipAccumulatedMessage", "-g", "NEWER", "-t", "newer", "-c", "x", "-y", *json_)
    )
    assert skipped["new_offset"] == 1


def test_an_ordered_topic_is_one_at_the_name_servers(at: Run) -> None:
    json_ = ("--output", "json")
    java = ("updateTopic", "-c", "DefaultCluster", "-t", "in-order", *json_)

    def conf() -> object:
        return rows(at("topic", "order-conf", "in-order", *json_))[0]["order_conf"]

    planned = rows(at(*java, "-o", "true", "--dry-run"))[0]
    assert (planned["result"], at("topic", "show", "in-order").exit_code) == ("would change", 3)
    made = rows(at(*java, "-r", "4", "-w", "4", "-o", "true"))[0]
    assert (made["result"], made["order"], conf()) == ("changed", True, "broker-a:4")
    assert rows(at(*java, "-o", "true"))[0]["result"] == "unchanged"
    assert rows(at(*java, "-w", "2"))[0]["was"] == {"write_queue_nums": 4}
    assert conf() == "broker-a:4"

    at("topic", "order-conf", "in-order", "broker-b:1;broker-a:4")
    taken = rows(at(*java, "-o", "false"))[0]
    assert taken["was"] == {"order_conf": "broker-b:1;broker-a:4"}
    assert conf() == "broker-b:1"
    created = rows(at("topic", "create", "in-order-2", "--order", *json_))[0]
    assert (created["result"], created["order"]) == ("changed", True)


def test_topics_and_groups_of_a_file_are_made_and_changed(at: Run, tmp_path: Path) -> None:
    topics, groups = tmp_path / "topics.json", tmp_path / "groups.json"
    at("topic", "create", "filed-1", "-q", "2")
    topics.write_text(
        '[{"topicName": "filed-1", "readQueueNums": 4, "writeQueueNums": 3, "perm": 4},'
        ' {"topicName": "filed-2", "order": true, "topicSysFlag": 1}]'
    )
    groups.write_text('[{"groupName": "filed", "retryMaxTimes": 3}]')

    assert rows(at("topic", "import", str(topics), "--dry-run", "-ojson"))[1]["result"] == (
        "would change"
    )
    made = rows(at("topic", "import", str(topics), "-ojson"))
    again = rows(at("updateTopicList", "-c", "DefaultCluster", "-f", str(topics), "--output=json"))
    (group,) = rows(at("updateSubGroupList", "-f", str(groups), "--output", "json"))

    shown = [(r["topic"], r["read_queues"], r["write_queues"], r["perm"], r["order"]) for r in made]
    assert shown == [("filed-1", 4, 3, "R--", False), ("filed-2", 16, 16, "RW-", True)]
    assert made[0]["was"] == {"read_queue_nums": 2, "write_queue_nums": 2, "perm": 6}
    assert [row["result"] for row in again] == ["unchanged", "unchanged"]
    assert (group["group"], group["retry_max_times"]) == ("filed", 3)
    assert group["consume_broadcast_enable"] is True


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("[]", "empty array"),
        ('{"topicName": "x"}', "expected an array"),
        ('[{"topicName": "fine"}, {"topicName": "no good"}]', "no good"),
        ('[{"topicName": "fine", "perm": "many"}]', "entry 1"),
        ("[{}]", "topic"),
        ('[{"topicName": "fine"}, {"topicName": "fine"}]', "entry 2: fine is there twice"),
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
