"""Contexts: what is kept, how safely, and what of it a call uses."""

import json
from pathlib import Path

import pytest

from mqadmin.errors import CommandError, ItemNotFound
from mqadmin.session.call import Call, Workplace
from mqadmin.session.contexts import ContextFile, keys_of_java, secret_of
from mqadmin.session.global_options import GlobalOptions
from mqadmin.session.tls_files import TlsFiles
from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run, console_of


def test_everything_about_a_context_is_kept_for_its_user_alone(
    run: Run, env: dict[str, str]
) -> None:
    words = "context add box h:1 --map 172.17.0.2:10911=127.0.0.1:1 --map b:2=c:3 --tls-ca system"
    keys = "--access-key me --secret-key env:KEY --default-output json --default-timeout 2.5"

    run(*words.split(), *keys.split(), "--protected", "-o", "table")

    file = ContextFile.of(env)
    kept = file.load().contexts["box"]
    path = Path(file.path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert kept.address_map == (("172.17.0.2:10911", "127.0.0.1:1"), ("b:2", "c:3"))
    assert kept.tls == TlsFiles(ca="system")
    assert (kept.output, kept.timeout_s, kept.protected) == ("json", 2.5, True)
    assert json.loads(path.read_text())["contexts"]["box"]["map"]["b:2"] == "c:3"


def test_a_second_add_changes_only_what_it_names(run: Run, env: dict[str, str]) -> None:
    run("context", "add", "a", "h:1", "--tls", "--protected", "--map", "x:1=y:1")

    run("context", "add", "a", "h:2", "--no-tls", "--unprotected")

    kept = ContextFile.of(env).load().contexts["a"]
    assert (kept.namesrv, kept.tls, kept.protected) == ("h:2", None, False)
    assert kept.address_map == (("x:1", "y:1"),)
    assert run("context", "add", "a", "h:2").out.split()[-1] == "unchanged"


@pytest.mark.parametrize(
    "words", ["--tls --no-tls", "--tls-key k.pem", "--map nonsense", "--default-output pdf"]
)
def test_options_that_contradict_or_mean_nothing_are_refused(run: Run, words: str) -> None:
    assert run("context", "add", "a", "h:1", *words.split()).exit_code == 2


def test_a_call_takes_all_of_its_context(run: Run, env: dict[str, str]) -> None:
    run("context", "add", "a", "h:1", "--tls", "--map", "x:1=y:1", "--default-timeout", "2")
    call = Call(GlobalOptions(), console_of(env)[0], Workplace())
    elsewhere = Call(GlobalOptions(namesrv="other:1"), console_of(env)[0], Workplace())

    target = call.target()

    assert (target.timeout_s, target.address_map) == (2.0, (("x:1", "y:1"),))
    assert target.tls == TlsFiles()
    assert elsewhere.target().tls is None
    assert elsewhere.target().timeout_s == 5.0


def test_the_format_of_a_context_holds_unless_the_line_says_another(run: Run) -> None:
    run("context", "add", "a", "h:1", "--default-output", "json")

    assert json.loads(run("context", "list").out)[0]["context"] == "a"
    assert run("context", "list", "-o", "name").out == "a\n"


def test_a_secret_is_read_from_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "key").touch(0o600)
    (tmp_path / "key").write_text("from file\n")

    assert secret_of("plain:text", {}) == "plain:text"
    assert secret_of("env:K", {"K": "from env"}) == "from env"
    assert secret_of(f"file:{tmp_path}/key", {}) == "from file"
    for missing in ("env:K", f"file:{tmp_path}/none"):
        with pytest.raises(ItemNotFound, match="secret key is in"):
            secret_of(missing, {})


def test_a_secret_is_what_a_command_prints_and_is_asked_for_once(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    ring = tmp_path / "ring"
    ring.write_text(f"#!/bin/sh\necho $1 >> {asked}\necho 'from the ring'\n")
    ring.chmod(0o700)

    for _ in range(2):
        assert secret_of(f"command:{ring} 'mq ops'", {}) == "from the ring"

    assert asked.read_text() == "mq ops\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/nonexistent/ring", "No such file"),
        ("false", "ended with 1 and no line"),
        ("true", "ended with 0 and no line"),
        ("sh -c 'echo key; exit 3'", "ended with 3 and a line"),
        ("sh 'half", "No closing quotation"),
    ],
)
def test_a_command_without_a_secret_is_named(line: str, why: str) -> None:
    with pytest.raises(ItemNotFound, match=why) as told:
        secret_of(f"command:{line}", {})
    assert "run it by hand" in told.value.hint


def test_a_secret_is_shown_only_on_demand(run: Run) -> None:
    run("context", "add", "a", "h:1", "--access-key", "me", "--secret-key", "hidden")

    assert run.row("context", "show")["secret_key"] == "********"
    assert "hidden" in run("context", "show", "--show-secrets", "-o", "json").out


def test_a_mapped_address_is_connected_to_instead(run: Run, servers: ServerAddresses) -> None:
    run("context", "add", "wrong", servers.namesrv, "--map", f"{servers.broker}=127.0.0.1:1")

    done = run("broker", "config", "get", "--context", "wrong", "-b", "broker-a")

    assert done.exit_code == 4


def test_commands_go_over_tls_where_the_context_says_so(run: Run, servers: ServerAddresses) -> None:
    run("context", "add", "any", servers.namesrv, "--tls")
    run("context", "add", "known", servers.namesrv, "--tls-ca", "system")

    taken = run("broker", "list", "--context", "any", "-o", "name")
    checked = run("broker", "list", "--context", "known")

    # The embedded servers sign their certificate themselves; nobody who checks it believes it.
    assert (taken.exit_code, taken.out) == (0, "broker-a\n")
    assert checked.exit_code == 4
    assert "tls: self-signed certificate" in checked.err


def test_keys_of_the_java_tool_are_those_of_its_file(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "tools.yml").touch(0o600)
    (conf / "tools.yml").write_text('# keys\naccessKey: RocketMQ\nsecretKey: "12345678"\n')

    assert keys_of_java({"ROCKETMQ_HOME": str(tmp_path)}) == ("RocketMQ", "12345678")
    assert keys_of_java({"ROCKETMQ_HOME": str(conf)}) == (None, None)
    assert keys_of_java({}) == (None, None)


CONTEXTS = '{"contexts": {"a": {"namesrv": "h:1", "access_key": "me", "secret_key": "%s"}}}'


@pytest.mark.parametrize(
    ("key", "mode", "problem"),
    [
        ("hidden", 0o600, ""),
        ("hidden", 0o640, "can read the secret key in it (mode 640)"),
        ("hidden", 0o604, "can read the secret key in it (mode 604)"),
        ("env:KEY", 0o644, ""),
        ("env:KEY", 0o664, "can change it (mode 664)"),
        ("command:pass mq", 0o602, "can change it (mode 602)"),
    ],
)
def test_file_that_others_can_read_or_change_is_refused_with_the_command_that_mends_it(
    tmp_path: Path, key: str, mode: int, problem: str
) -> None:
    path = tmp_path / "contexts.json"
    path.write_text(CONTEXTS % key)
    path.chmod(mode)

    if not problem:
        assert ContextFile(str(path)).load().contexts["a"].secret_key == key
        return
    with pytest.raises(CommandError) as refused:
        ContextFile(str(path)).load()
    assert problem in refused.value.message
    assert "hidden" not in refused.value.message
    assert (refused.value.exit_code, refused.value.hint) == (1, f"chmod 600 {path}")


def test_account_files_that_others_can_read_are_refused(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    for path in (conf / "tools.yml", conf / "key"):
        path.write_text("accessKey: RocketMQ\nsecretKey: 12345678\n")
        path.chmod(0o644)

    with pytest.raises(CommandError, match=r"tools\.yml is refused: other users can read"):
        keys_of_java({"ROCKETMQ_HOME": str(tmp_path)})
    with pytest.raises(CommandError, match="key is refused: other users can read"):
        secret_of(f"file:{conf}/key", {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a contexts file"),
        ("[" * 100_000, "not a contexts file"),
        ("[]", "not an object"),
        ('{"contexts": []}', "`contexts` is not an object"),
        ('{"contexts": {"a": 5}}', "a is not an object"),
        ('{"contexts": {"a": {}}}', "a has no `namesrv`"),
        ('{"contexts": {"a": {"namesrv": 5}}}', "a: `namesrv` is 5"),
        ('{"contexts": {"a": {"namesrv": "h:1", "timeout_s": "x"}}}', "a: `timeout_s` is 'x'"),
        ('{"contexts": {"a": {"namesrv": "h:1", "map": []}}}', "`map` or `tls` of a"),
    ],
)
def test_a_file_that_somebody_broke_is_told_in_one_line(
    run: Run, env: dict[str, str], text: str, said: str
) -> None:
    path = Path(ContextFile.of(env).path)
    path.parent.mkdir(parents=True)
    path.write_text(text)

    for words in (("topic", "list"), ("context", "list")):
        done = run(*words)
        assert done.exit_code == 1
        assert done.err.startswith(f"error: {path}: not a contexts file")
        assert said in done.err
        assert done.err.count("\n") == 1


def test_a_context_has_a_name(run: Run) -> None:
    assert run("context", "add", "", "h:1").err == "error: NAME is empty; -h shows the usage\n"
