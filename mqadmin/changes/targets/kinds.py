"""Which class reads and writes a kind: the table that `undo` looks up a kept target in."""

from typing import TYPE_CHECKING, Final

from mqadmin.changes.targets.account import AccountTarget, WhiteList
from mqadmin.changes.targets.base import Target
from mqadmin.changes.targets.group import GroupTarget
from mqadmin.changes.targets.offset import OffsetTarget
from mqadmin.changes.targets.setting import BrokerSettingTarget, KvEntry, NamesrvSettingTarget
from mqadmin.changes.targets.topic import TopicTarget
from mqadmin.changes.targets.writeperm import WritePerm
from mqadmin.cluster.brokers import Place
from mqadmin.errors import CommandError
from mqadmin.session.journal import Saved

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

KINDS: Final[dict[str, type[Target[object]]]] = {
    kind.kind: kind  # type: ignore[misc]
    for kind in (
        TopicTarget,
        GroupTarget,
        OffsetTarget,
        BrokerSettingTarget,
        NamesrvSettingTarget,
        KvEntry,
        WritePerm,
        AccountTarget,
        WhiteList,
    )
}


def target_of(admin: "Admin", saved: Saved) -> Target[object]:
    """Return the target that was kept.

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
