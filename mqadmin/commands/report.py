"""``report``: write a page about a cluster.

Requests: see ``mqadmin.top.sample`` and ``mqadmin.health.checkup_facts``.
"""

import asyncio
from pathlib import Path
from typing import Final

from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import replace_option, to_page
from mqadmin.health.checkup import Check, CheckupLimits, CheckupSeverity, checkup_exit_code
from mqadmin.health.examination import examine
from mqadmin.output.files import check_is_new
from mqadmin.output.pages.html_page import PageRow, save_page
from mqadmin.top.page import cluster_page
from mqadmin.top.sample import look, rows_between

BETWEEN_S: Final = 2.0
"""Between the two looks of which the rates are made."""


@command(
    "report",
    details="The page is one self-contained HTML file. It shows every finding of `doctor`, the "
    "brokers, the lag of each group, and the write rate of each topic, measured over two "
    "seconds. The exit code is that of `doctor`: 1 if there is an error, otherwise 7 if a check "
    "could not be run.",
    examples=(("mqadmin report --to cluster.html", "then open it in a browser"),),
    rows=PageRow,
)
@to_page
@replace_option
async def write_report(call: Call, *, to: Path, replace: bool) -> Outcome:
    """Write the page.

    Raises:
        ItemNotFound: no broker is registered.
        Usage: the file already exists.
    """
    check_is_new(to, replace=replace)
    admin = await call.admin()
    before = await look(admin, call.now_ms)
    # The examination takes time as well, so the samples are at least this far apart.
    looked, _ = await asyncio.gather(
        examine(call, CheckupLimits(), tuple(Check)), asyncio.sleep(BETWEEN_S)
    )
    rows = rows_between(before, await look(admin, call.now_ms))
    name = ", ".join((await call.client()).namesrv_addresses)
    made = cluster_page(name, rows, looked.findings, made_ms=call.now_ms())
    exit_code = checkup_exit_code(looked.findings, CheckupSeverity.ERROR)
    return save_page(to, made, findings=len(looked.findings), exit_code=exit_code)
