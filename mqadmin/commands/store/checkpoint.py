"""``store checkpoint``: show how far a store was flushed, and whether it was stopped cleanly."""

from dataclasses import dataclass

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command, one
from mqadmin.errors import ItemNotFound
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow(Row):
    """Store times up to which each part is on disk; 0 for never.

    ``recover_from_ms`` is where a broker that was killed begins to look for damage.
    """

    physic_ms: EpochMs
    logics_ms: EpochMs
    index_ms: EpochMs
    recover_from_ms: EpochMs
    aborted: bool


@command(
    "store checkpoint",
    examples=(("mqadmin store checkpoint DIR", "its times"),),
    rows=CheckpointRow,
    needs=Needs.STORE,
)
def show_checkpoint(call: Call) -> Outcome:
    """Return the checkpoint.

    Raises:
        ItemNotFound: the checkpoint file does not exist.
        RecordDamaged: it is too short.
    """
    with StoreDir.open(call.store_dir) as store:
        checkpoint = store.checkpoint()
        if checkpoint is None:
            raise ItemNotFound(
                f"no checkpoint in {store.root}", hint="a broker creates it when it starts"
            )
        return one(CheckpointRow.of(checkpoint, aborted=store.aborted))
