"""Settings of brokers and name servers, the key-value table, write permission, cleaning up."""

from collections.abc import Iterator

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run


def value_of(at: Run, key: str) -> object:
    return at.row("broker", "config", "get", key)["value"]


def test_a_broker_setting_is_changed_read_back_and_undone(at: Run) -> None:
    before = value_of(at, "shortPollingTimeMills")
    words = ("broker", "config", "set", "shortPollingTimeMills", "1234")

    assert at(*words).exit_code == 2
    planned = at.row(*words, "--dry-run")
    assert (planned["old_value"], planned["result"]) == (before, "would change")
    assert value_of(at, "shortPollingTimeMills") == before
    made = at.row(*words, "-y")
    again = at.row(*words, "-y")
    assert (made["old_value"], made["value"], made["result"]) == (before, "1234", "changed")
    assert again["result"] == "unchanged"
    assert at.row("undo", "-y")["kind"] == "broker setting"
    assert value_of(at, "shortPollingTimeMills") == before


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (("shortPollingTimeMils", "1"), 3, "did you mean shortPollingTimeMills?"),
        (("shortPollingTimeMills", "soon"), 2, "expected a whole number"),
        (("slaveReadEnable", "yes"), 2, "expected true or false"),
        (("flushDiskType", "NEVER"), 2, "expected SYNC_FLUSH or ASYNC_FLUSH"),
        (("storePathRootDir", "/tmp"), 1, "cannot be changed while the broker runs"),
        (("slaveReadEnable", "true", "-b", "no-broker"), 3, "broker 'no-broker' not found"),
        (("slaveReadEnable", "true", "--cluster", "None"), 3, "cluster 'None' not found"),
        (("slaveReadEnable",), 2, "missing VALUE"),
        (("slaveReadEnable", "true", "-b", "127.0.0.1:1"), 4, "127.0.0.1:1"),
    ],
)
def test_a_broker_setting_that_cannot_be(
    at: Run, words: tuple[str, ...], exit_code: int, said: str
) -> None:
    done = at("broker", "config", "set", *words, "-y", "-ojson")

    assert done.exit_code == exit_code, done
    assert said in done.out + done.err


def test_java_sets_a_broker_setting_by_address(at: Run, servers: ServerAddresses) -> None:
    flags = ("-b", servers.broker, "-k", "defaultQueryMaxNum")

    made = at.rows("updateBrokerConfig", *flags, "-v", "33", "-y")

    assert (made[0]["value"], made[0]["result"]) == ("33", "changed")
    at("undo", "-y")
    assert at("updateBrokerConfig", "-k", "a", "-v", "1").exit_code == 2


def test_a_name_server_setting_is_changed_and_undone(at: Run, servers: ServerAddresses) -> None:
    key = "orderMessageEnable"
    got = at.rows("namesrv", "config", "get", key)
    java = at.rows("getNamesrvConfig")
    assert got[0] in java
    assert got[0]["address"] == servers.namesrv
    flipped = "false" if got[0]["value"] == "true" else "true"

    assert at("namesrv", "config", "set", key, flipped).exit_code == 2
    made = at.rows("updateNamesrvConfig", "-k", key, "-v", flipped, "-y")
    assert (made[0]["old_value"], made[0]["value"]) == (got[0]["value"], flipped)
    at("undo", "-y")
    assert at.rows("namesrv", "config", "get", key) == got
    assert at("namesrv", "config", "get", "nothingLikeIt").exit_code == 3
    missing = ("namesrv", "config", "set", "orderMessageEnabled", "true", "-y")
    assert at.row(*missing, exit_code=3)["remark"] == "did you mean orderMessageEnable?"
    assert at("namesrv", "config", "set", key, "maybe", "-y").exit_code == 2


def test_a_key_is_set_read_deleted_and_comes_back(at: Run) -> None:
    made = at.row("namesrv", "kv", "set", "app", "limit", "7")
    java = at.row("updateKvConfig", "-s", "app", "-k", "limit", "-v", "8")

    assert (made["old_value"], made["value"], made["result"]) == (None, "7", "changed")
    assert (java["old_value"], java["value"]) == ("7", "8")
    assert at.row("namesrv", "kv", "set", "app", "limit", "8")["result"] == "unchanged"
    assert [row["value"] for row in at.rows("namesrv", "kv", "get", "app")] == ["8"]
    assert at("namesrv", "kv", "delete", "app", "limit").exit_code == 2
    gone = at.row("deleteKvConfig", "-s", "app", "-k", "limit", "-y")
    assert (gone["old_value"], gone["value"], gone["result"]) == ("8", None, "changed")
    assert at("namesrv", "kv", "get", "app", "limit").exit_code == 3
    assert at.row("namesrv", "kv", "delete", "app", "limit", "-y", exit_code=3)["result"] == (
        "not found"
    )
    at("undo", "-y")
    assert at.row("namesrv", "kv", "get", "app", "limit")["value"] == "8"
    assert at("namesrv", "kv", "get", "no-namespace").exit_code == 3


@pytest.fixture
def writable(at: Run) -> Iterator[None]:
    """Give the broker its permission back, whatever the test did."""
    yield
    at("addWritePerm", "-b", "broker-a")


@pytest.mark.usefixtures("writable")
def test_write_permission_is_taken_and_given_back(at: Run) -> None:
    at("topic", "create", "wiped", "-q", "1")
    wipe = ("broker", "write-perm", "wipe", "broker-a")
    planned = at.row(*wipe, "--dry-run")

    assert at(*wipe).exit_code == 2
    made = at.row(*wipe, "-y")
    assert (made["was_writable"], made["writable"], made["result"]) == (True, False, "changed")
    assert at.row("topic", "route", "wiped")["perm"] == "R--"
    assert at.row("wipeWritePerm", "-b", "broker-a", "-y")["result"] == "unchanged"
    again = at("wipeWritePerm", "-b", "broker-a", "-y", "--compat").out
    assert again.endswith(f" OK, {made['topics']}\n")
    assert made["topics"] > 1
    assert at.row("undo", "-y")["result"] == "changed"
    assert at.row("topic", "route", "wiped")["perm"] == "RW-"
    nobody = at.row("broker", "write-perm", "add", "no-broker", exit_code=3)
    assert planned["topics"] == made["topics"]
    assert nobody["result"] == "not found"


@pytest.mark.parametrize(
    ("native", "java"),
    [
        ("expired-queues", "cleanExpiredCQ"),
        ("unused-topics", "cleanUnusedTopic"),
        ("expired-log", "deleteExpiredCommitLog"),
    ],
)
def test_cleaning_is_asked_of_each_broker(
    at: Run, servers: ServerAddresses, native: str, java: str
) -> None:
    words = ("broker", "clean", native)

    assert at(*words).exit_code == 2
    assert at.row(*words, "--dry-run")["result"] == "would change"
    assert at.row(*words, "-y")["result"] == "done"
    by_address = at.rows(java, "-b", servers.broker, "-y")
    assert [row["broker"] for row in by_address] == ["broker-a"]
    assert at(*words, "-b", "no-broker", "-y").exit_code == 3
    assert at.row(*words, "-b", "127.0.0.1:1", "-y", exit_code=4)["result"] == "unreachable"
