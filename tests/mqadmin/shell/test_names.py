"""Live names: fetched in the background, and never waited for."""

from collections.abc import Callable, Iterator

import pytest

from mqadmin.cli.types import ValueKind
from mqadmin.session.call import Call, Workplace
from mqadmin.session.global_options import GlobalOptions
from mqadmin.shell import names as shell_names
from mqadmin.shell.names import LiveNames
from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, console_of

SILENT = "192.0.2.1:9876"
"""An address of the documentation network: nobody ever answers."""


@pytest.fixture
def call_to(env: dict[str, str]) -> Iterator[Callable[[str], Call]]:
    """Return a function that makes a call to an address."""
    workplace = Workplace()

    def made(address: str) -> Call:
        return Call(GlobalOptions(namesrv=address), console_of(env)[0], workplace)

    yield made
    workplace.link.close()


def test_names_of_topics_groups_and_brokers_are_fetched(
    at: Run, servers: ServerAddresses, call_to: Callable[[str], Call]
) -> None:
    at("topic", "create", "AAA_NAMED", "-q", "1")
    at("offset", "reset", "NAMED_GROUP", "AAA_NAMED", "--to", "latest", "-y")
    names = LiveNames()

    task = names.refresh(call_to(servers.namesrv))

    task.result(60)
    assert names.known.connected
    assert names.known.cluster == "DefaultCluster"
    assert names.known.of(ValueKind.TOPIC)[0] == "AAA_NAMED"
    assert "TBW102" in names.known.of(ValueKind.TOPIC)
    assert names.known.of(ValueKind.BROKER) == ["broker-a"]


def test_a_server_that_does_not_answer_holds_up_nobody(call_to: Callable[[str], Call]) -> None:
    names = LiveNames()

    first = names.refresh(call_to(SILENT))

    # Whoever waited for the answer would not be here before the question is given up.
    assert not first.done()
    assert all(names.refresh(call_to(SILENT)) is first for _ in range(3))
    assert not names.known.connected
    assert names.known.of(ValueKind.TOPIC) == []


def test_fresh_names_are_not_asked_for_again(
    servers: ServerAddresses, call_to: Callable[[str], Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_names, "FRESH_S", 3_600)
    names = LiveNames()
    first = names.refresh(call_to(servers.namesrv))
    first.result(60)

    assert names.refresh(call_to(servers.namesrv)) is first
    assert names.refresh(call_to(servers.namesrv), at_once=True) is not first
