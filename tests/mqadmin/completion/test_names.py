"""``completion names``: from a file, quick, and silent whatever happens."""

import json
from collections.abc import Callable
from pathlib import Path

from mqadmin.completion import cache
from mqadmin.shell.server import Addresses
from tests.mqadmin.conftest import Result

Run = Callable[..., Result]


def test_names_are_fetched_once_and_then_come_from_the_file(
    at: Run, run: Run, servers: Addresses, env: dict[str, str]
) -> None:
    at("topic", "create", "CACHED_NAME", "-q", "1")
    first = at("completion", "names", "topic", "-o", "name")
    path = cache.path_of(servers.namesrv, env)
    kept = json.loads(path.read_text())
    cache.save(path, {**kept, "topic": ["only-in-the-file"]})

    second = at("completion", "names", "topic", "-o", "name")

    assert "CACHED_NAME" in first.out.splitlines()
    assert second.out == "only-in-the-file\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert kept["broker"] == ["broker-a"]


def test_refresh_asks_whatever_the_file_says(
    at: Run, servers: Addresses, env: dict[str, str]
) -> None:
    cache.save(cache.path_of(servers.namesrv, env), {"topic": ["old"]})

    done = at("completion", "names", "topic", "--refresh", "-o", "name")

    assert "old" not in done.out.splitlines()
    assert "TBW102" in done.out.splitlines()


def test_no_server_no_address_and_a_broken_file_are_silent(run: Run, env: dict[str, str]) -> None:
    broken = cache.path_of("127.0.0.1:1", env)
    broken.parent.mkdir(parents=True)
    broken.write_text("{")

    for words in ([], ["-n", "127.0.0.1:1"], ["--context", "nope"]):
        done = run("completion", "names", "group", *words)
        assert (done.exit_code, done.err) == (0, "")


def test_contexts_need_no_server(run: Run) -> None:
    run("context", "add", "dev", "h:1")

    assert run("completion", "names", "context", "-o", "name").out == "dev\n"


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    cache.save(tmp_path / "file" / "below" / "names.json", {"topic": ["t"]})

    assert cache.load(tmp_path / "file" / "below" / "names.json") is None


def test_the_script_is_printed_whole(run: Run) -> None:
    for shell in ("bash", "zsh", "fish"):
        done = run("completion", shell)
        assert (done.exit_code, done.err) == (0, "")
        assert "topic list" in done.out
    assert run("completion", "tcsh").exit_code == 2
