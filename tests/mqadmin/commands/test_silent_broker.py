"""Two brokers, one of them stopped by a signal: what the other says is shown, exit code 5."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mqadmin.session.call import Workplace
from mqadmin.shell.server import EmbeddedServer
from remoting.bodies import MessageQueue
from tests.mqadmin.commands.test_exporter import exporting, health
from tests.mqadmin.conftest import Result, Run, run_words
from tests.ports import free_ports
from tests.waiting import wait


@pytest.fixture(scope="module")
def namesrv() -> Iterator[str]:
    """Return the address of a name server that has broker-a."""
    with EmbeddedServer() as server:
        yield server.addresses.namesrv


@pytest.fixture(scope="module")
def ask(namesrv: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Return a function that runs one line at two brokers, of which broker-b hangs."""
    home = tmp_path_factory.mktemp("broker-b")
    port = free_ports(4)
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    workplace = Workplace()

    conf = home / "broker.conf"
    conf.write_text(
        f"brokerName=broker-b\nlistenPort={port}\nnamesrvAddr={namesrv}\n"
        f"storePathRootDir={home / 'store'}\nmappedFileSizeCommitLog=1048576\n"
        "brokerIP1=127.0.0.1\nbindAddress=127.0.0.1\n"
    )

    def run(*words: str) -> Result:
        return run_words([*words, "--namesrv", namesrv, "--timeout", "3"], env, workplace)

    with (home / "log").open("wb") as log:
        broker = subprocess.Popen(
            [sys.executable, "-m", "mqserver.broker.app", "-c", str(conf)], stdout=log, stderr=log
        )
    try:
        wait(lambda: "broker-b" in run("broker", "list").out)
        run("topic", "create", "HALF", "-q", "2")
        run("group", "create", "readers")
        for broker_name in ("broker-a", "broker-b"):
            words = ("HALF", "a body", "--key", "k1", "--broker", broker_name)
            assert run("message", "send", *words).exit_code == 0
        run("offset", "reset", "readers", "HALF", "--to", "earliest", "-y")
        broker.send_signal(signal.SIGSTOP)
        yield Run(run)
    finally:
        broker.send_signal(signal.SIGCONT)
        broker.kill()
        broker.wait()
        workplace.link.close()


@pytest.mark.parametrize(
    "words",
    [
        ("topic", "show", "HALF"),
        ("topic", "status", "HALF"),
        ("group", "lag", "readers"),
        ("group", "lag"),
        ("group", "list"),
        ("message", "query", "key", "HALF", "k1"),
        ("offset", "reset", "readers", "HALF", "--to", "latest", "--dry-run"),
        ("offset", "show", "readers"),
        ("delay", "list", "--all"),
        ("broker", "config", "get", "brokerName"),
        ("broker", "consume-stats"),
        ("broker", "stats"),
        ("broker", "status", "putTps"),
    ],
    ids=" ".join,
)
def test_the_others_are_shown_and_the_silent_one_is_named(ask: Run, words: tuple[str, ...]) -> None:
    done = ask(*words, "-ojson")

    assert done.exit_code == 5, done
    rows = done.rows
    assert rows
    assert "broker-b" not in {row.get("broker") for row in rows}
    assert done.err.count("is missing: ") == 1
    assert "127.0.0.1" in done.err
    assert "it may have been done" not in done.err


def test_transactions_of_the_others_are_listed(ask: Run) -> None:
    done = ask("transaction", "list", "-ojson")

    assert (done.exit_code, done.rows) == (5, [])
    assert done.err.count("is missing: ") == 1


def test_what_may_be_at_the_silent_one_is_not_called_missing(ask: Run) -> None:
    group = ask("group", "show", "readers", "-ojson")
    nobody = ask("offset", "show", "nobody")
    message = ask("message", "query", "unique-key", "HALF", "AC1100020B6B18B4AAC2064ED6A30000")

    assert group.rows[0]["brokers"] == ["broker-a"]
    assert (group.exit_code, nobody.exit_code, message.exit_code) == (5, 5, 5)


@pytest.mark.parametrize(
    "words",
    [
        ("group", "lag", "NO_GROUP"),
        ("group", "show", "NO_GROUP"),
        ("assert", "lag", "NO_GROUP"),
        ("assert", "group", "NO_GROUP"),
        ("wait", "lag", "NO_GROUP", "--within", "0"),
        ("assert", "lag", "readers", "--max", "100"),
    ],
    ids=" ".join,
)
def test_what_the_silent_one_may_know_is_exit_code_five_everywhere(
    ask: Run, words: tuple[str, ...]
) -> None:
    assert ask(*words).exit_code == 5


def test_the_silent_one_and_the_question_are_named(ask: Run) -> None:
    done = ask("group", "lag", "readers")

    assert "data of broker-b (127.0.0.1:" in done.err
    assert "did not answer GET_ALL_CONSUMER_OFFSET in 3 s" in done.err


def test_doctor_tells_everything_else(ask: Run) -> None:
    done = ask("doctor", "-ojson")

    assert done.exit_code == 1
    findings = done.rows
    assert [row["subject"] for row in findings if row["severity"] == "error"]
    assert "it may have been done" not in done.err + done.out


def test_health_names_it_and_is_503(ask: Run, namesrv: str) -> None:
    with exporting(namesrv, "--timeout", "3") as (_, address):
        status, told = health(address)

    assert status == 503
    errors = [found for found in told["findings"] if found["severity"] == "error"]
    assert [found["subject"].split()[0] for found in errors] == ["broker-b"]


def test_who_only_asked_the_silent_one_is_told_no_lie(ask: Run) -> None:
    done = ask("broker", "config", "get", "--broker", "broker-b")

    assert done.exit_code == 4
    assert "it may have been done" not in done.err
    assert "--timeout" in done.err


def test_a_message_goes_to_the_next_broker(ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent_first(queues: list[MessageQueue], count: int) -> list[MessageQueue]:
        return sorted(queues, key=lambda queue: queue.broker_name, reverse=True)

    monkeypatch.setattr("random.sample", silent_first)

    done = ask("message", "send", "HALF", "a body", "-ojson")

    assert [row["broker"] for row in done.rows] == ["broker-a"]
    assert done.err.startswith("broker-b: ")
    assert "it may be stored there as well; trying the next broker" in done.err


def test_a_topic_that_one_broker_lacks_has_the_words_that_finish_it(ask: Run) -> None:
    done = ask("topic", "create", "HALF_DONE", "-q", "1", "-ojson")

    assert done.exit_code == 5
    assert "run the command again with `--broker broker-b`" in done.err


def test_what_may_have_been_written_is_still_said(ask: Run) -> None:
    done = ask("message", "send", "HALF", "a body", "--broker", "broker-b")

    assert done.exit_code == 4
    assert "it may have been done" in done.err
