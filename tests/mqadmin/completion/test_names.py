"""``completion names``: from a file, quick, and silent whatever happens."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from mqadmin.completion import live
from mqadmin.session.contexts import ContextFile
from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run

NOBODY = "127.0.0.1:1"


def test_names_are_fetched_once_and_then_come_from_the_file(
    at: Run, run: Run, servers: ServerAddresses, env: dict[str, str]
) -> None:
    at("topic", "create", "CACHED_NAME", "-q", "1")
    first = at("completion", "names", "topic", "-o", "name")
    path = live.path_of(servers.namesrv, env)
    kept = json.loads(path.read_text())
    live.save(path, {**kept, "topic": ["only-in-the-file"]})

    second = at("completion", "names", "topic", "-o", "name")

    assert "CACHED_NAME" in first.out.splitlines()
    assert second.out == "only-in-the-file\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert kept["broker"] == ["broker-a"]


def test_refresh_asks_whatever_the_file_says(
    at: Run, servers: ServerAddresses, env: dict[str, str]
) -> None:
    live.save(live.path_of(servers.namesrv, env), {"topic": ["old"]})

    done = at("completion", "names", "topic", "--refresh", "-o", "name")

    assert "old" not in done.out.splitlines()
    assert "TBW102" in done.out.splitlines()


def test_no_server_no_address_and_a_broken_file_are_silent(run: Run, env: dict[str, str]) -> None:
    broken = live.path_of("127.0.0.1:1", env)
    broken.parent.mkdir(parents=True)
    broken.write_text("{")

    for words in ([], ["-n", "127.0.0.1:1"], ["--context", "nope"]):
        done = run("completion", "names", "group", *words)
        assert (done.exit_code, done.err) == (0, "")


def break_contexts(path: Path, how: str) -> None:
    """Make a file of contexts that cannot be read."""
    path.parent.mkdir(parents=True)
    match how:
        case "no utf-8":
            path.write_bytes(b'{"contexts": {"\xff": 1}}')
        case "a directory":
            path.mkdir()
        case "a loop":
            path.symlink_to(path)


@pytest.mark.parametrize("how", ["no utf-8", "a directory", "a loop"])
def test_contexts_that_cannot_be_read_are_silent(run: Run, env: dict[str, str], how: str) -> None:
    path = Path(ContextFile.of(env).path)
    break_contexts(path, how)

    names = [run("completion", "names", kind, "-o", "name") for kind in ("context", "topic")]
    told = run("context", "list")

    assert [(done.exit_code, done.out, done.err) for done in names] == [(0, "", "")] * 2
    assert (told.exit_code, told.out) == (1, "")
    assert told.err.startswith(f"error: {path}: ")


@pytest.mark.parametrize("where", ["tools.yml", "secret"])
def test_keys_that_are_no_utf_8_are_silent(
    run: Run, env: dict[str, str], tmp_path: Path, where: str
) -> None:
    keys = tmp_path / "conf" / "tools.yml"
    keys.parent.mkdir()
    keys.write_bytes(b"accessKey: \xff\n")
    if where == "tools.yml":
        env["ROCKETMQ_HOME"] = str(tmp_path)
    else:
        context = {"namesrv": NOBODY, "access_key": "ak", "secret_key": f"file:{keys}"}
        path = Path(ContextFile.of(env).path)
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"current": "dev", "contexts": {"dev": context}}))

    done = run("completion", "names", "topic", "-o", "name", "-n", NOBODY)
    told = run("topic", "list", "-n", NOBODY)

    assert (done.exit_code, done.out, done.err) == (0, "", "")
    assert told.exit_code == 3
    assert told.err.startswith("error: ")
    assert f"{keys}: byte 11 is not UTF-8" in told.err


def test_a_cache_that_is_old_and_cannot_be_written_still_has_names(
    run: Run, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = live.path_of(NOBODY, env)
    live.save(path, {"topic": ["kept"]})
    os.utime(path, (0, 0))

    def refuse(*args: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    monkeypatch.setattr(subprocess, "Popen", pytest.fail)

    done = run("completion", "names", "topic", "-o", "name", "-n", NOBODY)

    assert (done.exit_code, done.out, done.err) == (0, "kept\n", "")


def test_contexts_need_no_server(run: Run) -> None:
    run("context", "add", "dev", "h:1")

    assert run("completion", "names", "context", "-o", "name").out == "dev\n"


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    live.save(tmp_path / "file" / "below" / "names.json", {"topic": ["t"]})

    assert live.load(tmp_path / "file" / "below" / "names.json") is None


def test_the_script_is_printed_whole(run: Run) -> None:
    for shell in ("bash", "zsh", "fish"):
        done = run("completion", shell)
        assert (done.exit_code, done.err) == (0, "")
        assert "_MQADMIN_COMPLETE" in done.out
    assert run("completion", "tcsh").exit_code == 2
