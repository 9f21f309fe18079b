"""``undo``: what a destructive write changed comes back, and the answer says what did."""

from typing import cast

import pytest

from mqadmin.changes.targets.topic import TopicTarget
from mqadmin.changes.write import ChangeStep, StepResult
from mqadmin.cluster.brokers import ServerNode
from mqadmin.commands.undo import recreated_topics
from mqadmin.output.rows import CHANGED
from mqadmin.session.journal import Journal
from mqadmin.shell.server import ServerAddresses
from mqclient.admin.admin import Admin
from storefmt.config.tables import TopicConfig
from tests.mqadmin.conftest import Run, cells, rows


def test_a_changed_topic_comes_back(at: Run) -> None:
    at("topic", "create", "undo-update", "-q", "3")
    done = at("topic", "update", "undo-update", "--perm", "R", "-q", "5")
    assert "undo 1" in done.err

    planned = at.row("undo", "--dry-run")
    assert (planned["result"], planned["kind"]) == ("would change", "topic")
    assert at("undo", "1").exit_code == 2
    put_back = at.row("undo", "1", "-y")

    assert (put_back["result"], put_back["name"]) == ("changed", "undo-update")
    route = at.row("topic", "route", "undo-update")
    assert (route["perm"], route["read_queues"]) == ("RW-", 3)
    listed = at.rows("undo", "--list")
    assert cells(listed, "id", "result") == [(1, "undone"), (2, "an undo")]
    assert at("undo", "-y").exit_code == 3
    assert at.row("undo", "2", "-y")["result"] == "changed"
    assert at.row("topic", "route", "undo-update")["perm"] == "R--"


def test_a_topic_of_two_brokers_is_named_once() -> None:
    made = TopicConfig("orders")
    targets = [
        TopicTarget(cast(Admin, None), ServerNode("c", name, 0, name), ("orders",)) for name in "ab"
    ]
    done = [StepResult(ChangeStep(target, None, made), CHANGED, made) for target in targets]

    assert recreated_topics(cast("list[StepResult[object]]", done)) == ["orders"]


def test_a_deleted_topic_comes_back_without_its_messages(at: Run) -> None:
    at("topic", "create", "undo-delete", "-q", "3")
    at("message", "send", "undo-delete", "gone", "--queue", "1")
    deleted = at("topic", "delete", "undo-delete", "-y")
    assert deleted.exit_code == 0

    undone = at("undo", "-y", "-ojson")

    assert rows(undone)[0]["result"] == "changed"
    assert "the messages are gone" in deleted.err
    assert "the messages of undo-delete are not restored" in undone.err

    queues = at.rows("topic", "show", "undo-delete")
    assert [row["message_count"] for row in queues] == [0, 0, 0]


def test_nothing_is_changed_where_the_old_state_cannot_be_kept(
    at: Run, env: dict[str, str]
) -> None:
    at("topic", "create", "undo-full", "-q", "3")
    env["XDG_STATE_HOME"] = "/dev/null"

    done = at("topic", "update", "undo-full", "-q", "5")

    assert done.exit_code == 1
    assert "cannot keep the old state" in done.err
    assert at.row("topic", "route", "undo-full")["read_queues"] == 3


@pytest.mark.parametrize(
    ("words", "exit_code"), [(("undo", "7"), 3), (("undo",), 3), (("undo", "x"), 2)]
)
def test_what_cannot_be_undone(at: Run, words: tuple[str, ...], exit_code: int) -> None:
    done = at(*words, "-y")

    assert (done.exit_code, done.out) == (exit_code, "")


def test_an_entry_goes_back_to_its_own_servers_only(
    at: Run, run: Run, env: dict[str, str], servers: ServerAddresses
) -> None:
    at("topic", "create", "undo-where", "-q", "3")
    at("topic", "update", "undo-where", "-q", "5")

    other = run("undo", "1", "-y", "--namesrv", "127.0.0.1:1")
    run("context", "add", "prod", servers.namesrv, "--protected")
    run("context", "add", "dev", "127.0.0.1:1", "--use")
    unnamed = run("undo", "1", "-y")
    named = run("undo", "1", "-y", "--context", "prod", "-ojson")

    assert (other.exit_code, "not to 127.0.0.1:1" in other.err) == (2, True)
    assert (unnamed.exit_code, "prod is protected" in unnamed.err) == (2, True)
    assert rows(named)[0]["result"] == "changed"
    assert Journal.of(env).entry(1).undone_ms is not None


def test_the_newest_comes_back_without_a_name_server_on_the_line(at: Run, run: Run) -> None:
    at("topic", "create", "undo-bare", "-q", "3")
    at("topic", "update", "undo-bare", "-q", "5")

    assert run.row("undo", "-y")["result"] == "changed"
