"""Create or change a consumer group on brokers: see ``mqadmin.writes`` for the steps.

Rule: a setting that is not named stays as it is, unless ``--replace`` resets it as Java's
updateSubGroup does; a row says what each broker has afterwards, and what it had before.

Source: tools/command/consumer/UpdateSubGroupSubCommand.java (4.9.7).
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.places import masters
from mqadmin.rows import NOT_FOUND, REFUSED, Row
from mqadmin.things.group import GroupThing
from mqadmin.writes import Declined, Done, carry_out, plan
from storefmt.configs import SubscriptionGroup

Truth = Literal["true", "false"]
SETTINGS: Final = (
    "consume_enable",
    "consume_from_min_enable",
    "consume_broadcast_enable",
    "retry_queue_nums",
    "retry_max_times",
    "broker_id",
    "which_broker_when_consume_slowly",
    "notify_consumer_ids_changed_enable",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedGroup:
    """The settings that are named; None leaves one as it is."""

    group: str
    consume_enable: bool | None = None
    consume_from_min_enable: bool | None = None
    consume_broadcast_enable: bool | None = None
    retry_queue_nums: int | None = None
    retry_max_times: int | None = None
    broker_id: int | None = None
    which_broker_when_consume_slowly: int | None = None
    notify_consumer_ids_changed_enable: bool | None = None
    replace: bool = False

    def over(self, old: SubscriptionGroup | None, base: SubscriptionGroup) -> SubscriptionGroup:
        """Return the settings that a group with ``old`` ones, or ``base``, should have."""
        start = base if old is None or self.replace else old
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


def truth_of(text: Truth | None) -> bool | None:
    """Return what ``true`` or ``false`` says; None where nothing was said."""
    return None if text is None else text == "true"


async def change_group(
    call: Call,
    wanted: WantedGroup,
    *,
    base: SubscriptionGroup,
    cluster: str | None,
    broker: str | None,
    update: bool,
    create: bool,
) -> list[GroupChange]:
    """Bring a group to the wanted settings on each broker and return a row for each.

    Args:
        base: what a group has that is made new, or replaced.
        update: change a group that is there with other settings; else that is refused.
        create: make a group that is not there; else it is not found.

    Raises:
        Usage: a number is below zero, or none of 32 bits.
        NotFound: there is no such cluster or broker.
    """
    for name in ("retry_queue_nums", "broker_id", "which_broker_when_consume_slowly"):
        value = getattr(wanted, name)
        if value is not None and value < 0:
            raise Usage(f"{name.replace('_', ' ')}: {value} is below 0")
    for name in ("retry_queue_nums", "retry_max_times"):
        # A Java broker holds them in an int.
        value = getattr(wanted, name)
        if value is not None and not -(2**31) <= value < 2**31:
            raise Usage(f"{name.replace('_', ' ')}: {value} does not fit 32 bits")
    admin = await call.admin()
    places = await masters(admin, cluster=cluster, broker=broker)

    def choose(old: SubscriptionGroup | None) -> SubscriptionGroup:
        new = wanted.over(old, base)
        if old is None and not create:
            raise Declined(NOT_FOUND)
        if old is not None and not update and _difference(old, new):
            raise Declined(REFUSED, "it is there with other settings")
        return new

    verb = "update" if update else "create"
    done = await carry_out(
        call,
        await plan([GroupThing(admin, place, (wanted.group,)) for place in places], choose),
        title=f"group {verb} {wanted.group}",
    )
    return [_row(one, wanted.over(one.step.old, base)) for one in done]


def _difference(old: SubscriptionGroup | None, new: SubscriptionGroup) -> dict[str, object]:
    """Return the old values of the settings that differ."""
    if old is None:
        return {}
    return {
        name: getattr(old, name) for name in SETTINGS if getattr(old, name) != getattr(new, name)
    }


def _row(done: Done[SubscriptionGroup], wanted: SubscriptionGroup) -> GroupChange:
    thing, now = done.step.thing, done.value
    return GroupChange(
        group=thing.names[0],
        broker=thing.place.broker,
        address=thing.place.address,
        consume_enable=now.consume_enable if now else None,
        consume_from_min_enable=now.consume_from_min_enable if now else None,
        consume_broadcast_enable=now.consume_broadcast_enable if now else None,
        retry_queue_nums=now.retry_queue_nums if now else None,
        retry_max_times=now.retry_max_times if now else None,
        broker_id=now.broker_id if now else None,
        which_broker_when_consume_slowly=now.which_broker_when_consume_slowly if now else None,
        notify_consumer_ids_changed_enable=now.notify_consumer_ids_changed_enable if now else None,
        was=_difference(done.step.old, wanted),
        result=done.result,
        remark=done.remark,
    )
