"""Commands that need no loop run without one, and find the loop where there is one."""

import threading

from mqadmin.cli.parse import everything, load
from mqadmin.session.call import Workplace
from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, run_words

NAME = "mqadmin-loop"


def loop_threads() -> int:
    return sum(thread.name == NAME for thread in threading.enumerate())


def test_a_direct_command_starts_no_loop(env: dict[str, str], servers: ServerAddresses) -> None:
    workplace = Workplace()
    before = loop_threads()

    done = run_words(("topic", "list", "-n", servers.namesrv), env, workplace)

    assert done.exit_code == 0, done.err
    assert "SELF_TEST_TOPIC" in done.out
    assert loop_threads() == before
    workplace.link.close()


def test_a_direct_command_uses_the_loop_that_runs(
    env: dict[str, str], servers: ServerAddresses
) -> None:
    workplace = Workplace()
    before = loop_threads()
    try:
        for words in (("cluster", "list"), ("topic", "list")):
            done = run_words((*words, "-n", servers.namesrv), env, workplace)
            assert done.exit_code == 0, done.err
        assert loop_threads() == before + 1
    finally:
        workplace.link.close()

    assert "SELF_TEST_TOPIC" in done.out
    assert loop_threads() == before


def test_explain_sees_the_requests_of_a_direct_command(at: Run) -> None:
    done = at("topic", "list", "--explain")

    assert done.exit_code == 0
    assert "GET_ALL_TOPIC_LIST_FROM_NAMESERVER" in done.err


def test_only_commands_that_talk_to_servers_are_direct() -> None:
    direct = {made.name for made in everything() if made.direct}

    assert {"topic list", "message query id"} <= direct
    assert all(made.needs.name in {"NAMESRV", "EITHER"} for made in map(load, direct))
