"""Prints the documents that are made from the code: ``make docs``.

    docs/wire.md      every request code, which server answers it, or why none does
    docs/format.md    every layfrom a store directory
    docs/cli.md       every command of mqadmin
    docs/security.md  who may send which request
    docs/settings.md  every setting of the servers
    docs/client.md    every parameter of the client
    docs/api.md       every public class of the client
    docs/pipeline-tables.md  every table, column and option of the pipeline
    docs/dependencies.md  the licence of every locked dependency
    docs/screen-*.svg tables on terminals of 80 and of 120 columns
    completions/      the completion scripts
    man/              a page for every command

Rule: what is declared once in the code is not written a second time by hand. A test fails when
a file in the repository differs from what this module prints.
"""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path

import mqserver.broker.handlers
import mqserver.namesrv.handlers
from docs.access import security
from docs.apipage import api
from docs.clientpage import client
from docs.licences import dependencies
from docs.pipelinepage import pipeline
from docs.screens import screens
from docs.settingspage import settings
from mqadmin.cli import man_page
from mqadmin.cli.help import command_help, overview
from mqadmin.cli.parse import everything
from mqadmin.completion.tab import script
from mqserver.broker.handlers.unsupported import NOT_FOR_BROKERS
from mqserver.runtime.registry import Handlers, collect
from remoting.codes import ExtensionCode, RequestCode
from storefmt.formats.layout import HOST, I8, I16, I32, I64, LAYOUTS, Layout

DIRECTORY = Path(__file__).resolve().parent
PRINTED = "<!-- Printed by `make docs` from the code; edit the code, not this file. -->\n"
WIDTHS = {I8: "1", I16: "2", I32: "4", I64: "8", HOST: "8 or 20"}


def wire() -> str:
    """Return docs/wire.md."""
    broker = collect(mqserver.broker.handlers)
    namesrv = collect(mqserver.namesrv.handlers)
    lines = [
        "# Requests on the wire",
        "",
        PRINTED,
        "This page lists every request code of RocketMQ 4.9.7, and what our servers do with it.",
        "The broker answers a code that it does not handle with 3 (REQUEST_CODE_NOT_SUPPORTED),",
        "and the name server does not answer it at all; the Java servers do the same.",
        "",
        "| code | name | broker | name server |",
        "| --- | --- | --- | --- |",
    ]
    for code in sorted((*RequestCode, *ExtensionCode)):
        says = (_says(broker, int(code)), _says(namesrv, int(code)))
        if isinstance(code, RequestCode) and code in NOT_FOR_BROKERS and not any(says):
            says = (f"– ({NOT_FOR_BROKERS[code]})", "–")
        lines.append(f"| {code:d} | {code.name} | {says[0] or '–'} | {says[1] or '–'} |")
    return "\n".join(lines) + "\n"


def _says(handlers: Handlers, code: int) -> str:
    function = handlers.ordinary.get(code) or handlers.raw.get(code)
    if function is None:
        return ""
    first = (inspect.getdoc(function) or "").split("\n\n")[0]
    return " ".join(first.split())


def layouts() -> str:
    """Return docs/format.md."""
    lines = [
        "# The bytes of a store directory",
        "",
        PRINTED,
        "Integers are big endian and signed, and nothing is padded. A host is 4 or 16 bytes of an",
        "address and an int32 port. `tests/storefmt` compares every layout with files that the",
        "real RocketMQ 4.9.7 broker wrote.",
    ]
    for layout in LAYOUTS:
        lines += ["", f"## {layout.name}", "", layout.doc, ""]
        lines += ["| at | field | bytes | unit | meaning |", "| --- | --- | --- | --- | --- |"]
        lines += _fields(layout)
    return "\n".join(lines) + "\n"


def _fields(layout: Layout) -> list[str]:
    rows: list[str] = []
    at: int | None = 0
    for field in layout.fields:
        width = WIDTHS.get(field.kind, "as said before")
        rows.append(
            f"| {'–' if at is None else at} | `{field.name}` | {width} | {field.unit or '–'} "
            f"| {field.doc} |"
        )
        at = at + int(width) if at is not None and width.isdecimal() else None
    return rows


def commands() -> str:
    """Return docs/cli.md."""
    lines = ["# mqadmin", "", PRINTED, "```", overview().rstrip(), "```"]
    lines += ["", "## Exit codes", "", "| code | meaning |", "| --- | --- |"]
    lines += [f"| {code} | {meaning} |" for code, meaning in man_page.EXIT_MEANINGS.items()]
    for made in everything():
        lines += ["", f"## {made.name}", "", "```", command_help(made).rstrip(), "```"]
    return "\n".join(lines) + "\n"


def printed_files() -> dict[Path, str]:
    """Return the files outside of docs/ that are printed, by path."""
    root = DIRECTORY.parent
    made = {
        root / "completions" / "mqadmin.bash": script("bash"),
        root / "completions" / "_mqadmin": script("zsh"),
        root / "completions" / "mqadmin.fish": script("fish"),
    }
    return made | {root / "man" / name: page for name, page in man_page.pages().items()}


DOCUMENTS: dict[str, Callable[[], str]] = {
    "wire.md": wire,
    "format.md": layouts,
    "cli.md": commands,
    "security.md": lambda: security(PRINTED),
    "settings.md": lambda: settings(PRINTED),
    "client.md": client,
    "api.md": lambda: api(PRINTED),
    "pipeline-tables.md": lambda: pipeline(PRINTED),
    "dependencies.md": dependencies,
    **screens(),
}


def main() -> int:
    """Write every document."""
    for name, make in DOCUMENTS.items():
        (DIRECTORY / name).write_text(make())
    wanted = printed_files()
    for directory in {path.parent for path in wanted}:
        directory.mkdir(exist_ok=True)
        for gone in set(directory.iterdir()) - set(wanted):
            gone.unlink()
    for path, text in wanted.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
