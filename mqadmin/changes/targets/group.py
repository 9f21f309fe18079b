"""The settings of a consumer group on one broker."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from mqadmin.changes.targets.base import MANY, ListedTarget
from storefmt.config.fastjson import Json
from storefmt.config.tables import SubscriptionGroup


@dataclass(frozen=True, slots=True)
class GroupTarget(ListedTarget[SubscriptionGroup, Mapping[str, SubscriptionGroup]]):
    """The settings of a group on one broker; ``names`` has the group.

    Attributes:
        remove_offset: a deletion also removes the group's offsets.
    """

    kind: ClassVar[str] = "group"
    width: ClassVar[int] = MANY

    remove_offset: bool = False

    async def listing(self) -> Mapping[str, SubscriptionGroup]:
        """Return the groups of the broker."""
        return (await self.admin.subscription_groups(self.node.address)).groups

    async def write(self, value: SubscriptionGroup | None) -> None:
        """Create, replace or delete it."""
        if value is None:
            await self.admin.delete_group(
                self.node.address, self.names[0], remove_offset=self.remove_offset
            )
        else:
            await self.admin.create_group(self.node.address, value)

    def encode(self, value: SubscriptionGroup) -> Json:
        """Return Java's json."""
        return value.to_json()

    def decode(self, value: Json) -> SubscriptionGroup:
        """Read Java's json."""
        return SubscriptionGroup.from_json(value, name=self.names[0])

    def same(self, left: SubscriptionGroup | None, right: SubscriptionGroup | None) -> bool:
        """Compare the settings of 4.9; a broker of 5.x answers with more."""
        if left is None or right is None:
            return left is right
        return replace(left, extra={}) == replace(right, extra={})
