"""Text from strangers cannot steer the terminal, in whatever format it is printed."""

import io
import json
from dataclasses import dataclass
from typing import get_args

import pytest

from mqadmin.console import Console, printable
from mqadmin.output.columns import columns_of, record_of
from mqadmin.output.formats import printer_for
from mqadmin.output.printer import Look
from mqadmin.rows import Row
from mqadmin.settings import Format

EVIL = "a\x1b[2Jb\x9b31mc\x07d\u202ee\x7ff\rg"
STEERING = set("\x1b\x9b\x07\u202e\x7f\r")


@dataclass(frozen=True, slots=True)
class Named(Row):
    name: str
    nested: dict[str, str]


def printed(kind: Format, *, width: int, single: bool = False) -> str:
    out = io.StringIO()
    columns = columns_of(Named)
    look = Look(names=("name", "nested"), width=width, single=single)
    printer = printer_for(kind, out, look)
    printer.row(record_of(Named(EVIL, {"key" + EVIL: EVIL}), columns))
    printer.end()
    return out.getvalue()


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
    console = Console(
        stdin=io.StringIO(), out=io.StringIO(), err=err, out_is_tty=True, can_ask=False, env={}
    )

    console.warn(f"topic {EVIL}")

    assert not STEERING & set(err.getvalue())
    assert "\\x1b[2J" in err.getvalue()


def test_letters_of_any_script_stay() -> None:
    assert printable("日志 naïve 👨\u200d👩") == "日志 naïve 👨\u200d👩"
