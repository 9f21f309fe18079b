"""The consumer groups of one broker and their settings.

Rule: as for topics: frozen values, a change replaces the entry, moves the data version
and calls ``on_change``. A group that is asked for and not there is made when
``autoCreateSubscriptionGroup`` allows it, or when it is RocketMQ's own.

Source: broker/subscription/SubscriptionGroupManager.java.
"""

from collections.abc import Callable

from server.broker import names
from storefmt.config.tables import DataVersion, GroupTable, SubscriptionGroup
from storefmt.names import is_light


class Groups:
    """The group table of one broker.

    Args:
        stored: what subscriptionGroup.json held, or None at the first start.
        auto_create: makes groups as they are asked for.
        has_light: every group of a light name (%LMQ%) is there, unsaved.
        on_change: called after every change.
    """

    def __init__(
        self,
        stored: GroupTable | None = None,
        *,
        auto_create: bool,
        now_ms: int,
        has_light: bool = False,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._has_light = has_light
        self.auto_create = auto_create
        """Whether a group that is asked for is made; may change at run time."""
        self._groups = {
            name: SubscriptionGroup(group_name=name, consume_broadcast_enable=True)
            for name in names.SYSTEM_GROUPS
        }
        self._version = DataVersion(timestamp_ms=now_ms, counter=0)
        if stored is not None:
            self._groups.update(stored.groups)
            self._version = stored.data_version
        self._on_change = on_change

    @property
    def version(self) -> DataVersion:
        """When the table changed last, and how often."""
        return self._version

    def adopt(self, table: GroupTable) -> None:
        """Take the groups and the version of a master."""
        self._groups = dict(table.groups)
        self._version = table.data_version
        self._on_change()

    def table(self) -> GroupTable:
        """Return a snapshot of all groups with their version."""
        return GroupTable(groups=dict(self._groups), data_version=self._version)

    def names(self) -> list[str]:
        """Return the name of every group."""
        return list(self._groups)

    def get(self, group: str) -> SubscriptionGroup | None:
        """Return one group, None when there is none; never makes one."""
        if self._has_light and is_light(group):
            return SubscriptionGroup(group_name=group)
        return self._groups.get(group)

    def find(self, group: str, *, now_ms: int) -> SubscriptionGroup | None:
        """Return a group, made when it may be; None when there is none."""
        found = self.get(group)
        if found is not None:
            return found
        allowed = self.auto_create or group.startswith(names.SYSTEM_GROUP_PREFIX)
        if not allowed or names.group_fault(group) is not None:
            return None
        found = SubscriptionGroup(group_name=group)
        self.put(found, now_ms=now_ms)
        return found

    def put(self, group: SubscriptionGroup, *, now_ms: int) -> None:
        """Create a group or replace its settings; a light one is as it is."""
        if self._has_light and is_light(group.group_name):
            return
        self._groups[group.group_name] = group
        self._changed(now_ms)

    def delete(self, group: str, *, now_ms: int) -> bool:
        """Remove a group's settings; return False when there were none."""
        if self._groups.pop(group, None) is None:
            return False
        self._changed(now_ms)
        return True

    def _changed(self, now_ms: int) -> None:
        self._version = DataVersion(timestamp_ms=now_ms, counter=self._version.counter + 1)
        self._on_change()
