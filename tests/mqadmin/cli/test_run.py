"""Exit codes, errors and streams of a run, without any server."""

import json
from pathlib import Path

import pytest

from mqadmin.errors import Damaged, ItemNotFound, describe
from mqclient.errors import BadRequest, TimedOut
from storefmt.errors import BadCall, NotAStore
from tests.mqadmin.conftest import Run

NOBODY = "127.0.0.1:1"


def test_help_and_version_are_no_errors(run: Run) -> None:
    assert run("--version").out.startswith("mqadmin ")
    assert "topic list" in run("-h").out
    assert run("help").out == run("-h").out
    assert run("help", "topicStatus").out.startswith("usage: mqadmin topicStatus [-h]")
    assert run("help", "topicStatus").out == run("topicStatus", "-h").out
    assert run("help", "topc").exit_code == 2


def test_help_of_a_first_word_lists_its_commands(run: Run) -> None:
    told = run("help", "topic")

    assert told.exit_code == 0
    lines = told.out.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("  topic list")] != []
    assert not any(line.startswith("  group") for line in lines)
    assert "message query key" in run("message", "query", "-h").out
    assert run("topic", "-h").out == run("--help", "topic").out == told.out
    assert run("shell", "-c", "help topic").out == told.out


def test_a_word_alone_lists_its_commands_as_wrong_usage(run: Run) -> None:
    done = run("topic")

    assert done.exit_code == 2
    assert done.out == ""
    assert "topic create        create a topic" in done.err


def test_help_of_a_word_that_is_a_command_is_the_commands(run: Run) -> None:
    assert run("help", "doctor").out.startswith("doctor: ")
    assert "Usage: mqadmin topic list" in run("topic", "list", "-h").out


def test_no_command_prints_the_groups_on_the_error_stream(run: Run) -> None:
    done = run()

    assert (done.exit_code, done.out) == (2, "")
    assert "  topic  group  offset" in done.err


def test_a_wrong_line_exits_2_with_one_line(run: Run) -> None:
    done = run("topc", "list")

    assert done.exit_code == 2
    assert done.err == "error: unknown command `topc`; did you mean `topic list`?\n"


def test_no_name_server_exits_2_and_says_how_to_give_one(run: Run) -> None:
    done = run("topic", "list")

    assert done.exit_code == 2
    assert "NAMESRV_ADDR" in done.err


@pytest.mark.parametrize("words", [("topic", "list"), ("TOPICLIST",), ("cluster", "list")])
def test_a_server_that_is_away_exits_4(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words, "-n", NOBODY)

    assert (done.exit_code, done.out) == (4, "")
    assert done.err.count("\n") == 1
    assert NOBODY in done.err


@pytest.mark.parametrize("output", ["json", "jsonl"])
def test_an_error_in_json_is_an_object_on_the_error_stream(run: Run, output: str) -> None:
    done = run("topic", "list", "-n", NOBODY, "-o", output)

    error = json.loads(done.err)["error"]
    assert (done.exit_code, done.out) == (4, "")
    assert error["code"] == "unreachable"
    assert set(error) == {"code", "message", "hint"}


def test_a_parse_error_is_json_too(run: Run) -> None:
    assert json.loads(run("topic", "lst", "-ojson").err)["error"]["code"] == "usage"


@pytest.mark.parametrize("said", ["-o json", "-oJSON", "-output json", "--OUTPUT=json"])
@pytest.mark.parametrize("line", ["topic list -n 127.0.0.1:1", "topic lst", "topic list --nope"])
def test_every_spelling_of_json_makes_an_error_json(run: Run, line: str, said: str) -> None:
    for words in ((*said.split(), *line.split()), (*line.split(), *said.split())):
        assert set(json.loads(run(*words).err)) == {"error"}


@pytest.mark.parametrize("said", ["--compat strict", "-compat strict", "--Compat=strict"])
@pytest.mark.parametrize(
    ("line", "exit_code"),
    [("topic list -n 127.0.0.1:1", 0), ("topic lst", 1), ("topic list --nope", 1), ("topic", 1)],
)
def test_every_spelling_of_strict_gives_exit_codes_of_java(
    run: Run, line: str, said: str, exit_code: int
) -> None:
    assert run(*said.split(), *line.split()).exit_code == exit_code
    assert run(*line.split(), *said.split()).exit_code == exit_code


@pytest.mark.parametrize(
    "line", ["message send T --tag=-ojson -- -ojson", "topic list --sort -output --columns topic"]
)
def test_a_value_that_looks_like_an_option_says_nothing_of_errors(run: Run, line: str) -> None:
    done = run(*line.split(), "-n", NOBODY) if "--" not in line.split() else run(*line.split())

    assert done.err.startswith("error: ")


def test_a_trace_comes_only_with_verbose(run: Run) -> None:
    assert "Traceback" not in run("topic", "list", "-n", NOBODY).err
    assert "Traceback" in run("topic", "list", "-n", NOBODY, "-v").err


@pytest.mark.parametrize("name", ["a/b", "..", "a b", "x" * 128])
def test_a_bad_topic_name_exits_2_before_anything_is_sent(run: Run, name: str) -> None:
    done = run("topic", "create", name, "-n", NOBODY)

    assert done.exit_code == 2
    assert "topic name" in done.err


def test_an_unknown_column_is_told_before_the_command_runs(run: Run) -> None:
    done = run("topic", "list", "-n", NOBODY, "--columns", "topik")

    assert done.exit_code == 2
    assert "did you mean topic?" in done.err


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (ItemNotFound("x"), "not_found", 3),
        (Damaged("x"), "damaged", 6),
        (TimedOut("x"), "unreachable", 4),
        (BadRequest("x"), "usage", 2),
        (BadCall("x"), "usage", 2),
        (NotAStore("x"), "not_found", 3),
        (FileNotFoundError(2, "No such file", "f"), "not_found", 3),
        (PermissionError(13, "Permission denied", "f"), "failed", 1),
        (ConnectionRefusedError(111, "refused"), "unreachable", 4),
        (KeyboardInterrupt(), "interrupted", 130),
        (ZeroDivisionError("x"), "internal", 1),
    ],
)
def test_each_error_has_a_code_and_an_exit_code(
    error: BaseException, code: str, exit_code: int
) -> None:
    told = describe(error)

    assert (told.code, told.exit_code) == (code, exit_code)


def test_a_context_is_used_where_no_address_is_given(run: Run, env: dict[str, str]) -> None:
    run("context", "add", "one", "127.0.0.1:1")
    run("context", "add", "two", "127.0.0.1:2")

    assert "127.0.0.1:1" in run("topic", "list").err
    assert "127.0.0.1:2" in run("topic", "list", "--context", "two").err
    assert run("context", "use", "two").exit_code == 0
    assert "127.0.0.1:2" in run("topic", "list").err
    env["NAMESRV_ADDR"] = "127.0.0.1:3"
    assert "127.0.0.1:3" in run("topic", "list").err
    assert "127.0.0.1:1" in run("topic", "list", "--context", "one").err
    assert "127.0.0.1:4" in run("topic", "list", "-n", "127.0.0.1:4").err


def test_a_missing_context_exits_3(run: Run) -> None:
    assert run("context", "use", "nope").exit_code == 3
    assert run("topic", "list", "--context", "nope").exit_code == 3
    assert run("context", "remove", "nope").exit_code == 3


def test_a_protected_context_refuses_writes_unless_named(run: Run) -> None:
    run("context", "add", "prod", NOBODY, "--protected")

    assert run("topic", "create", "T").exit_code == 2
    assert "is protected; name it: --context prod" in run("topic", "create", "T").err
    assert run("topic", "create", "T", "--context", "prod").exit_code == 4
    assert run("topic", "list").exit_code == 4


def test_a_dry_run_leaves_the_contexts_alone(run: Run, env: dict[str, str]) -> None:
    done = run("context", "add", "dev", "h:1", "--dry-run")

    assert "would change" in done.out
    assert not (Path(env["XDG_CONFIG_HOME"]) / "mqadmin").exists()


def test_ctrl_c_while_a_class_is_made_is_ctrl_c() -> None:
    class Described:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def make() -> type:
        return type("Made", (), {"field": Described()})

    # Python 3.11 wraps what is raised there; later ones do not.
    with pytest.raises((RuntimeError, KeyboardInterrupt)) as caught:
        make()

    assert describe(caught.value).exit_code == 130
