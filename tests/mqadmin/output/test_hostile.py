"""Names and bodies from strangers on a terminal and in a pipe: shown, never obeyed."""

import io
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from mqadmin.cli.run import run_line
from mqadmin.output.delimited import CsvPrinter, harmless
from mqadmin.output.printer import Look
from mqadmin.output.rows import EpochMs, Row
from mqadmin.session.call import Workplace
from mqadmin.shell.server import ServerAddresses
from tests.golden import Golden
from tests.mqadmin.conftest import Run, console_of
from tests.mqadmin.output.printing import printed

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""What rich writes for a colour; everything else that begins with an escape is hostile."""
MOVES = re.compile(r"\x1b\[(?:H|K|J|2J|[0-9]*A|\?25[lh]|\?1049[lh]|2K|1A)|\r")
"""What draws one picture over another."""

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H",
    "[red]markup[/red]",
    "[/]",
    "[link=http://192.0.2.1]here[/link]",
    ":smile:",
    "one\ntwo\r\nthree",
    "\u202egnissim\u202c",
    "\u2066bidi\u2069",
    "tab\tand\x00nul\x7f",
    "\x9b31m",
    "\u200b\u2028",
)


@dataclass(frozen=True, slots=True)
class Inner(Row):
    name: str
    remark: str


@dataclass(frozen=True, slots=True)
class HostileRow(Row):
    """A row with a hostile text in every kind of column."""

    topic: str
    group: str
    result: str
    remark: str
    body: str
    at_ms: EpochMs
    count: int
    properties: dict[str, str]
    keys: tuple[str, ...]
    error: str
    parts: tuple[Inner, ...]


def told(text: str, other: str = "") -> HostileRow:
    return HostileRow(
        topic=text,
        group=other or text,
        result=text,
        remark=text * 3,
        body=text * 3,
        at_ms=1_700_000_000_000,
        count=7,
        properties={text: text},
        keys=(text, text),
        error=text,
        parts=(Inner(text, text), Inner(text + "2", text)),
    )


def drawn(rows: list[HostileRow], **look: object) -> str:
    return printed(rows, **{"now_ms": 1, **look})


def check_harmless(text: str) -> None:
    """Fail where a terminal would do anything but print, or change a colour of ours."""
    plain = COLOUR.sub("", text)
    bad = {char for char in plain if not char.isprintable() and char != "\n"}
    assert not bad, ascii(bad)


WAYS = {
    "pipe": {"width": 0},
    "wide": {"width": 400},
    "narrow": {"width": 80},
    "blocks": {"width": 24},
    "colour": {"width": 200, "color": True},
    "single": {"width": 80, "single": True},
    "single pipe": {"width": 0, "single": True},
    "sections": {"width": 80, "single": True, "sections": (("S", ("topic", "group")),)},
    "follow": {"width": 80, "follow": True},
    "follow pipe": {"width": 0, "follow": True},
    "tree": {"width": 120, "tree": ("topic", "group")},
    "named": {"width": 400, "named": True},
}


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_from_a_stranger_steers_the_terminal(way: str, text: str) -> None:
    rows = [told(text), told(text, "another")]

    shown = drawn(rows[:1] if "single" in way or way == "sections" else rows, **WAYS[way])

    check_harmless(shown)
    # A colour of ours is there only where colour is asked for.
    assert bool(COLOUR.search(shown)) <= bool(WAYS[way].get("color", False))


@pytest.mark.parametrize("text", ["[red]markup[/red]", "[/]", ":smile:"])
@pytest.mark.parametrize("way", ["wide", "colour", "single", "tree", "blocks"])
def test_markup_is_text(way: str, text: str) -> None:
    rows = [told(text), told("other")]

    shown = drawn(rows[:1] if way == "single" else rows, **WAYS[way])

    joined = "".join(COLOUR.sub("", shown).split())
    assert "".join(text.split()) in joined


def on_terminal(env: dict[str, str], *words: str) -> str:
    """Return everything that a line writes to a terminal, with Ctrl-C after one tick."""

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    console, out, err = console_of(env)
    workplace = Workplace(pause=stop)
    run_line(words, console._replace(out_is_tty=True), workplace)
    workplace.link.close()
    console.out.flush()
    return out.getvalue().decode() + err.getvalue()


ABOUT_MESSAGES = (
    (("message", "query", "key", "HOSTILE", "k1"), "[red]markup[/red]"),
    (
        ("message", "query", "time", "HOSTILE", "--from", "-1h", "--columns", "tags,properties"),
        "[red]markup[/red]",
    ),
    (("message", "print", "HOSTILE"), "[red]markup[/red]"),
    (("message", "query", "offset", "HOSTILE", "0", "0"), "\\x1b[31m"),
    (("message", "tail", "HOSTILE", "--from", "earliest", "--count", "9"), "[red]"),
    (("message", "trace", "k1", "--topic", "HOSTILE"), "HOSTILE"),
    (("message", "query", "key", "HOSTILE", "k1", "--watch"), "[red]markup[/red]"),
)


@pytest.mark.parametrize(("words", "mark"), ABOUT_MESSAGES)
def test_bodies_of_a_broker_do_not_steer_the_terminal(
    words: tuple[str, ...], mark: str, at: Run, env: dict[str, str], servers: ServerAddresses
) -> None:
    at("topic", "create", "HOSTILE", "-q", "1")
    for text in HOSTILE[:10]:
        sent = at("message", "send", "HOSTILE", text * 5, "--key", "k1", "--tag", text)
        assert sent.exit_code == 0, sent

    shown = on_terminal(env, *words, "--namesrv", servers.namesrv)

    check_harmless(MOVES.sub("", shown))
    assert mark in "".join(COLOUR.sub("", shown).split())


OF_A_STORE = (
    ("store", "info"),
    ("store", "info", "--whole"),
    ("store", "offsets"),
    ("store", "config"),
    ("group", "lag"),
    ("offset", "show", "[red]markup[/red]"),
    ("store", "offsets", "--watch"),
)


@pytest.mark.parametrize("words", OF_A_STORE, ids=lambda words: " ".join(words[:2]))
def test_names_of_a_store_do_not_steer_the_terminal(
    words: tuple[str, ...], golden: Golden, tmp_path: Path, env: dict[str, str]
) -> None:
    store = tmp_path / "store"
    shutil.copytree(golden.store("basic"), store)
    names = [f"{topic}@{topic}" for topic in HOSTILE]
    offsets = {"offsetTable": {name: {"0": 7, "1": 8} for name in names}}
    (store / "config" / "consumerOffset.json").write_text(json.dumps(offsets))

    shown = on_terminal(env, *words, "--store", str(store))

    check_harmless(MOVES.sub("", shown))
    assert "[red]" in COLOUR.sub("", shown)


FORMULAS = ("=1+1", "+A1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://192.0.2.1")')
NUMBERS = ("-5", "+5", "-1.5e3", "-", "12", "+3.5%", "plain", "")


def test_csv_cells_are_no_formulas_and_numbers_stay() -> None:
    assert [harmless(text) for text in FORMULAS] == ["'" + text for text in FORMULAS]
    assert [harmless(text) for text in NUMBERS] == list(NUMBERS)


@pytest.mark.parametrize("raw", [False, True])
def test_export_of_a_formula_is_harmless_unless_raw_is_asked_for(raw: bool) -> None:
    out = io.StringIO()
    printer = CsvPrinter(out, Look(names=("key", "offset"), csv_raw=raw))
    printer.row({"key": "=1+1", "offset": -7})

    assert out.getvalue() == ("key,offset\n=1+1,-7\n" if raw else "key,offset\n'=1+1,-7\n")
