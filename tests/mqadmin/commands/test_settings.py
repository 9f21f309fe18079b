"""Settings of brokers and name servers, the key-value table, write permission, cleaning up."""

from collections.abc import Iterator

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, rows


def value_of(at: Run, key: str) -> object:
    return rows(at("broker", "config", "get", key, "-ojson"))[0]["value"]


def test_a_broker_setting_is_changed_read_back_and_undone(at: Run) -> None:
    before = value_of(at, "shortPollingTimeMills")
    words = ("broker", "config", "set", "shortPollingTimeMills", "1234")

    assert at(*words).exit_code == 2
    planned = rows(at(*words, "--dry-run", "-ojson"))[0]
    assert (planned["old_value"], planned["result"]) == (before, "would change")
    assert value_of(at, "shortPollingTimeMills") == before
    made = rows(at(*words, "-y", "-ojson"))[0]
    again = rows(at(*words, "-y", "-ojson"))[0]
    assert (made["old_value"], made["value"], made["result"]) == (before, "1234", "changed")
    assert again["result"] == "unchanged"
    assert rows(at("undo", "-y", "-ojson"))[0]["kind"] == "broker setting"
    assert value_of(at, "shortPollingTimeMills") == before


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (("shortPollingTimeMils", "1"), 3, "did you mean shortPollingTimeMills?"),
        (("shortPollingTimeMills", "soon"), 2, "expected a whole number"),
        (("slaveReadEnable", "yes"), 2, "expected true or false"),
        (("flushDiskType", "NEVER"), 2, "expected SYNC_FLUSH or ASYNC_FLUSH"),
        (("storePathRootDir", "/tmp"), 1, "cannot be changed while the broker runs"),
        (("slaveReadEnable", "true", "-b", "no-broker"), 3, "no broker 'no-broker'"),
        (("slaveReadEnable", "true", "--cluster", "None"), 3, "no cluster 'None'"),
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

    made = rows(at("updateBrokerConfig", *flags, "-v", "33", "-y", "--output", "json"))

    assert (made[0]["value"], made[0]["result"]) == ("33", "changed")
    at("undo", "-y")
    assert at("updateBrokerConfig", "-k", "a", "-v", "1").exit_code == 2


def test_a_name_server_setting_is_changed_and_undone(at: Run, servers: ServerAddresses) -> None:
    key = "orderMessageEnable"
    got = rows(at("namesrv", "config", "get", key, "-ojson"))
    java = rows(at("getNamesrvConfig", "--output", "json"))
    assert got[0] in java
    assert got[0]["address"] == servers.namesrv
    flipped = "false" if got[0]["value"] == "true" else "true"

    assert at("namesrv", "config", "set", key, flipped).exit_code == 2
    made = rows(at("updateNamesrvConfig", "-k", key, "-v", flipped, "-y", "--output=json"))
    assert (made[0]["old_value"], made[0]["value"]) == (got[0]["value"], flipped)
    at("undo", "-y")
    assert rows(at("namesrv", "config", "get", key, "-ojson")) == got
    assert at("namesrv", "config", "get", "nothingLikeIt").exit_code == 3
    missing = at("namesrv", "config", "set", "orderMessageEnabled", "true", "-y", "-ojson")
    assert rows(missing, exit_code=3)[0]["remark"] == "did you mean orderMessageEnable?"
    assert at("namesrv", "config", "set", key, "maybe", "-y").exit_code == 2


def test_a_key_is_set_read_deleted_and_comes_back(at: Run) -> None:
    made = rows(at("namesrv", "kv", "set", "app", "limit", "7", "-ojson"))[0]
    java = rows(at("updateKvConfig", "-s", "app", "-k", "limit", "-v", "8", "--output=json"))[0]

    assert (made["old_value"], made["value"], made["result"]) == (None, "7", "changed")
    assert (java["old_value"], java["value"]) == ("7", "8")
    assert rows(at("namesrv", "kv", "set", "app", "limit", "8", "-ojson"))[0]["result"] == (
        "unchanged"
    )
    assert [row["value"] for row in rows(at("namesrv", "kv", "get", "app", "-ojson"))] == ["8"]
    assert at("namesrv", "kv", "delete", "app", "limit").exit_code == 2
    gone = rows(at("deleteKvConfig", "-s", "app", "-k", "limit", "-y", "--output=json"))[0]
    assert (gone["old_value"], gone["value"], gone["result"]) == ("8", None, "changed")
    assert at("namesrv", "kv", "get", "app", "limit").exit_code == 3
    again = at("namesrv", "kv", "delete", "app", "limit", "-y", "-ojson")
    assert rows(again, exit_code=3)[0]["result"] == "not found"
    at("undo", "-y")
    assert rows(at("namesrv", "kv", "get", "app", "limit", "-ojson"))[0]["value"] == "8"
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

    assert at(*wipe).exit_code == 2
    made = rows(at(*wipe, "-y", "-ojson"))[0]
    assert (made["was_writable"], made["writable"], made["result"]) == (True, False, "changed")
    assert rows(at("topic", "route", "wiped", "-ojson"))[0]["perm"] == "R--"
    assert rows(at("wipeWritePerm", "-b", "broker-a", "-y", "--output", "json"))[0]["result"] == (
        "unchanged"
    )
    again = at("wipeWritePerm", "-b", "broker-a", "-y", "--compat").out
    assert again.endswith(f" OK, {made['topics']}\n")
    assert made["topics"] > 1
    assert rows(at("undo", "-y", "-ojson"))[0]["result"] == "changed"
    assert rows(at("topic", "route", "wiped", "-ojson"))[0]["perm"] == "RW-"
    nobody = at("broker", "write-perm", "add", "no-broker", "-ojson")
    assert rows(nobody, exit_code=3)[0]["result"] == "not found"


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
    assert rows(at(*words, "--dry-run", "-ojson"))[0]["result"] == "would change"
    assert rows(at(*words, "-y", "-ojson"))[0]["result"] == "done"
    by_address = rows(at(java, "-b", servers.broker, "-y", "--output=json"))
    assert [row["broker"] for row in by_address] == ["broker-a"]
    assert at(*words, "-b", "no-broker", "-y").exit_code == 3
    assert rows(at(*words, "-b", "127.0.0.1:1", "-y", "-ojson"), exit_code=4)[0]["result"] == (
        "unreachable"
    )
