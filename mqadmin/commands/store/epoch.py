"""``store epoch``: show or repair ``epoch.json`` of a store directory."""

from dataclasses import dataclass
from pathlib import Path

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command, one
from mqadmin.cli.types import Integer
from mqadmin.errors import Damaged
from storefmt.config.epochs import EPOCH_MAX
from storefmt.offline.repair.epoch_file import mend_file, read_epochs


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRow(Row):
    """The epochs of a store; ``problem`` is why a broker does not start with the file."""

    epoch_ms: EpochMs
    heard_ms: EpochMs
    master_role: str
    former_master: str
    problem: str


@command(
    "store epoch",
    details="An epoch is the time of a promotion. A broker does not start with an epoch.json "
    "that is unreadable or has epochs beyond the year 9999; then the exit code is 6. --mend "
    "keeps the readable values, sets the others to 0 (no promotion), and saves the old file as "
    "epoch.json.damaged. Stop the broker first. A replaced master learns of the promotion again "
    "from the brokers in its brokerAddresses.",
    examples=(
        ("mqadmin store epoch DIR", "the content of the file"),
        ("mqadmin store epoch DIR --mend", "repair it, so that a broker starts"),
        ("mqadmin store epoch DIR --mend --epoch 1795368000000", "with this epoch"),
    ),
    rows=EpochRow,
    needs=Needs.STORE,
    writes=True,
)
@click.option("--mend", is_flag=True, help="replace the file by one that a broker accepts")
@click.option("--epoch", type=Integer(min=0, max=EPOCH_MAX), help="with --mend: the epoch to set")
async def store_epoch(call: Call, *, mend: bool, epoch: int | None) -> Outcome:
    """Return one row.

    Raises:
        CommandError: it was not confirmed.
        OSError: the file cannot be read or written.
    """
    root = Path(call.store_dir)
    state = read_epochs(root)
    if mend and not call.dry_run:
        await call.confirm(f"replace epoch.json of {root}, whose broker is stopped?")
        state = mend_file(root, epoch=epoch)
    kept = state.epochs
    row = EpochRow(
        epoch_ms=kept.epoch,
        heard_ms=kept.heard,
        master_role=kept.master_role,
        former_master=kept.former_master,
        problem=state.problem,
    )
    return one(row, exit_code=Damaged.exit_code if state.problem else 0)
