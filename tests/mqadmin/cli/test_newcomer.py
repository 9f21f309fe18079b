"""The command line as a newcomer meets it: help, wrong words, ids, completion of every name."""

import re

import pytest

from mqadmin.cli import tree
from mqadmin.cli.java.table import native_of, spellings
from mqadmin.cli.mistakes import OTHER_WORDS, unknown_command
from mqadmin.cli.parse import complete
from mqadmin.cli.tree import COMMANDS, is_destructive
from mqadmin.cli.types import ParseContext, ValueKind
from mqadmin.shell.server import ServerAddresses
from tests.golden import REPOSITORY
from tests.mqadmin.conftest import Run


@pytest.mark.parametrize("words", [(), ("help",), ("-h",)], ids=" ".join)
def test_the_groups_fit_on_one_screen_of_80x24(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    lines = (done.out or done.err).splitlines()

    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert {name.split()[0] for name in COMMANDS} <= set(" ".join(lines).split())


def test_all_commands_are_listed_on_request(run: Run) -> None:
    done = run("help", "all")

    assert done.exit_code == 0
    assert [name for name in COMMANDS if f"  {name}" not in done.out] == []
    assert "Global options" in done.out


@pytest.mark.parametrize("words", ["topic help", "help topic", "topic -h", "TOPIC HELP"])
def test_help_behind_a_group_is_its_help(run: Run, words: str) -> None:
    done = run(*words.split())

    assert done.exit_code == 0
    assert "  topic create" in done.out


@pytest.mark.parametrize(
    ("words", "listed"),
    [("export help", "  export metadata"), ("pipeline archive help", "  pipeline archive clean")],
)
def test_help_behind_a_word_that_is_a_command_as_well_lists_what_is_below(
    run: Run, words: str, listed: str
) -> None:
    assert listed in run(*words.split()).out


@pytest.mark.parametrize("words", ["topic help list", "help topic list", "topic list -h"])
def test_help_before_a_command_is_its_help(run: Run, words: str) -> None:
    assert run(*words.split()).out.startswith("topic list: ")


def test_help_says_what_each_argument_is(run: Run) -> None:
    page = (REPOSITORY / "docs" / "cli.md").read_text()
    arguments = re.findall(r"^Arguments:\n((?:  .*\n)+)", page, re.MULTILINE)

    assert "the consumer group" in run("group", "lag", "-h").out
    assert len(arguments) > 50
    # Behind a long name the help is on a line of its own.
    assert [
        line for line in "".join(arguments).splitlines() if re.fullmatch(r"  \S{,24} *", line)
    ] == []


def test_the_version_is_a_word_as_well(run: Run) -> None:
    assert run("version").out == run("--version").out
    assert run("version").out.startswith("mqadmin ")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("status", "one of: topic status, cluster status, broker status, ha status"),
        ("send T x", "one of: message send"),
        ("lag", "one of: group lag, wait lag, assert lag, pipeline lag"),
        ("delete T", "`mqadmin help all` lists every command"),
        ("topic delet T", "one of: topic clusters, topic consumers, topic create"),
        ("deleteTopci -t T", "`mqadmin help all` lists every command"),
        ("topc help", "did you mean `topic`?"),
    ],
)
def test_a_word_that_is_no_command_leads_somewhere_safe(run: Run, words: str, hint: str) -> None:
    done = run(*words.split())

    assert done.exit_code == 2
    assert f"; {hint}" in done.err


def test_a_typo_never_leads_to_a_command_that_takes_something_away() -> None:
    names = [*COMMANDS, *spellings()]
    # One letter is missing in the middle, or at the end.
    typos = [name[: len(name) // 2] + name[len(name) // 2 + 1 :] for name in names]
    typos += [name[:-1] for name in names]

    hints = {typo: unknown_command(typo.split()).hint for typo in typos if typo.split()}

    proposed = {re.fullmatch(r"did you mean `(.*)`\?", hint) for hint in hints.values()}
    named = {match[1] for match in proposed if match}
    assert len(named) > 100
    assert [name for name in named if is_destructive(native_of(name) or name)] == []


def test_n_with_the_port_of_a_broker_says_so(run: Run, servers: ServerAddresses) -> None:
    for words in ("topic list", "topic show T", "message send T x", "group lag"):
        done = run("-n", servers.broker, *words.split())

        assert done.exit_code == 1
        assert f"{servers.broker} is not a name server but probably a broker" in done.err


def test_o_name_prints_the_ids_of_messages(run: Run, servers: ServerAddresses) -> None:
    here = ("-n", servers.namesrv)
    run(*here, "topic", "create", "NAMES", "-q", "1", "-y")

    sent = run(*here, "message", "send", "NAMES", "x", "--key", "k-1", "-o", "name").out
    found = run(*here, "message", "query", "key", "NAMES", "k-1", "-o", "name").out
    query = (*here, "message", "query", "key", "NAMES", "k-1")
    topics = run(*query, "-o", "name", "--columns", "topic").out

    assert re.fullmatch(r"[0-9A-F]{32}\n", sent)
    assert found == sent
    assert topics == "NAMES\n"


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("message send hi", "hi"),
        ("message send hi --tag paid", "hi"),
        ("message send DEFAULT2 there", "there"),
    ],
)
def test_the_default_topic_of_the_shell_leaves_the_body_to_the_line(
    run: Run, servers: ServerAddresses, line: str, printed: str
) -> None:
    topic = "DEFAULT2" if "DEFAULT2" in line else "DEFAULT1"
    lines = f"use topic DEFAULT1; {line}; message print {topic} -o json"
    for name in ("DEFAULT1", "DEFAULT2"):
        run("-n", servers.namesrv, "topic", "create", name, "-q", "1", "-y")

    done = run("-n", servers.namesrv, "shell", "-c", lines)

    assert done.exit_code == 0, done.err
    assert f'"body": "{printed}"' in done.out


def test_the_default_topic_stands_before_a_file(run: Run, servers: ServerAddresses) -> None:
    run("-n", servers.namesrv, "topic", "create", "DEFAULT3", "-q", "1", "-y")

    lines = "use topic DEFAULT3; message send --file /dev/null --dry-run -o json"
    done = run("-n", servers.namesrv, "shell", "-c", lines)

    assert '"topic": "DEFAULT3"' in done.out


def offered(*words: str) -> set[str]:
    *before, typed = words
    context = ParseContext(live=lambda ctx, kind: ["orders"] if kind is ValueKind.TOPIC else [])
    return {one.value for one in complete(before, typed, context)}


def test_tab_knows_the_names_of_javas_tool() -> None:
    assert {"updateTopic", "updateTopicPerm"} <= offered("updateT")
    assert offered("topicL") == {"topicList"}
    assert offered("CLUSTERl") == {"clusterList"}
    # Where names of ours begin like this, those are enough.
    assert offered("topi") == {"topic"}
    assert "--clusterName" in offered("updateTopic", "--c")
    assert offered("updateTopic", "-t", "") == {"orders"}


def test_tab_completes_what_help_explains() -> None:
    assert {"help", "version", "topic"} <= offered("")
    assert offered("hel") == {"help"}
    assert offered("help", "topi") == {"topic"}
    assert {"list", "create", "delete"} <= offered("help", "topic", "")
    assert offered("help", "topic", "list", "") == set()
    assert offered("help", "topicL") == {"topicList"}


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("health", "doctor"),
        ("stuck", "doctor"),
        ("consumers", "group list"),
        ("dlq", "dead-letter list"),
        ("group reset billing", "offset reset"),
        ("group describe billing", "group show"),
        ("group members billing", "group show"),
        ("message show k3", "message get"),
        ("message list orders", "message print"),
        ("topic lag orders", "topic consumers"),
    ],
)
def test_words_of_other_tools_lead_to_the_command(run: Run, words: str, meant: str) -> None:
    done = run(*words.split())

    assert done.exit_code == 2
    assert f"did you mean `{meant}`?" in done.err


def test_words_of_other_tools_lead_to_commands_that_there_are() -> None:
    for name in OTHER_WORDS.values():
        assert tree.command_named(name.split()) == name
        assert not tree.is_destructive(name) or name == "offset reset"
