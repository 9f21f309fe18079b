"""The consumer groups of one broker and their settings (subscription groups).

Rule: entries are immutable, as for topics. A change replaces the entry, increases the data
version and calls ``on_change``. A missing group is created on its first use if
``autoCreateSubscriptionGroup`` is set or if it is a system group of RocketMQ. A slave serves such
a group with the default settings but does not create it, because it copies its master's groups.

Source: broker/subscription/SubscriptionGroupManager.java.
"""

from collections.abc import Callable

from mqserver.broker import names
from mqserver.broker.config import BrokerConfig
from storefmt.config.tables import DataVersion, GroupTable, SubscriptionGroup
from storefmt.names import SYSTEM_GROUP_PREFIX, is_light


class Groups:
    """The group table of one broker.

    Args:
        config: the settings. With enableLmq every group with a light name (%LMQ%) exists without
            being saved.
        stored: the content of subscriptionGroup.json, or None at the first start.
        now_ms: time of the data version of a new table.
        on_change: called after every change.
    """

    def __init__(
        self,
        config: BrokerConfig,
        stored: GroupTable | None = None,
        *,
        now_ms: int,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._config = config
        self._has_light = config.store.enable_lmq
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
        """The data version: when the table changed last, and how often."""
        return self._version

    def adopt(self, table: GroupTable) -> None:
        """Replace the groups and the data version by those of a master."""
        if table == self.table():
            return
        self._groups = dict(table.groups)
        self._version = table.data_version
        self._on_change()

    def table(self) -> GroupTable:
        """Return a snapshot of all groups and the data version."""
        return GroupTable(groups=dict(self._groups), data_version=self._version)

    def names(self) -> list[str]:
        """Return the name of every group."""
        return list(self._groups)

    def get(self, group: str) -> SubscriptionGroup | None:
        """Return a group, or None if it does not exist; it is not created."""
        if self._has_light and is_light(group):
            return SubscriptionGroup(group_name=group)
        return self._groups.get(group)

    def find(self, group: str, *, now_ms: int) -> SubscriptionGroup | None:
        """Return a group, creating it if it is missing and that is allowed; otherwise None.

        A slave returns the default settings instead of creating the group.
        """
        config = self.get(group)
        if config is not None:
            return config
        allowed = self._config.auto_create_subscription_group or group.startswith(
            SYSTEM_GROUP_PREFIX
        )
        if not allowed or names.group_fault(group) is not None:
            return None
        config = SubscriptionGroup(group_name=group)
        if not self._config.is_slave:
            self.put(config, now_ms=now_ms)
        return config

    def put(self, group: SubscriptionGroup, *, now_ms: int) -> None:
        """Create a group or replace its settings; light groups cannot be changed."""
        if self._has_light and is_light(group.group_name):
            return
        self._groups[group.group_name] = group
        self._changed(now_ms)

    def delete(self, group: str, *, now_ms: int) -> bool:
        """Remove a group's settings; return False if there were none."""
        if self._groups.pop(group, None) is None:
            return False
        self._changed(now_ms)
        return True

    def _changed(self, now_ms: int) -> None:
        self._version = DataVersion(timestamp_ms=now_ms, counter=self._version.counter + 1)
        self._on_change()
