"""The roles of a broker in a group with a controller, and what changes them.

    NAMELESS ──1012──> APPLYING ──1013──> REGISTERING ──1003──┬── a master ──> FOLLOWING
       ^─ id refused ──────┘                ^    ^            ├── no master ─> ELECTING
                                            │    │            └── itself, by an old epoch ─> SILENT
              the controller lost the group ┘    └─ cannot lead, or go on leading
    any of them ── a higher epoch names this broker ──> PROMOTING ── its log is ready ──> LEADING
                ── a higher epoch names another one ──> FOLLOWING
                ── the group has no master ───────────> ELECTING

Source: broker/controller/ReplicasManager.java (5.4.0).
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from storefmt.errors import BadCall


class Role(Enum):
    """What a broker is at the moment."""

    NAMELESS = auto()
    """It has no id in its group yet."""
    APPLYING = auto()
    """It has asked for an id, which it keeps in a temporary file."""
    REGISTERING = auto()
    """It has an id, and tells the controller its address."""
    ELECTING = auto()
    """The group has no master; the controller is asked for an election."""
    SILENT = auto()
    """The controller names it the master by an epoch that it may not resume: it sends no
    heartbeats, so that the controller elects again."""
    FOLLOWING = auto()
    PROMOTING = auto()
    """It was elected and makes its log ready."""
    LEADING = auto()


class RoleEvent(Enum):
    """What changes a role."""

    HAS_ID = auto()
    ID_OFFERED = auto()
    ID_GRANTED = auto()
    ID_REFUSED = auto()
    UNKNOWN = auto()
    """The controller does not know this broker or its group."""
    NO_MASTER = auto()
    OTHER_LEADS = auto()
    ELECTED = auto()
    """A new epoch names this broker."""
    OLD_EPOCH = auto()
    """An epoch that it heard of before names this broker, and it does not lead by it."""
    LED = auto()
    NOT_LED = auto()
    STEPS_DOWN = auto()
    """It cannot go on as the master of this epoch."""
    NOT_SAVED = auto()
    """The epoch that it heard of is not on the disk, so it is not acted on."""
    ID_NOT_SAVED = auto()


_R, _E = Role, RoleEvent
_LOOKING: Final = (_R.REGISTERING, _R.ELECTING, _R.SILENT, _R.FOLLOWING, _R.PROMOTING, _R.LEADING)
NEXT: Final[Mapping[tuple[Role, RoleEvent], Role]] = {
    (_R.NAMELESS, _E.HAS_ID): _R.REGISTERING,
    (_R.NAMELESS, _E.ID_OFFERED): _R.APPLYING,
    (_R.APPLYING, _E.ID_GRANTED): _R.REGISTERING,
    (_R.APPLYING, _E.ID_REFUSED): _R.NAMELESS,
    **{(role, _E.UNKNOWN): _R.REGISTERING for role in _LOOKING},
    **{(role, _E.NO_MASTER): _R.ELECTING for role in _LOOKING},
    **{(role, _E.OTHER_LEADS): _R.FOLLOWING for role in _LOOKING},
    **{(role, _E.ELECTED): _R.PROMOTING for role in _LOOKING},
    **{(role, _E.NOT_SAVED): _R.REGISTERING for role in _LOOKING},
    (_R.APPLYING, _E.ID_NOT_SAVED): _R.NAMELESS,
    (_R.REGISTERING, _E.ID_NOT_SAVED): _R.NAMELESS,
    (_R.REGISTERING, _E.OLD_EPOCH): _R.SILENT,
    (_R.ELECTING, _E.OLD_EPOCH): _R.SILENT,
    (_R.SILENT, _E.OLD_EPOCH): _R.SILENT,
    (_R.FOLLOWING, _E.OLD_EPOCH): _R.SILENT,
    (_R.PROMOTING, _E.LED): _R.LEADING,
    (_R.PROMOTING, _E.NOT_LED): _R.REGISTERING,
    (_R.LEADING, _E.STEPS_DOWN): _R.REGISTERING,
}
"""What is not here cannot happen."""

BEATING: Final = (_R.ELECTING, _R.FOLLOWING, _R.PROMOTING, _R.LEADING)
"""The roles in which a broker sends heartbeats."""


def step(role: Role, event: RoleEvent) -> Role:
    """Return the role after an event.

    Raises:
        BadCall: the event cannot happen in this role.
    """
    try:
        return NEXT[role, event]
    except KeyError:
        raise BadCall(f"a broker that is {role.name} cannot take {event.name}") from None
