"""Text from strangers cannot steer the terminal, in whatever format it is printed."""

import io
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from mqadmin.cli.run import run_line
from mqadmin.output.rows import Row
from mqadmin.session.call import Workplace
from mqadmin.session.console import printable
from mqadmin.session.global_options import Format
from mqadmin.shell.engine import Shell
from tests.golden import Golden
from tests.mqadmin.conftest import console_of, console_on
from tests.mqadmin.output import printing

EVIL = "a\x1b[2Jb\x9b31mc\x07d\u202ee\x7ff\rg"
STEERING = set("\x1b\x9b\x07\u202e\x7f\r")


@dataclass(frozen=True, slots=True)
class Named(Row):
    name: str
    nested: dict[str, str]


def printed(kind: Format, **look: object) -> str:
    return printing.printed([Named(EVIL, {"key" + EVIL: EVIL})], kind=kind, **look)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in get_args(Format) if kind != "msgpack"])
def test_nothing_on_a_terminal_steers_it(kind: Format, single: bool) -> None:
    assert not STEERING & set(printed(kind, width=80, single=single))


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_json_says_the_same_as_before(kind: Format) -> None:
    found = json.loads(printed(kind, width=0))

    row = found[0] if isinstance(found, list) else found
    assert row == {"name": EVIL, "nested": {"key" + EVIL: EVIL}}


def test_csv_in_a_pipe_keeps_the_text_as_it_is() -> None:
    assert EVIL in printed("csv", width=0)


def test_warnings_show_control_characters() -> None:
    err = io.StringIO()

    console_on(err).warn(f"topic {EVIL}")

    assert not STEERING & set(err.getvalue())
    assert "\\x1b[2J" in err.getvalue()


@pytest.fixture
def store(tmp_path: Path, golden: Golden) -> Path:
    """Return a store in which a topic has a hostile name."""
    copy = tmp_path / "store"
    shutil.copytree(golden.store("basic"), copy)
    offsets = {"offsetTable": {f"{EVIL}@G": {"0": 7}}}
    (copy / "config" / "consumerOffset.json").write_text(json.dumps(offsets))
    return copy


@pytest.mark.parametrize("path", ["", " [0].topic", " topic"])
def test_what_json_finds_does_not_steer_the_terminal(
    path: str, store: Path, env: dict[str, str]
) -> None:
    console, out, err = console_of(env)
    shell = Shell(console._replace(out_is_tty=True), Workplace())
    file = store / "found"

    shell.run_text(f"store offsets {store} --group G | json{path}")
    shell.run_text(f"store offsets {store} --group G | json{path} > {file}")

    assert "a\\" in out.getvalue().decode(), err.getvalue()
    assert not STEERING & set(out.getvalue().decode())
    assert (EVIL in file.read_bytes().decode()) is bool(path)


@pytest.mark.parametrize("is_tty", [True, False])
@pytest.mark.parametrize("by_variable", [True, False])
def test_a_layout_of_java_is_printable_on_a_terminal_only(
    is_tty: bool, by_variable: bool, store: Path, env: dict[str, str]
) -> None:
    console, out, err = console_of({**env, **({"MQADMIN_COMPAT": "1"} if by_variable else {})})
    words = ("consumerProgress", "-g", "G", "--store", str(store))

    run_line(
        words if by_variable else (*words, "--compat"),
        console._replace(out_is_tty=is_tty),
        Workplace(),
    )

    shown = out.getvalue().decode()
    assert shown.startswith("#Topic"), err.getvalue()
    assert "\nConsume TPS: 0.00\n" in shown
    assert bool(STEERING & set(shown)) is not is_tty


def test_a_trace_does_not_steer_the_terminal(env: dict[str, str]) -> None:
    console, _, err = console_of(env)

    run_line(("store", "info", f"/nowhere/{EVIL}", "-v"), console, Workplace())

    assert "Traceback" in err.getvalue()
    assert "\\x1b[2J" in err.getvalue()
    assert not STEERING & set(err.getvalue())


def test_letters_of_any_script_stay() -> None:
    assert printable("日志 naïve 👨\u200d👩") == "日志 naïve 👨\u200d👩"
