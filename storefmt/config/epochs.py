"""The content of ``epoch.json``, which says which promotion the log of a store follows.

    {"epoch": 1795368000000,      epoch of the promotion whose log this store has, 0 for none
     "heard": 1795368000000,      the highest epoch that the broker has heard of
     "masterRole": "SYNC_MASTER", the role of its master, which a promotion takes over
     "formerMaster": "10.0.0.1:10911"}    address of the master that this broker replaced

Rule: an epoch is a time in ms since 1970, at most ``EPOCH_MAX``. A broker does not start with any
other file, because it could not tell whether its log is the newest; ``mend`` returns a content
with which it starts.

Source: none, RocketMQ 4.9 has no epochs.
"""

import json
from typing import Final, NamedTuple

from storefmt.errors import ConfigDamaged

FILE_NAME: Final = "epoch.json"
EPOCH_MAX: Final = 253_402_300_799_999
"""The last ms of the year 9999."""
AHEAD_MS_MAX: Final = 24 * 3_600_000
"""How far ahead of the clock an epoch of another broker may be."""
TEXT_SIZE_MAX: Final = 300


class Epochs(NamedTuple):
    """The content of the file; the defaults while there is none."""

    epoch: int = 0
    heard: int = 0
    master_role: str = ""
    former_master: str = ""


def is_believable(epoch: int, now_ms: int) -> bool:
    """Return whether an epoch can have been issued by now; clocks may differ by a day."""
    return 0 <= epoch <= min(now_ms + AHEAD_MS_MAX, EPOCH_MAX)


def decode(data: bytes) -> Epochs:
    """Return the content of a file.

    Raises:
        ConfigDamaged: it is not a JSON object with these fields, or an epoch is out of range.
    """
    fields = _fields(data)
    epochs: list[int] = []
    for name in ("epoch", "heard"):
        epoch = _epoch_of(fields.get(name))
        if epoch is None:
            raise ConfigDamaged(f"{name} is {_short(fields.get(name))}, expected 0 to {EPOCH_MAX}")
        epochs.append(epoch)
    texts: list[str] = []
    for name in ("masterRole", "formerMaster"):
        text = fields.get(name, "")
        if not isinstance(text, str) or len(text) > TEXT_SIZE_MAX:
            raise ConfigDamaged(f"{name} is {_short(text)}, expected a role or an address")
        texts.append(text)
    return Epochs(epochs[0], epochs[1], texts[0], texts[1])


def encode(epochs: Epochs) -> str:
    """Return the text of the file."""
    return json.dumps({
        "epoch": epochs.epoch,
        "heard": epochs.heard,
        "masterRole": epochs.master_role,
        "formerMaster": epochs.former_master,
    })  # fmt: skip


def mend(data: bytes, *, epoch: int | None = None) -> Epochs:
    """Return what can be kept of a file's content.

    An epoch that cannot be read becomes 0, and ``heard`` becomes the epoch, so that the broker
    only knows its own promotion. It learns of others when it asks its peers.

    Args:
        data: the content; it may be anything.
        epoch: the epoch that the store gets; None keeps the one in the file.
    """
    try:
        fields = _fields(data)
    except ConfigDamaged:
        fields = {}
    own = _epoch_of(fields.get("epoch")) or 0
    heard = _epoch_of(fields.get("heard")) or 0
    if epoch is not None:
        own, heard = epoch, 0
    role, former = fields.get("masterRole"), fields.get("formerMaster")
    return Epochs(
        own,
        max(own, heard),
        str(role) if role in ("ASYNC_MASTER", "SYNC_MASTER") else "",
        former if isinstance(former, str) and len(former) <= TEXT_SIZE_MAX else "",
    )


def _fields(data: bytes) -> dict[str, object]:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        # The text of a number of thousands of digits is not repeated here.
        raise ConfigDamaged(f"not readable as JSON: {str(error)[:80]}") from None
    if not isinstance(fields, dict):
        raise ConfigDamaged(f"a {type(fields).__name__}, expected an object with epoch and heard")
    return fields


def _epoch_of(value: object) -> int | None:
    """Return a value of the file if it is an epoch."""
    return value if type(value) is int and 0 <= value <= EPOCH_MAX else None


def _short(value: object) -> str:
    return repr(value)[:40]
