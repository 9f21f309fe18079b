"""The parts of every HTML page: head, style, tiles and sections; and how a page is saved.

Rule: a page loads nothing from elsewhere, and its headers forbid the browser to. Every text from
a store or a cluster is escaped (``charts.safe``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from mqadmin.output.files import STDOUT, write_whole
from mqadmin.output.pages.charts import Bar, bars, safe
from mqadmin.output.rows import Outcome, Row, one
from mqadmin.output.times import MS_MAX

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow(Row):
    """A page that was written: its size, whether all is well, and how many findings it shows."""

    file: str
    size: int
    ok: bool
    findings: int


def page(title: str, parts: Sequence[str]) -> str:
    """Return a whole page; ``parts`` are HTML already."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{safe(title)}</title>"
        f"<style>{STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>\n"
    )


def header(title: str, lines: Sequence[str]) -> str:
    """Return the head of a page: its title, and lines below it."""
    paragraphs = "".join(f"<p>{safe(line)}</p>" for line in lines)
    return f"<header><h1>{safe(title)}</h1>{paragraphs}</header>"


def tiles(tiles: Sequence[tuple[str, str, str]]) -> str:
    """Return boxes of (name, value, class); the class is ``good``, ``bad`` or empty."""
    cards = "".join(
        f'<div class="tile {kind}"><span>{safe(name)}</span><b>{safe(value)}</b></div>'
        for name, value, kind in tiles
    )
    return f'<div class="tiles">{cards}</div>'


def section(title: str, content: str, hint: str = "") -> str:
    """Return a section; ``content`` is HTML already."""
    note = f" <small>{safe(hint)}</small>" if hint else ""
    return f"<section><h2>{safe(title)}{note}</h2>{content}</section>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the cells of ``rows`` are HTML already, each with its ``<td>``."""
    names = "".join(f"<th>{safe(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{names}</tr>{body}</table></div>'


def cell(text: object, kind: str = "") -> str:
    """Return a cell of a table; ``kind`` is its class."""
    return f'<td class="{kind}">{safe(text)}</td>' if kind else f"<td>{safe(text)}</td>"


def nothing(text: str) -> str:
    """Return the text for an empty section."""
    return f'<p class="nothing">{safe(text)}</p>'


def cut_note(count: int, shown: int, what: str) -> str:
    """Return a note on how many of ``count`` are not shown; "" if all are."""
    return nothing(f"and {count - shown:,} more {what}") if count > shown else ""


def ranking(
    title: str, entries: Sequence[tuple[str, float, str, str]], *, most: int, what: str
) -> str:
    """Return a bar for each (name, amount, amount as text, tooltip), the largest first.

    Args:
        title: of the picture.
        entries: at least one.
        most: how many are shown; a note counts the rest.
        what: the noun for them, in the plural.
    """
    order = sorted(entries, key=lambda entry: (-entry[1], entry[0]))
    largest = order[0][1] or 1
    shown = [Bar(name, amount / largest, text, hint) for name, amount, text, hint in order[:most]]
    return bars(title, shown) + cut_note(len(order), most, what)


def count_text(number: int, word: str) -> str:
    """Return ``1 error`` or ``2 errors``."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def time_text(epoch_ms: int) -> str:
    """Return a time in UTC; a dash for none, the number if it is out of range."""
    if epoch_ms <= 0:
        return "–"
    if epoch_ms > MS_MAX:
        return str(epoch_ms)
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def save_page(path: Path, text: str, *, findings: int, exit_code: int) -> Outcome:
    """Write a page so that the file is complete or does not exist.

    Returns:
        What was written; the page itself where ``path`` is standard output.
    """
    if path == STDOUT:
        return Outcome((), exit_code=exit_code, document=text)
    write_whole(path, text)
    size = path.stat().st_size
    row = PageRow(file=str(path), size=size, ok=exit_code == 0, findings=findings)
    return one(row, exit_code=exit_code)


STYLE: Final = """
:root{--page:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5d6b7c;--line:#e3e7ec;--bar:#2f6fd6;
--used:#9db8e2;--track:#edf0f4;--error:#d03b3b;--warning:#d98a00;--info:#7a8797;--good:#1c8a4b}
@media (prefers-color-scheme:dark){:root{--page:#12161c;--card:#1b212a;--ink:#e6ebf1;
--soft:#94a2b3;--line:#2b333e;--bar:#6aa1f4;--used:#3d5a86;--track:#252d37;--error:#f06a6a;
--warning:#f0b04a;--info:#8793a3;--good:#4cc582}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:26px;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:17px;margin:0 0 14px}
h2 small{font-weight:400;color:var(--soft);margin-left:8px}
header p{margin:2px 0;color:var(--soft);overflow-wrap:anywhere}
section,.tile{background:var(--card);border:1px solid var(--line);border-radius:10px}
section{padding:18px 22px;margin-top:18px}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(225px,1fr));gap:12px;
margin-top:20px}
.tile{padding:12px 16px}
.tile span{display:block;color:var(--soft);font-size:13px}
.tile b{font-size:18px;overflow-wrap:anywhere}
.tile.good b{color:var(--good)}
.tile.bad b{color:var(--error)}
ul{color:var(--soft);margin:16px 0 0;padding-left:20px}
svg{display:block;width:100%;height:auto}
svg text{font-size:12.5px;fill:var(--ink)}
svg .value{fill:var(--soft);font-variant-numeric:tabular-nums}
.bar{fill:var(--bar)}.track{fill:var(--track)}.used{fill:var(--used)}
.error{fill:var(--error)}.warning{fill:var(--warning)}.info{fill:var(--info)}
.axis{stroke:var(--soft)}.grid{stroke:var(--line)}
.nothing{color:var(--soft);margin:6px 0 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th{text-align:left;white-space:nowrap;color:var(--soft);font-weight:500}
th,td{padding:7px 10px 7px 0;border-bottom:1px solid var(--line);vertical-align:top;
overflow-wrap:anywhere;min-width:64px}
td:nth-child(2){white-space:nowrap}
.error-text{color:var(--error);font-weight:600}
.warning-text{color:var(--warning);font-weight:600}
.info-text{color:var(--info)}
@media print{body{background:#fff}section,.tile{break-inside:avoid}}
"""
