"""``store masters``: show under which masters the log of a store directory was written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.errors import Damaged, ItemNotFound
from storefmt.config import broker_identity, master_epochs
from storefmt.config.broker_identity import BrokerIdentity
from storefmt.config.tables import load_config
from storefmt.errors import ConfigDamaged

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class MasterEpoch(Row):
    """A part of the log; offsets in bytes, ``end_offset`` None for the newest part."""

    cluster: str | None
    broker: str | None
    broker_id: int | None
    epoch: int | None
    start_offset: int | None
    end_offset: int | None


@command(
    "store masters",
    examples=(("mqadmin store masters DIR", "the epochs of its log, the oldest first"),),
    details="A broker with enableControllerMode=true keeps its epochs in epochFileCheckpoint, "
    "and its identity in brokerIdentity. Two logs of a group are equal up to the end of the "
    "newest epoch that began at the same offset in both. A Java broker treats a damaged "
    "epochFileCheckpoint as empty and copies the log of its master from the start. The exit code "
    "is 6 if a file is damaged, and 3 if both are missing.",
    rows=MasterEpoch,
    needs=Needs.STORE,
)
def store_masters(call: Call) -> Outcome:
    """Return one row for each epoch, or one row for a store without epochs.

    Raises:
        Damaged: a file cannot be read.
        ItemNotFound: the broker of this store does not run with a controller.
    """
    root = Path(call.store_dir)
    identity = _read(call, root / broker_identity.FILE_NAME, broker_identity.decode)
    epochs = _read(call, root / master_epochs.FILE_NAME, master_epochs.decode)
    if identity is None and epochs is None:
        raise ItemNotFound(
            f"{root} has neither {broker_identity.FILE_NAME} nor {master_epochs.FILE_NAME}",
            hint="only brokers with enableControllerMode=true write them",
        )
    name = identity or BrokerIdentity("", "", 0)
    whose = (name.cluster_name or None, name.broker_name or None, name.broker_id or None)
    if not epochs:
        return Outcome([MasterEpoch(*whose, None, None, None)])
    ends = [entry.start_offset for entry in epochs[1:]] + [None]
    return Outcome([
        MasterEpoch(*whose, entry.epoch, entry.start_offset, end)
        for entry, end in zip(epochs, ends, strict=True)
    ])  # fmt: skip


def _read(call: Call, path: Path, decode: Callable[[bytes], _T]) -> _T | None:
    passed_over: list[str] = []
    try:
        content = load_config(path, decode, passed_over=passed_over)
    except ConfigDamaged as error:
        raise Damaged(str(error)) from error
    for problem in passed_over:
        call.warn(f"note: {problem}; read {path.name}.bak instead")
    return content
