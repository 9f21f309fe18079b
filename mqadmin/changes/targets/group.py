"""The settings of a consumer group on one broker."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from mqadmin.changes.targets.base import MANY, ListedTarget
from storefmt.config.fastjson import Json
from storefmt.config.tables import SubscriptionGroup

ATTRIBUTES: Final = "attributes"
DEFAULT_POLICY: Final = {"type": "CUSTOMIZED"}


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
            # A broker of 5.x keeps attributes that the request does not name.
            removed = [name for name in await self._attributes(value) if name not in _named(value)]
            await self.admin.create_group(self.node.address, value, removed=removed)

    async def _attributes(self, value: SubscriptionGroup) -> Mapping[str, object]:
        """Return the attributes that the group has now, on a broker of 5.x."""
        if ATTRIBUTES not in value.extra:
            return {}
        group = (await self.listing()).get(self.names[0])
        return {} if group is None else _named(group)

    def encode(self, value: SubscriptionGroup) -> Json:
        """Return Java's json."""
        return value.to_json()

    def decode(self, value: Json) -> SubscriptionGroup:
        """Read Java's json."""
        return SubscriptionGroup.from_json(value, name=self.names[0])

    def same(self, left: SubscriptionGroup | None, right: SubscriptionGroup | None) -> bool:
        """Compare what a line can set; a broker of 5.x answers with more."""
        if left is None or right is None:
            return left is right
        if replace(left, extra={}) != replace(right, extra={}):
            return False
        return _later(left) == _later(right)


def _named(group: SubscriptionGroup) -> Mapping[str, object]:
    """Return the attributes of a group."""
    attributes = group.extra.get(ATTRIBUTES)
    return {str(k): v for k, v in attributes.items()} if isinstance(attributes, Mapping) else {}


def _later(group: SubscriptionGroup) -> tuple[object, ...]:
    """Return the settings that came with 5.x; a missing one has the default of a broker of 5.x."""
    is_orderly = group.extra.get("consumeMessageOrderly") or False
    policy = group.extra.get("groupRetryPolicy") or DEFAULT_POLICY
    return is_orderly, policy, _named(group)
