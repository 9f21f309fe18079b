"""Create or change consumer groups on brokers: see ``mqadmin.changes.write`` for the steps.

Rule: a setting that is not named stays as it is, unless ``--replace`` resets it as Java's
updateSubGroup does; a row says what each broker has afterwards, and what it had before.

Source: tools/command/consumer/UpdateSubGroupSubCommand.java (4.9.7).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Final

from mqadmin.changes.targets.group import GroupTarget
from mqadmin.changes.write import Declined, Done, carry_out, plan_each, shortened
from mqadmin.cluster.brokers import masters
from mqadmin.errors import Usage
from mqadmin.output.rows import NOT_FOUND, REFUSED, Row
from mqadmin.session.call import Call
from storefmt.config.tables import SubscriptionGroup

SETTINGS: Final = tuple(
    spot.name for spot in fields(SubscriptionGroup) if spot.name not in {"group_name", "extra"}
)
"""What a group has besides its name, and what only newer brokers have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedGroup:
    """The settings that are named; None leaves one as it is.

    Attributes:
        base: the group's name, and what it has if it is made new, or replaced.
    """

    base: SubscriptionGroup
    consume_enable: bool | None = None
    consume_from_min_enable: bool | None = None
    consume_broadcast_enable: bool | None = None
    retry_queue_nums: int | None = None
    retry_max_times: int | None = None
    broker_id: int | None = None
    which_broker_when_consume_slowly: int | None = None
    notify_consumer_ids_changed_enable: bool | None = None
    replace: bool = False

    def over(self, old: SubscriptionGroup | None) -> SubscriptionGroup:
        """Return the settings that a group with ``old`` ones should have."""
        start = self.base if old is None or self.replace else old
        named = {name: getattr(self, name) for name in SETTINGS}
        return replace(start, **{name: one for name, one in named.items() if one is not None})


@dataclass(frozen=True, slots=True)
class GroupChange(Row):
    """A group on one broker after the call; ``was`` has the old values of what differs."""

    group: str
    broker: str
    address: str
    consume_enable: bool | None
    consume_from_min_enable: bool | None
    consume_broadcast_enable: bool | None
    retry_queue_nums: int | None
    retry_max_times: int | None
    broker_id: int | None
    which_broker_when_consume_slowly: int | None
    notify_consumer_ids_changed_enable: bool | None
    was: dict[str, object]
    result: str
    remark: str | None


COLUMNS: Final = (
    *("group", "broker", "consume_enable", "retry_max_times", "retry_queue_nums"),
    *("was", "result", "remark"),
)


def as_java_makes(group: str) -> SubscriptionGroup:
    """Return the settings that Java's updateSubGroup gives to what is not named."""
    return SubscriptionGroup(group, consume_from_min_enable=False, consume_broadcast_enable=False)


async def change_groups(
    call: Call,
    wanted: Sequence[WantedGroup],
    *,
    cluster: str | None,
    broker: str | None,
    update: bool,
    create: bool,
) -> list[GroupChange]:
    """Bring groups to the wanted settings on each broker and return a row for each of both.

    Args:
        wanted: groups that differ; all of them are one change for `undo`.
        update: change a group that is there with other settings; else that is refused.
        create: make a group that is not there; else it is not found.

    Raises:
        Usage: a number is below zero, or none of 32 bits.
        NotFound: there is no such cluster or broker.
    """
    for one in wanted:
        _check(one)
    admin = await call.admin()
    places = await masters(admin, cluster=cluster, broker=broker)

    def choose(wish: WantedGroup, old: SubscriptionGroup | None) -> SubscriptionGroup:
        new = wish.over(old)
        if old is None and not create:
            raise Declined(NOT_FOUND)
        if old is not None and not update and _difference(old, new):
            raise Declined(REFUSED, "it is there with other settings")
        return new

    wishes = [(one, place) for one in wanted for place in places]
    steps = await plan_each(
        [
            (GroupTarget(admin, place, (one.base.group_name,)), partial(choose, one))
            for one, place in wishes
        ]
    )
    verb = "update" if update else "create"
    names = shortened([one.base.group_name for one in wanted])
    done = await carry_out(call, steps, title=f"group {verb} {names}")
    return [_row(one, wish.over(one.step.old)) for (wish, _), one in zip(wishes, done, strict=True)]


def _check(wanted: WantedGroup) -> None:
    for name in ("retry_queue_nums", "broker_id", "which_broker_when_consume_slowly"):
        value = getattr(wanted, name)
        if value is not None and value < 0:
            raise Usage(f"{name.replace('_', ' ')}: {value} is below 0")
    for name in ("retry_queue_nums", "retry_max_times"):
        # A Java broker holds them in an int.
        value = getattr(wanted, name)
        if value is not None and not -(2**31) <= value < 2**31:
            raise Usage(f"{name.replace('_', ' ')}: {value} does not fit 32 bits")


def _difference(old: SubscriptionGroup | None, new: SubscriptionGroup) -> dict[str, object]:
    """Return the old values of the settings that differ."""
    if old is None:
        return {}
    return {
        name: getattr(old, name) for name in SETTINGS if getattr(old, name) != getattr(new, name)
    }


def _row(done: Done[SubscriptionGroup], wanted: SubscriptionGroup) -> GroupChange:
    target, now = done.step.target, done.value
    return GroupChange(
        group=target.names[0],
        broker=target.place.broker,
        address=target.place.address,
        **{name: getattr(now, name) if now else None for name in SETTINGS},
        was=_difference(done.step.old, wanted),
        result=done.result,
        remark=done.remark,
    )
