"""``store report``: write a page about a store directory."""

from pathlib import Path

import click

from mqadmin.cli.declare import Call, Needs, Outcome, command, one
from mqadmin.cli.types import FILE_PATH
from mqadmin.errors import Damaged, Usage
from mqadmin.output.pages.html_page import PageRow, check_page_path, save_page
from mqadmin.output.pages.store_page import html_report
from mqadmin.output.terminal.progress import Progress
from storefmt.offline.views.storedir import StoreDir


@command(
    "store report",
    details="The page is one HTML file that needs nothing else. It has messages over time, topics "
    "by bytes, queues, lag, a map of the files with what is damaged, and every finding of "
    "`store verify`. The exit code is that of `store verify`: 6 where damage was found.",
    examples=(("mqadmin store report DIR --html store.html", "and open it in a browser"),),
    rows=PageRow,
    needs=Needs.STORE,
)
@click.option("--html", type=FILE_PATH, required=True, metavar="FILE", help="file to write")
@click.option("--deep", is_flag=True, help="verify bodies and every key of the index, too")
@click.option("--replace", is_flag=True, help="write over a file that is there")
def write_report(call: Call, *, html: Path, deep: bool, replace: bool) -> Outcome:
    """Write the page.

    Raises:
        Usage: the file is there already, or lies in the store.
        NotAStore: the directory is no store.
    """
    path = html
    with StoreDir.open(call.store_dir) as store:
        if path.resolve().is_relative_to(store.root.resolve()):
            raise Usage(f"{path} lies in the store", hint="the store is only read: write elsewhere")
        check_page_path(path, replace=replace)
        with Progress(call.console, "report") as progress:
            page, report = html_report(store, made_ms=call.now_ms(), deep=deep, progress=progress)
    row = save_page(path, page, ok=report.ok, findings=len(report.findings))
    return one(row, exit_code=0 if report.ok else Damaged.exit_code)
