"""Which class reads and writes a kind: the table that `undo` looks a kept thing up in."""

from typing import TYPE_CHECKING, Final

from mqadmin.errors import CommandError
from mqadmin.journal import Saved
from mqadmin.places import Place
from mqadmin.things.account import AccountThing, WhiteList
from mqadmin.things.base import Thing
from mqadmin.things.group import GroupThing
from mqadmin.things.offset import OffsetThing
from mqadmin.things.setting import BrokerSetting, KvEntry, NamesrvSetting
from mqadmin.things.topic import TopicThing
from mqadmin.things.writeperm import WritePerm

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

KINDS: Final[dict[str, type[Thing[object]]]] = {
    kind.kind: kind  # type: ignore[misc]
    for kind in (
        TopicThing,
        GroupThing,
        OffsetThing,
        BrokerSetting,
        NamesrvSetting,
        KvEntry,
        WritePerm,
        AccountThing,
        WhiteList,
    )
}


def thing_of(admin: "Admin", saved: Saved) -> Thing[object]:
    """Return the thing that was kept.

    Raises:
        CommandError: a newer version of this program kept it.
    """
    kind = KINDS.get(saved.kind)
    if kind is None:
        raise CommandError(
            f"the journal has a {saved.kind!r}, which this version does not know",
            hint="known are " + ", ".join(sorted(KINDS)),
        )
    place = Place(saved.cluster, saved.broker, saved.broker_id, saved.address)
    return kind(admin, place, saved.names)
