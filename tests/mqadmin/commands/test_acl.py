"""Accounts of a broker with access control: listed, set, deleted, and never their secrets."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqadmin.shell.server import EmbeddedServer, ServerAddresses
from tests.mqadmin.conftest import Result, Run, cells
from tests.ports import free_ports
from tests.waiting import wait

ADMIN, SECRET = "testsAdmin", "adminSecret"
NEW = "brandNewSecret"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerAddresses]:
    """Return servers whose broker has accounts."""
    home = tmp_path_factory.mktemp("acl-home")
    (home / "conf").mkdir()
    accounts = {"accounts": [{"accessKey": ADMIN, "secretKey": SECRET, "admin": True}]}
    (home / "conf" / "plain_acl.yml").write_text(json.dumps(accounts))
    patch = pytest.MonkeyPatch()
    patch.setenv("ROCKETMQ_aclEnable", "true")
    patch.setenv("ROCKETMQ_rocketmqHome", str(home))
    with EmbeddedServer() as server:
        patch.undo()
        yield server.addresses


@pytest.fixture
def acl(run: Run, env: dict[str, str], guarded: ServerAddresses) -> Run:
    """Return a function that runs one line as the administrator of the broker."""
    env |= {"MQADMIN_ACCESS_KEY": ADMIN, "MQADMIN_SECRET_KEY": SECRET}

    def run_there(*words: str, **more: object) -> Result:
        done = run(*words, "--namesrv", guarded.namesrv, "-y", **more)
        # Whatever a command does, it prints no secret.
        assert SECRET not in done.out + done.err
        assert NEW not in done.out + done.err
        return done

    return Run(run_there)


def made(acl: Run, name: str) -> dict[str, object]:
    words = ("--secret", "-", "--topic-perm", "orders=PUB|SUB,bills=SUB", "--group-perm", "g=SUB")
    return acl.row("acl", "set", name, *words, stdin=f"{NEW}\n")


def test_an_account_is_made_shown_and_listed(acl: Run) -> None:
    first = made(acl, "madeAccount")

    assert (first["result"], first["topic_perms"]) == ("changed", ["orders=PUB|SUB", "bills=SUB"])
    shown = acl.row("acl", "show", "madeAccount")
    assert (shown["admin"], shown["group_perms"]) == (False, ["g=SUB"])
    assert not [name for name in shown if "secret" in name]
    listed = [row["access_key"] for row in acl.rows("acl", "list")]
    assert {ADMIN, "madeAccount"} <= set(listed)
    java = acl.rows("getAclConfig", "-c", "DefaultCluster")
    assert shown in java
    assert acl.row("acl", "version")["counter"]


def test_only_what_is_named_changes(acl: Run) -> None:
    made(acl, "changedAccount")
    words = ("acl", "set", "changedAccount", "--default-topic-perm", "PUB")

    blind = acl.row(*words, exit_code=1)
    told = acl.row(*words, "--secret", NEW)

    # The broker hides the secret, and takes nothing without it.
    assert blind["result"] == "refused"
    assert "its secret is unknown" in blind["remark"]
    assert (told["default_topic_perm"], told["group_perms"]) == ("PUB", ["g=SUB"])
    assert told["was"] == {"default_topic_perm": None}
    reset = acl.row("acl", "set", "changedAccount", "--secret", NEW, "--replace", "--admin", "true")
    assert (reset["admin"], reset["topic_perms"], reset["result"]) == (True, [], "changed")


def test_a_change_is_undone(acl: Run) -> None:
    made(acl, "undoneAccount")
    acl.rows("acl", "set", "undoneAccount", "--secret", NEW, "--admin", "true")

    put_back = acl.rows("undo")

    assert cells(put_back, "kind", "result") == [("account", "changed")]
    assert acl.row("acl", "show", "undoneAccount")["admin"] is False


def test_java_sets_and_deletes_an_account(acl: Run) -> None:
    flags = ("-c", "DefaultCluster", "-a", "javaAccount")

    set_ = acl.row("updateAclConfig", *flags, "-s", NEW, "-t", "a=PUB,b=SUB", "-m", "false")
    gone = acl.rows("deleteAclConfig", *flags)

    assert set_["topic_perms"] == ["a=PUB", "b=SUB"]
    assert [row["result"] for row in gone] == ["changed"]
    assert acl("acl", "show", "javaAccount").exit_code == 3
    assert acl.row("deleteAccessConfig", *flags, exit_code=3)["result"] == "not found"
    # Its secret was hidden, so nobody can make it again.
    assert acl("undo").exit_code == 1


def test_the_white_list_is_shown_replaced_and_undone(acl: Run) -> None:
    before = acl.row("acl", "white-addr")

    changed = acl.row("acl", "white-addr", "10.9.9.1", "10.9.9.2")
    java = acl.row("updateGlobalWhiteAddr", "-c", "DefaultCluster", "-g", "10.9.9.2,10.9.9.1")

    assert (before["result"], changed["result"]) == ("unchanged", "changed")
    assert changed["patterns"] == ["10.9.9.1", "10.9.9.2"]
    assert java["result"] == "unchanged"
    assert acl.row("undo")["result"] == "changed"
    assert acl.row("acl", "white-addr")["patterns"] == before["patterns"]


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        (("acl", "set", "short"), 2),
        (("acl", "set", "longEnough", "--secret", "short"), 2),
        (("acl", "set", "longEnough", "--topic-perm", "a"), 2),
        (("acl", "set", "longEnough", "--topic-perm", "a=ALL"), 2),
        (("acl", "set", "longEnough"), 1),
        (("acl", "show", "nobodyKnows"), 3),
        (("acl", "delete", "nobodyKnows"), 3),
        (("acl", "list", "-b", "no-broker"), 3),
        (("acl", "list", "-b", "127.0.0.1:1"), 4),
        (("acl", "white-addr", "300.1.1.1"), 1),
        (("updateAclConfig", "-a", "longEnough", "-s", "longEnough"), 2),
    ],
)
def test_what_cannot_be(acl: Run, words: tuple[str, ...], exit_code: int) -> None:
    assert acl(*words).exit_code == exit_code


@pytest.mark.parametrize("words", [("list",), ("version",), ("show", "x"), ("delete", "x", "-y")])
def test_a_broker_without_access_control_says_so_at_once(at: Run, words: tuple[str, ...]) -> None:
    done = at("acl", *words, "-ojson")

    assert done.exit_code == 1
    assert "aclEnable is false" in done.out + done.err


def test_a_wrong_key_is_said_to_be_one(
    acl: Run, env: dict[str, str], run: Run, guarded: ServerAddresses
) -> None:
    env["MQADMIN_SECRET_KEY"] = "notTheSecret"

    done = run("acl", "list", "--namesrv", guarded.namesrv)

    assert done.exit_code == 1
    assert "signature" in done.err.lower()


def test_the_journal_is_the_only_place_of_a_secret(acl: Run, env: dict[str, str]) -> None:
    made(acl, "keptAccount")
    acl("acl", "set", "keptAccount", "--secret", NEW, "--admin", "true")

    folder = Path(env["HOME"]) / ".local" / "state" / "mqadmin" / "journal"
    (file,) = folder.iterdir()
    assert NEW in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert NEW not in acl("undo", "--list", "-ojson").out


def test_accounts_go_round_as_a_document(acl: Run) -> None:
    made(acl, "declaredOne")

    document = acl.row("export")

    account = document["accounts"]["declaredOne"]["*"]
    assert account["topic_perms"] == ["bills=SUB", "orders=PUB|SUB"]
    assert "secret_key" not in account
    account |= {"topic_perms": ["orders=PUB", "bills=SUB"], "secret_key": NEW}
    document["accounts"]["declaredTwo"] = {"*": {"admin": False, "secret_key": NEW}}
    document["accounts"]["declaredThree"] = {"*": {"default_topic_perm": "SUB"}}
    told = {
        row["name"]: row for row in acl.rows("apply", "-", stdin=json.dumps(document), exit_code=5)
    }
    results = [told[f"declared{name}"]["result"] for name in ("One", "Two", "Three")]
    assert results == ["changed", "changed", "refused"], told
    assert "its secret is unknown" in told["declaredThree"]["remark"]

    del document["accounts"]["declaredThree"]
    assert acl.rows("diff", "-", stdin=json.dumps(document)) == []

    kept = {"accounts": {ADMIN: {"*": {}}}}
    gone = acl.rows("apply", "-", "--prune", stdin=json.dumps(kept))
    pruned = {row["name"]: row["result"] for row in gone}
    assert (pruned["declaredOne"], pruned["declaredTwo"]) == ("changed", "changed")


def test_a_refused_deletion_leaves_the_route_at_the_name_server(
    acl: Run, run: Run, env: dict[str, str], guarded: ServerAddresses
) -> None:
    acl("topic", "create", "KEPT", "-q", "1")
    env.pop("MQADMIN_ACCESS_KEY")
    env.pop("MQADMIN_SECRET_KEY")

    told = run.rows("topic", "delete", "KEPT", "-y", "-n", guarded.namesrv, exit_code=1)

    assert [row["result"] for row in told] == ["refused", "unchanged"]
    assert told[1]["remark"].startswith("not sent, because broker-a was")
    assert run("topic", "route", "KEPT", "-n", guarded.namesrv).exit_code == 0


def test_permissions_are_added_and_removed_one_by_one(acl: Run) -> None:
    made(acl, "mergedAccount")
    words = ("acl", "set", "mergedAccount", "--secret", NEW)

    added = acl.row(*words, "--add", "--topic-perm", "third=PUB,bills=PUB")
    removed = acl.row(*words, "--remove", "orders", "--remove", "g")

    assert added["topic_perms"] == ["orders=PUB|SUB", "bills=PUB", "third=PUB"]
    assert added["group_perms"] == ["g=SUB"]
    assert removed["topic_perms"] == ["bills=PUB", "third=PUB"]
    assert not removed["group_perms"]


@pytest.fixture
def open_broker(guarded: ServerAddresses, acl: Run, tmp_path: Path) -> Iterator[str]:
    """Run a broker without access control beside the other one, and return its name."""
    conf, port = tmp_path / "open.conf", free_ports(4)
    conf.write_text(
        f"brokerName=broker-open\nlistenPort={port}\nnamesrvAddr={guarded.namesrv}\n"
        f"storePathRootDir={tmp_path / 'store'}\nmappedFileSizeCommitLog=1048576\n"
        "brokerIP1=127.0.0.1\nbindAddress=127.0.0.1\n"
    )
    with (tmp_path / "log").open("wb") as log:
        broker = subprocess.Popen(
            [sys.executable, "-m", "mqserver.broker.app", "-c", str(conf)], stdout=log, stderr=log
        )
    try:
        wait(lambda: "broker-open" in acl("broker", "list").out)
        yield "broker-open"
    finally:
        broker.kill()
        broker.wait()


def test_brokers_without_access_control_are_named_beside_those_that_have_it(
    acl: Run, open_broker: str, tmp_path: Path
) -> None:
    secret = ("--secret", "-", "--broker", "broker-a")
    acl.row("acl", "set", "besideAccount", *secret, stdin=f"{NEW}\n")
    listed = acl("acl", "list", "-ojson")
    shown = acl("acl", "show", "besideAccount", "-ojson")
    version = acl("acl", "version", "-ojson")
    alone = acl("acl", "list", "--broker", open_broker)
    document = tmp_path / "cluster.yaml"
    document.write_text(
        "topics: {FROM_FILE: {'*': {read_queues: 1, write_queues: 1}}}\n"
        "accounts: {fromFile1: {'*': {admin: false}}}\n"
    )
    applied = acl("apply", str(document), "-ojson")

    for done in (listed, shown, version):
        assert done.exit_code == 0
        assert {row["broker"] for row in done.rows} == {"broker-a"}
        assert f"no access control (aclEnable is false): {open_broker} (127.0.0.1:" in done.err
    assert alone.exit_code == 1
    assert applied.exit_code == 5
    results = {(row["kind"], row["server"]): row["result"] for row in applied.rows}
    assert results["topic", open_broker] == results["topic", "broker-a"] == "changed"
    assert results["account", open_broker] == results["account", "broker-a"] == "refused"
