"""The scripts in the real shells: what Tab offers."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mqadmin.shell.server import ServerAddresses
from tests.mqadmin.conftest import Run
from tests.programs import ran

COMPLETIONS = Path(__file__).resolve().parents[3] / "completions"

BASH = """
source {script}
COMP_WORDS=(mqadmin "$@"); COMP_CWORD=$#
_mqadmin_completion mqadmin 2>/dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
compdef() {{ }}
compadd() {{ shift 4; print -rl -- "${{(@P)1}}" }}
_describe() {{ print -rl -- "${{(@)${{(@P)3}}%%:*}}" }}
_path_files() {{ }}
source {script}
words=(mqadmin "$@"); CURRENT=$#words
_mqadmin_completion
true
"""
FISH = """
source {script}
complete -C "mqadmin $argv"
"""

Offer = Callable[..., set[str]]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a PATH on which ``mqadmin`` is this checkout."""
    program = tmp_path / "bin" / "mqadmin"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m mqadmin "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.fixture(params=["bash", "zsh", "fish"])
def offer(
    request: pytest.FixtureRequest, path: str, servers: ServerAddresses, env: dict[str, str]
) -> Offer:
    """Return a function that completes words in a real shell; skip where it is not installed."""
    name = str(request.param)
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed (Debian: apt-get install {name})")
    file = {"bash": "mqadmin.bash", "zsh": "_mqadmin", "fish": "mqadmin.fish"}[name]
    text = {"bash": BASH, "zsh": ZSH, "fish": FISH}[name].format(script=COMPLETIONS / file)
    words_of = {
        "bash": lambda words: ["--norc", "-c", text, "bash", *words],
        "zsh": lambda words: ["-f", "-c", text, "zsh", *words],
        "fish": lambda words: ["--no-config", "-c", text, "--", " ".join(words)],
    }[name]
    addresses = {"PYTHONPATH": os.getcwd(), "NAMESRV_ADDR": servers.namesrv}
    variables = {**os.environ, **env, "PATH": path, **addresses}

    def offered(*words: str) -> set[str]:
        done = ran(program, *words_of(words), env=variables)
        assert done.stderr == ""
        return {line.split("\t")[0] for line in done.stdout.splitlines() if line}

    return offered


def test_words_of_commands_are_offered(offer: Offer) -> None:
    assert {"topic", "group", "message"} <= offer("")
    assert offer("topi") == {"topic"}
    assert {"list", "show", "create"} <= offer("topic", "")
    assert {"key", "id", "unique-key"} <= offer("message", "query", "")
    assert offer("-o", "json", "topic", "li") == {"list"}


def test_options_and_their_values_are_offered(offer: Offer) -> None:
    assert offer("topic", "list", "--ki") == {"--kind"}
    assert "--namesrv" in offer("topic", "list", "--")
    assert {"normal", "retry"} <= offer("topic", "list", "--kind", "")
    assert offer("topic", "list", "-o", "jsonl") == {"jsonl"}


def test_live_names_are_offered_where_one_is_due(offer: Offer, at: Run) -> None:
    at("topic", "create", "SHELL_ONE", "-q", "1")
    at("completion", "names", "topic", "--refresh")

    assert offer("topic", "show", "SHELL_") == {"SHELL_ONE"}
    assert offer("--timeout", "3", "topic", "show", "SHELL_") == {"SHELL_ONE"}
    assert "broker-a" in offer("broker", "config", "get", "-b", "bro")
    assert "SHELL_ONE" not in offer("topic", "show", "SHELL_ONE", "")


def test_nothing_is_offered_after_a_text_that_is_free(offer: Offer) -> None:
    assert offer("topic", "list", "--timeout", "") == set()
