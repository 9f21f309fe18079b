"""What a role machine asks the controller, and what it wants done.

Rule: these are values; ``role`` makes them and the caller carries them out in order.
"""

from typing import NamedTuple

from mqserver.broker.replicas.in_sync_set import Committed

# What the controller is asked.


class AskNextId(NamedTuple):
    """Which id is free? (request code 1012)"""


class ApplyId(NamedTuple):
    """Give me this id (request code 1013)."""

    broker_id: int
    check_code: str


class Register(NamedTuple):
    """I have started, and this is my address (request code 1003)."""

    broker_id: int


class Elect(NamedTuple):
    """Elect a master (request code 1002)."""

    broker_id: int


class AskMaster(NamedTuple):
    """Who is the master? (request code 1004)"""


class AlterSet(NamedTuple):
    """Replace the in-sync set of ``set_epoch`` by these members (request code 1001)."""

    broker_id: int
    master_epoch: int
    members: frozenset[int]
    set_epoch: int


Question = AskNextId | ApplyId | Register | Elect | AskMaster | AlterSet


class MasterView(NamedTuple):
    """What an answer or a notice says about the master of the group."""

    master_id: int | None = None
    address: str | None = None
    epoch: int | None = None
    """The epoch of the master; None where the answer does not say it."""
    committed: Committed | None = None


class Answer(NamedTuple):
    """An answer of the leading controller."""

    code: int
    remark: str = ""
    view: MasterView = MasterView()
    next_id: int | None = None


# What the caller does.


class Ask(NamedTuple):
    """Ask the leading controller; ``answered`` or ``unanswered`` follows."""

    question: Question


class Beat(NamedTuple):
    """Send a heartbeat to every controller (request code 904)."""

    broker_id: int
    max_offset: int
    confirm_offset: int


class SaveTrialId(NamedTuple):
    """Save the temporary identity file."""

    broker_id: int
    check_code: str


class SaveId(NamedTuple):
    """Save the identity file, then remove the temporary one."""

    broker_id: int


class SaveHeard(NamedTuple):
    """Save the highest epoch heard of."""

    epoch: int


class Lead(NamedTuple):
    """Become the master; then call ``led`` with the end of the log, or ``not_led``.

    Receive no more, cut the log after its last whole record, save the epoch in the epoch file.
    """

    epoch: int


class Follow(NamedTuple):
    """Become, or stay, a slave of this master."""

    master_id: int
    address: str
    epoch: int


class StandBy(NamedTuple):
    """Be neither master nor slave: accept no messages and copy nothing."""

    why: str


class OpenSends(NamedTuple):
    """Accept messages."""


class CloseSends(NamedTuple):
    """Refuse messages (code 14)."""

    why: str


class Confirmed(NamedTuple):
    """The confirm offset, or the offset below which sends are answered, has moved."""


Action = (
    Ask
    | Beat
    | SaveTrialId
    | SaveId
    | SaveHeard
    | Lead
    | Follow
    | StandBy
    | OpenSends
    | CloseSends
    | Confirmed
)
