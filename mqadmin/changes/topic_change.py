"""Create or change topics on brokers; see ``mqadmin.changes.write`` for the steps.

Rule: a setting that is not named stays as it is, unless ``--replace`` resets it as Java's
updateTopic does; a row says what each broker has afterwards, and what it had before.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import click

from mqadmin.changes.attributes import apply_changes
from mqadmin.changes.targets.topic import TopicTarget
from mqadmin.changes.topic_order import OrderUpdate, plan_order
from mqadmin.changes.unread_queues import guard_unread
from mqadmin.changes.write import (
    StepResult,
    carry_out,
    changed_settings,
    choose_settings,
    first_of_names,
    plan_each,
)
from mqadmin.cli.decorators import Where
from mqadmin.cli.types import Choice
from mqadmin.cluster.brokers import masters
from mqadmin.errors import Usage
from mqadmin.output.rows import (
    CHANGED,
    REFUSED,
    UNCHANGED,
    UNREACHABLE,
    WOULD_CHANGE,
    Outcome,
    Row,
    exit_code_of,
)
from mqadmin.session.call import Call
from mqclient.errors import NoRoute
from storefmt.config.tables import TopicConfig
from storefmt.config.topic_attributes import MESSAGE_TYPE
from storefmt.names import perm_text
from storefmt.paths import check_topic_name

if TYPE_CHECKING:
    from mqclient.admin.topic import TopicCalls

QUEUES_DEFAULT: Final = 8
"""As in Java's updateTopic; a broker's own default is 16."""
QUEUES_MAX: Final = 65_536
FLAG_UNIT, FLAG_UNIT_SUB = 1, 2
"""Bits of topicSysFlag; source: common/sysflag/TopicSysFlag.java (4.9.7)."""
SETTINGS: Final = (
    "read_queue_nums",
    "write_queue_nums",
    "perm",
    "topic_filter_type",
    "topic_sys_flag",
    "message_type",
    "other_attributes",
)
"""The settings that the request sets; order is for the name servers, and a 5.x broker answers with
more."""
message_type_option = click.option(
    "--message-type",
    type=Choice(["NORMAL", "FIFO", "DELAY", "TRANSACTION"]),
    help="type of the messages in the topic (for brokers of 5.x, and ours)",
)
"""``--message-type`` of the commands that create and change topics."""
force_option = click.option("--force", is_flag=True, help="also remove queues with unread messages")
"""``--force`` of the same commands."""
ROUTE_WAIT_S, ROUTE_STEP_S = 3.0, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicUpdate:
    """The named settings; None leaves a setting as it is."""

    topic: str
    read_queues: int | None = None
    write_queues: int | None = None
    perm: int | None = None
    order: bool | None = None
    unit: bool | None = None
    unit_sub: bool | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Changes by signed name, see ``mqadmin.changes.attributes``."""
    replace: bool = False

    def apply_to(self, old: TopicConfig | None) -> TopicConfig:
        """Return the settings that a topic with the settings ``old`` should have."""
        base = old
        if base is None or self.replace:
            base = TopicConfig(self.topic, QUEUES_DEFAULT, QUEUES_DEFAULT)
            # Java's tool cannot reset attributes: a broker keeps those that are not named.
            base = base.with_attributes(old.attributes if old else {})
        config = replace(
            base,
            read_queue_nums=_or(self.read_queues, base.read_queue_nums),
            write_queue_nums=_or(self.write_queues, base.write_queue_nums),
            perm=_or(self.perm, base.perm),
            topic_sys_flag=_with_bits(
                base.topic_sys_flag, {FLAG_UNIT: self.unit, FLAG_UNIT_SUB: self.unit_sub}
            ),
        )
        return config.with_attributes(apply_changes(config.attributes, self.attributes))


def topic_update_of(
    *,
    queues: int | None,
    read_queues: int | None,
    write_queues: int | None,
    message_type: str | None,
    attributes: Mapping[str, str] | None,
    **others: Any,
) -> TopicUpdate:
    """Return the settings that a line names; ``--queues`` sets both numbers that are not given.

    Raises:
        Usage: the line has two changes of the message type.
    """
    changes = dict(attributes or {})
    if message_type is not None:
        if {f"+{MESSAGE_TYPE}", f"-{MESSAGE_TYPE}"} & changes.keys():
            raise Usage(f"--message-type and --attributes both change {MESSAGE_TYPE}; name it once")
        changes[f"+{MESSAGE_TYPE}"] = message_type
    return TopicUpdate(
        read_queues=queues if read_queues is None else read_queues,
        write_queues=queues if write_queues is None else write_queues,
        attributes=changes,
        **others,
    )


@dataclass(frozen=True, slots=True)
class TopicChange(Row):
    """A topic on one broker after the call; ``was`` has the old values of what differs."""

    topic: str
    broker: str
    address: str
    read_queues: int | None
    write_queues: int | None
    perm: str | None
    order: bool | None
    sys_flag: int | None
    message_type: str | None
    other_attributes: dict[str, str] | None
    was: dict[str, object]
    result: str
    remark: str | None


async def change_topics(
    call: Call,
    updates: Sequence[TopicUpdate],
    *,
    where: Where,
    update: bool,
    create: bool,
    asks: bool = False,
    force: bool = False,
) -> Outcome:
    """Change topics on each broker and return a row for each topic and broker.

    Args:
        updates: one for each topic; `undo` treats all of them as one change.
        update: change a topic that exists with other settings; otherwise refuse it.
        create: create a topic that does not exist; otherwise it is not found.
        asks: ask before a permission is removed.
        force: remove queues even if they have unread messages; commands under Java's names always
            do.

    Raises:
        BadCall: a name is not allowed for a topic.
        Usage: a number of queues is out of range.
        ItemNotFound: the cluster or broker does not exist.
    """
    for one in updates:
        check_topic_name(one.topic)
        for count in (one.read_queues, one.write_queues):
            if count is not None and not 1 <= count <= QUEUES_MAX:
                raise Usage(f"{count} queues are out of range; expected 1 to {QUEUES_MAX}")
    admin = await call.admin()
    nodes = await masters(admin, where)
    steps = await plan_each(
        [
            (
                TopicTarget(admin, node, (one.topic,)),
                choose_settings(one.apply_to, SETTINGS, update=update, create=create),
            )
            for one in updates
            for node in nodes
        ]
    )
    # Scripts that use Java's names rely on the change being made; they only get the note.
    is_native = call.spelled.startswith("topic ") or not call.spelled
    steps, lost = await guard_unread(admin, steps, force=force or not is_native)
    takes = sum(bool(step.old and step.new and step.old.perm & ~step.new.perm) for step in steps)
    names = first_of_names([one.topic for one in updates])
    question = f"remove a permission of topic {names} on {takes} broker(s)?"
    results = await carry_out(
        call, steps, title=f"topic update {names}", question=question if asks and takes else None
    )
    by_topic = {one.topic: one for one in updates}
    rows = [_row(by_topic[result.target.names[0]], result) for result in results]
    changed = dict.fromkeys(row.topic for row in rows if row.result == CHANGED)
    for topic in changed if admin.has_namesrv else ():
        await _wait_for_route(admin, topic)
    rows = await _set_order(call, by_topic, rows)
    notes = (*lost, *_finishing(call, rows))
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows), notes=notes)


def _finishing(call: Call, rows: Sequence[TopicChange]) -> list[str]:
    """Return how to finish a change that some brokers made and others did not answer to."""
    if not any(row.result in (CHANGED, UNCHANGED) for row in rows) or call.dry_run:
        return []
    verb = call.spelled if call.spelled.startswith("topic ") else "topic update"
    late = dict.fromkeys((row.topic, row.broker) for row in rows if row.result == UNREACHABLE)
    return [
        f"once {broker} answers, run the command again with `--broker {broker}` to finish "
        f"`{verb}` for {topic}"
        for topic, broker in late
    ]


async def _set_order(
    call: Call, updates: Mapping[str, TopicUpdate], rows: list[TopicChange]
) -> list[TopicChange]:
    """Change the order entries of topics whose rows succeeded, and return the rows with the
    result."""
    queues: dict[str, dict[str, int]] = {}
    for row in rows:
        asked = updates[row.topic]
        if asked.order is not None and _is_well(row):
            count = row.write_queues or asked.write_queues or QUEUES_DEFAULT
            queues.setdefault(row.topic, {})[row.broker] = count
    orders = [
        OrderUpdate(topic, add=queue_counts)
        if updates[topic].order
        else OrderUpdate(topic, remove=set(queue_counts))
        for topic, queue_counts in queues.items()
    ]
    if not orders:
        return rows
    steps = await plan_order(call, orders)
    results = await carry_out(call, steps, title=f"topic order-conf {first_of_names([*queues])}")
    entries: dict[str, list[StepResult[str]]] = {}
    for result in results:
        entries.setdefault(result.step.target.names[-1], []).append(result)
    return [
        _with_order(row, updates[row.topic], entries[row.topic])
        if row.topic in entries and _is_well(row)
        else row
        for row in rows
    ]


def _is_well(row: TopicChange) -> bool:
    return row.result in (CHANGED, UNCHANGED, WOULD_CHANGE)


def _with_order(
    row: TopicChange, asked: TopicUpdate, entries: Sequence[StepResult[str]]
) -> TopicChange:
    """Return a row that includes the result of its topic's entries at the name servers."""
    bad = next((entry for entry in entries if entry.result in (REFUSED, UNREACHABLE)), None)
    if bad is not None:
        return replace(row, result=bad.result, remark=f"order: {bad.remark}")
    changed = next((entry for entry in entries if entry.result in (CHANGED, WOULD_CHANGE)), None)
    if changed is not None:
        was = row.was | {"order_conf": changed.step.old}
        return replace(row, result=changed.result, order=asked.order, was=was)
    return replace(row, order=asked.order)


async def _wait_for_route(admin: "TopicCalls", topic: str) -> None:
    """Wait until the name server knows the topic: the next command may use it."""
    for _ in range(int(ROUTE_WAIT_S / ROUTE_STEP_S)):
        try:
            await admin.topic_route(topic)
        except NoRoute:
            await asyncio.sleep(ROUTE_STEP_S)
        else:
            return


def _row(update: TopicUpdate, step_result: StepResult[TopicConfig]) -> TopicChange:
    config = step_result.value
    # If a change was refused, `was` shows what it would have changed.
    return TopicChange.of(
        step_result,
        topic=update.topic,
        read_queues=config.read_queue_nums if config else None,
        write_queues=config.write_queue_nums if config else None,
        perm=perm_text(config.perm) if config else None,
        order=config.order if config else None,
        sys_flag=config.topic_sys_flag if config else None,
        message_type=config.message_type if config else None,
        other_attributes=config.other_attributes if config else None,
        was=changed_settings(step_result.step.old, update.apply_to(step_result.step.old), SETTINGS),
    )


def _with_bits(flag: int, bits: dict[int, bool | None]) -> int:
    """Return the flag with each bit set, cleared, or (None) unchanged."""
    for bit, is_set in bits.items():
        if is_set is not None:
            flag = flag | bit if is_set else flag & ~bit
    return flag


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
