"""Java's ``-b HOST:PORT`` needs no name server, and ours does not, either."""

from pathlib import Path

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, cells

NAMES = {
    "brokerConsumeStats": (),
    "brokerStatus": (),
    "cleanExpiredCQ": (),
    "cleanUnusedTopic": (),
    "consumerConnection": ("-g", "TOOLS_CONSUMER"),
    "deleteExpiredCommitLog": (),
    "exportMetadata": ("-f", "exported"),
    "getBrokerConfig": (),
    "producer": (),
    "updateBrokerConfig": ("-k", "fileReservedTime", "-v", "72"),
    "updateSubGroup": ("-g", "AddressGroup"),
    "deleteSubGroup": ("-g", "AddressGroup"),
    "updateTopic": ("-t", "AddressTopic"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_broker_is_asked_by_its_address_alone(
    run: Run, servers: ServerAddresses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)

    done = run(name, *NAMES[name], "-b", servers.broker, "-y", "--timeout", "60")

    assert (done.exit_code, done.err.splitlines()) == (0, done.err.splitlines()[:1]), done.err


def test_rows_name_a_broker_that_nobody_looked_up_by_its_address(
    run: Run, servers: ServerAddresses
) -> None:
    found = run.rows("broker", "config", "get", "brokerName", "-b", servers.broker)

    address = servers.broker
    assert cells(found, "broker", "address", "value") == [(address, address, "broker-a")]


def test_accounts_are_asked_for_at_the_address(run: Run, servers: ServerAddresses) -> None:
    for name in ("getAclConfig", "clusterAclConfigVersion"):
        done = run(name, "-b", servers.broker)

        assert (done.exit_code, "aclEnable is false" in done.err) == (1, True), done.err


def test_what_a_name_server_has_to_say_still_needs_one(run: Run, servers: ServerAddresses) -> None:
    for words in (("getBrokerConfig", "-c", "DefaultCluster"), ("topicList",), ("brokerStatus",)):
        assert run(*words).exit_code == 2
    ordered = run("updateTopic", "-t", "AddressOrder", "-b", servers.broker, "-o", "true")

    assert ordered.exit_code == 2
    assert "no name server is given" in ordered.err


def test_a_change_by_address_is_undone_there(run: Run, servers: ServerAddresses) -> None:
    there = ("-b", servers.broker, "-y")
    run("updateTopic", "-t", "AddressUndo", *there, "-r", "4")
    run("updateTopic", "-t", "AddressUndo", *there, "-r", "2")

    undone = run.rows("undo", "-y")

    assert cells(undone, "broker", "result") == [(servers.broker, "changed")]
