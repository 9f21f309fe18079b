"""``store report``: a store directory as one page to look at or to send on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Damaged, Usage
from mqadmin.output.progress import Progress
from mqadmin.output.report import html_report
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row, one
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Where to, and how closely to look."""

    html: Annotated[Path, option("file to write", metavar="FILE", kind=Kind.FILE)]
    deep: Annotated[bool, option("verify bodies and every key of the index, too")] = False
    replace: Annotated[bool, option("write over a file that is there")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow(Row):
    """The page that was written; ``ok`` is what ``store verify`` says."""

    file: str
    size: int
    ok: bool
    findings: int


@command(
    "store report",
    "write a page with pictures of a store directory",
    details="One HTML file that needs nothing else: messages over time, topics by bytes, queues, "
    "lag, a map of the files with what is damaged, and every finding of `store verify`. The "
    "exit code is that of `store verify`: 6 where damage was found.",
    examples=(("mqadmin store report DIR --html store.html", "and open it in a browser"),),
    rows=PageRow,
    needs=Needs.STORE,
)
def write_report(call: Call, args: Arguments) -> Outcome:
    """Write the page.

    Raises:
        Usage: the file is there already, or lies in the store.
        NotAStore: the directory is no store.
    """
    path = args.html
    with StoreDir.open(call.store_dir) as store:
        if path.resolve().is_relative_to(store.root.resolve()):
            raise Usage(f"{path} lies in the store", hint="the store is only read: write elsewhere")
        if path.exists() and not args.replace:
            raise Usage(f"{path} is there already", hint="add --replace, or name another file")
        with Progress(call.console, "report") as progress:
            page, report = html_report(
                store, made_ms=call.now_ms(), deep=args.deep, progress=progress
            )
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(page, "utf-8")
    temporary.replace(path)
    row = PageRow(
        file=str(path), size=path.stat().st_size, ok=report.ok, findings=len(report.findings)
    )
    return one(row, exit_code=0 if report.ok else Damaged.exit_code)
