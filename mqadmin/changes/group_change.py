"""Create or change consumer groups on brokers; see ``mqadmin.changes.write`` for the steps.

Rule: a setting that is not named stays as it is, unless ``--replace`` resets it as Java's
updateSubGroup does; a row says what each broker has afterwards, and what it had before.

Source: tools/command/consumer/UpdateSubGroupSubCommand.java (4.9.7).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import click

from mqadmin.changes.attributes import apply_changes, attributes_option
from mqadmin.changes.targets.group import GroupTarget
from mqadmin.changes.write import (
    carry_out,
    changed_settings,
    choose_settings,
    first_of_names,
    plan_each,
)
from mqadmin.cli.decorators import Where, option_group
from mqadmin.cli.types import BOOLEAN, INTEGER, TextType
from mqadmin.cluster.brokers import masters
from mqadmin.errors import Usage
from mqadmin.output.rows import Outcome, Row, exit_code_of
from mqadmin.session.call import Call
from storefmt.config.tables import SubscriptionGroup
from storefmt.paths import check_group_name

SETTINGS: Final = tuple(
    spot.name for spot in fields(SubscriptionGroup) if spot.name not in {"group_name", "extra"}
)
"""What a group of 4.9 has besides its name."""
LATER_SETTINGS: Final = {
    "consume_message_orderly": "consumeMessageOrderly",
    "group_retry_policy": "groupRetryPolicy",
    "attributes": "attributes",
}
"""What came with 5.x, and its key in ``SubscriptionGroup.extra``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUpdate:
    """The settings that a group should have.

    Attributes:
        base: the group's name, and its settings if it is created or replaced.
        named: settings by name that are set in any case; None leaves a setting as it is.
    """

    base: SubscriptionGroup
    named: Mapping[str, Any]
    replace: bool = False

    def apply_to(self, old: SubscriptionGroup | None) -> SubscriptionGroup:
        """Return the settings that a group with the settings ``old`` should have."""
        start = self.base if old is None or self.replace else old
        said = {name: value for name, value in self.named.items() if value is not None}
        extra = dict(start.extra)
        for name, key in LATER_SETTINGS.items():
            if name not in said:
                continue
            value = said.pop(name)
            if name == "attributes":
                value = apply_changes(later_settings(start)[name] or {}, value)
            extra[key] = value
        return replace(start, **said, extra=extra)


def later_settings(group: SubscriptionGroup) -> dict[str, Any]:
    """Return the settings that came with 5.x; None for those that the broker does not have."""
    return {name: group.extra.get(key) for name, key in LATER_SETTINGS.items()}


def parse_policy(text: str) -> dict[str, Any]:
    """Return a retry policy, which is an object in JSON.

    Raises:
        ValueError: the text is not one.
    """
    try:
        policy = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not JSON: {error}") from None
    if not isinstance(policy, dict) or "type" not in policy:
        raise ValueError(f"{text!r} is not an object with a type, EXPONENTIAL or CUSTOMIZED")
    return policy


named_settings = option_group(
    "named",
    dict,
    click.option(
        "--consume", "consume_enable", type=BOOLEAN, help="whether its members may consume"
    ),
    click.option(
        "--from-min",
        "consume_from_min_enable",
        type=BOOLEAN,
        help="whether a new member may start at the first message",
    ),
    click.option(
        "--broadcast",
        "consume_broadcast_enable",
        type=BOOLEAN,
        help="whether its members may broadcast",
    ),
    click.option(
        "--retry-max",
        "retry_max_times",
        type=INTEGER,
        help="retries before a message becomes a dead letter",
    ),
    click.option(
        "--retry-queues",
        "retry_queue_nums",
        type=INTEGER,
        help="number of queues of its retry topic",
    ),
    click.option("--broker-id", type=INTEGER, help="id of the broker that members read from"),
    click.option(
        "--slow-broker-id",
        "which_broker_when_consume_slowly",
        type=INTEGER,
        help="id of the broker that members read old messages from",
    ),
    click.option(
        "--notify",
        "notify_consumer_ids_changed_enable",
        type=BOOLEAN,
        help="whether members are notified at once when one joins or leaves",
    ),
    click.option(
        *("--orderly", "consume_message_orderly"),
        type=BOOLEAN,
        help="whether its members consume in order (brokers of 5.x)",
    ),
    click.option(
        *("--retry-policy", "group_retry_policy"),
        type=TextType(read=parse_policy),
        metavar="JSON",
        help="the pauses between retries (brokers of 5.x)",
    ),
    attributes_option,
)
"""The settings by field name; None for those that are not on the command line."""


@dataclass(frozen=True, slots=True)
class GroupSettings(Row):
    """A group's settings on one broker; None if it does not exist there."""

    group: str
    cluster: str
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
    consume_message_orderly: bool | None
    group_retry_policy: dict[str, object] | None
    attributes: dict[str, str] | None


@dataclass(frozen=True, slots=True)
class GroupChange(GroupSettings):
    """A group on one broker after the call; ``was`` has the old values of what differs."""

    was: dict[str, object]
    result: str
    remark: str | None


COLUMNS: Final = (
    *("group", "broker", "consume_enable", "retry_max_times", "retry_queue_nums"),
    *("was", "result", "remark"),
)


def as_java_makes(group: str) -> SubscriptionGroup:
    """Return the settings that Java's updateSubGroup sets if they are not named."""
    return SubscriptionGroup(group, consume_from_min_enable=False, consume_broadcast_enable=False)


async def change_groups(
    call: Call,
    updates: Sequence[GroupUpdate],
    *,
    where: Where,
    update: bool,
    create: bool,
) -> Outcome:
    """Change groups on each broker and return a row for each group and broker.

    Args:
        updates: one for each group; `undo` treats all of them as one change.
        update: change a group that exists with other settings; otherwise refuse it.
        create: create a group that does not exist; otherwise it is not found.

    Raises:
        BadCall: a name is not allowed for a group.
        Usage: a number is negative, or does not fit 32 bits.
        ItemNotFound: the cluster or broker does not exist.
    """
    for each in updates:
        check_group_name(each.base.group_name)
        _check(each.apply_to(None))
    by_group = {each.base.group_name: each for each in updates}
    admin = await call.admin()
    nodes = await masters(admin, where)
    steps = await plan_each(
        [
            (
                GroupTarget(admin, node, (each.base.group_name,)),
                choose_settings(each.apply_to, SETTINGS, update=update, create=create),
            )
            for each in updates
            for node in nodes
        ]
    )
    verb = "update" if update else "create"
    names = first_of_names([*by_group])
    results = await carry_out(call, steps, title=f"group {verb} {names}")
    rows = [
        GroupChange.of(
            each,
            group=each.target.names[0],
            cluster=each.target.node.cluster,
            **{name: getattr(each.value, name, None) for name in SETTINGS},
            **_later(each.value),
            was=_was(each.step.old, by_group[each.target.names[0]].apply_to(each.step.old)),
        )
        for each in results
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _later(group: SubscriptionGroup | None) -> dict[str, Any]:
    return dict.fromkeys(LATER_SETTINGS) if group is None else later_settings(group)


def _was(old: SubscriptionGroup | None, new: SubscriptionGroup) -> dict[str, object]:
    """Return the old values of the settings that differ."""
    later = {}
    if old is not None:
        before, after = later_settings(old), later_settings(new)
        later = {name: before[name] for name in after if before[name] != after[name]}
    return {**changed_settings(old, new, SETTINGS), **later}


def _check(settings: SubscriptionGroup) -> None:
    for name in ("retry_queue_nums", "broker_id", "which_broker_when_consume_slowly"):
        value = getattr(settings, name)
        if value < 0:
            raise Usage(f"{name.replace('_', ' ')}: {value} is below 0")
    for name in ("retry_queue_nums", "retry_max_times"):
        # A Java broker holds them in an int.
        value = getattr(settings, name)
        if not -(2**31) <= value < 2**31:
            raise Usage(f"{name.replace('_', ' ')}: {value} does not fit 32 bits")
