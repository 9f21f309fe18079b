"""Where a slave begins to copy, after the master's handshake has said under which epochs it wrote.

    own epochs, own end ─┐
    master's handshake ──┴─ last common epoch ──> BeginAt(own end)  own log is a beginning
                                              ──> CutAt(offset)     it has more: cut it
                         both logs whole, none ──> CutAt(0)         the master began empty, later
                                              ──> CannotFollow        nothing in common

Bytes before the first epoch were written without a controller. Both logs may have them, so they
count as epoch 0 of both; as that number proves nothing, the records have to be compared there.

Source: store/ha/autoswitch/AutoSwitchHAClient.java#doTruncateIfNeeded (5.4.0), which takes a log
without epochs for a new replica and copies to its end unseen.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mqserver.broker.replicas.frames import MasterHandshake
from storefmt.config.master_epochs import EpochStart, common_end, epoch_at


class CannotFollow(Exception):
    """This log and the master's have nothing in common; a person has to decide."""


class BeginAt(NamedTuple):
    """Report this end of the log, and append what comes."""

    log_offset: int
    needs_compare: bool
    """Whether epochs do not prove that the logs are the same up to there."""


class CutAt(NamedTuple):
    """Copy the log from this offset on to ``tails/``, cut it, and connect again."""

    log_offset: int


def plan_begin(
    epochs: Sequence[EpochStart], *, log_min: int, log_end: int, master: MasterHandshake
) -> BeginAt | CutAt:
    """Return what a slave does after the handshake.

    Args:
        epochs: the epochs of this log, the oldest first.
        log_min: its first byte.
        log_end: its end, after its last whole record.
        master: the handshake of the master.

    Raises:
        CannotFollow: the logs have nothing in common.
    """
    if log_min == log_end:
        return BeginAt(log_end, needs_compare=False)
    ours, theirs = _from_zero(epochs), _from_zero(master.epochs)
    same = common_end(ours, our_end=log_end, theirs=theirs, their_end=master.log_end)
    if same is None and log_min == 0 and _began_later(master.epochs, epochs):
        return CutAt(0)
    if same is None or same <= log_min:
        raise CannotFollow(
            f"this log ({log_min} to {log_end}, epochs {_text(epochs)}) has nothing in common with "
            f"the master's (to {master.log_end}, epochs {_text(master.epochs)})"
        )
    if same < log_end:
        return CutAt(same)
    newest = epoch_at(ours, log_end - 1)
    return BeginAt(log_end, needs_compare=newest is not None and newest.epoch == 0)


def _began_later(theirs: Sequence[EpochStart], ours: Sequence[EpochStart]) -> bool:
    """Return whether the master's log began empty, under an epoch after all of ours.

    A slave may be in the in-sync set of an epoch and be elected before the first byte of that epoch
    reaches it. Both lists are whole then, so nothing of this log was ever confirmed.
    """
    if not theirs or not ours:
        return False
    are_whole = theirs[0].start_offset == 0 and ours[0].start_offset == 0
    return are_whole and theirs[0].epoch > ours[-1].epoch


def _from_zero(epochs: Sequence[EpochStart]) -> list[EpochStart]:
    if epochs and epochs[0].start_offset == 0:
        return list(epochs)
    return [EpochStart(0, 0), *epochs]


def _text(epochs: Sequence[EpochStart]) -> str:
    return ", ".join(f"{epoch}-{start}" for epoch, start in epochs[-8:]) or "none"
