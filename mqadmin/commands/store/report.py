"""``store report``: write an HTML page about a store directory."""

from pathlib import Path

import click

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import replace_option, to_page
from mqadmin.errors import Damaged, Usage
from mqadmin.output.files import STDOUT, check_is_new
from mqadmin.output.pages.html_page import PageRow, save_page
from mqadmin.output.pages.store_page import html_report
from mqadmin.output.terminal.progress import Progress
from storefmt.offline.views.storedir import StoreDir


@command(
    "store report",
    details="The page is one self-contained HTML file. It shows messages over time, topics by "
    "bytes, queues, lag, a map of the files with their damage, and every finding of `store "
    "verify`. The exit code is that of `store verify`: 6 if damage was found.",
    examples=(("mqadmin store report DIR --to store.html", "then open it in a browser"),),
    rows=PageRow,
    needs=Needs.STORE,
)
@to_page
@click.option("--deep", is_flag=True, help="also verify bodies and every key of the index")
@replace_option
def write_report(call: Call, *, to: Path, deep: bool, replace: bool) -> Outcome:
    """Write the page.

    Raises:
        Usage: the file already exists, or is inside the store.
        NotAStore: the directory is not a store.
    """
    with StoreDir.open(call.store_dir) as store:
        if to != STDOUT and to.resolve().is_relative_to(store.root.resolve()):
            raise Usage(
                f"{to} lies in the store", hint="a store is never written to; choose another path"
            )
        check_is_new(to, replace=replace)
        with Progress(call.console, "report") as progress:
            page, report = html_report(store, made_ms=call.now_ms(), deep=deep, progress=progress)
    exit_code = 0 if report.ok else Damaged.exit_code
    return save_page(to, page, findings=len(report.findings), exit_code=exit_code)
