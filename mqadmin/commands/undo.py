"""``undo``: put back what a destructive write changed, from the journal on this machine.

Requests: for each target that was kept, those that read it, write it and read it back.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from mqadmin.changes.online_move import WITHIN_MS_DEFAULT
from mqadmin.changes.online_undo import SavedOffset, online_groups, undo_online
from mqadmin.changes.targets.account import AccountTarget, WhiteList
from mqadmin.changes.targets.base import ChangeTarget
from mqadmin.changes.targets.consume_mode import ConsumeModeTarget
from mqadmin.changes.targets.group import GroupTarget
from mqadmin.changes.targets.offset import OffsetTarget
from mqadmin.changes.targets.setting import (
    BrokerSettingTarget,
    ControllerSettingTarget,
    KvEntry,
    NamesrvSettingTarget,
)
from mqadmin.changes.targets.storage import ColdDataLimit, ReadAhead, TimerEngine
from mqadmin.changes.targets.topic import TopicTarget
from mqadmin.changes.targets.user import RulesTarget, UserTarget
from mqadmin.changes.targets.writeperm import WritePerm
from mqadmin.changes.write import ChangeStep, StepResult, carry_out, first_of_names, plan
from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import INTEGER
from mqadmin.cluster.brokers import ServerNode
from mqadmin.errors import CommandError, Usage
from mqadmin.session.contexts import ContextFile
from mqadmin.session.journal import Journal, JournalEntry, SavedState

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


KINDS: Final[dict[str, type[ChangeTarget[object]]]] = {
    kind.kind: kind  # type: ignore[misc]
    for kind in (
        TopicTarget,
        GroupTarget,
        ConsumeModeTarget,
        OffsetTarget,
        BrokerSettingTarget,
        NamesrvSettingTarget,
        ControllerSettingTarget,
        KvEntry,
        WritePerm,
        AccountTarget,
        WhiteList,
        UserTarget,
        RulesTarget,
        ColdDataLimit,
        ReadAhead,
        TimerEngine,
    )
}
"""Which class reads and writes a kind that was kept."""
RECENT_MS: Final = 60_000
SETTLE_MS: Final = 22_000
"""Members of Java wait 10 s for each of the two resets, one after the other."""
KEPT, UNDONE, PUT_BACK = "kept", "undone", "an undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRow(Row):
    """One thing that was put back; with ``--list`` one entry, and how many things it has."""

    id: int
    at_ms: EpochMs
    command: str
    namesrv: str
    things: int
    kind: str
    broker: str | None = None
    name: str | None = None
    result: str
    remark: str | None = None


@command(
    "undo",
    examples=(
        ("mqadmin undo --list", "changes made from this machine"),
        ("mqadmin undo 12 --dry-run", "what undoing entry 12 would change"),
        ("mqadmin undo -y", "undo the newest change"),
    ),
    details="Settings, offsets and accounts are restored; messages of a deleted topic are not. "
    "Members that are online can only be sent back to a time, so they go to one before the "
    "offset; the rows say how many messages they read again, or that they did not move. The "
    "journal is in $XDG_STATE_HOME/mqadmin (~/.local/state/mqadmin), and only its user can read "
    "it. An undo has a journal entry as well, so it can be undone by its number.",
    rows=UndoRow,
    columns=("id", "at_time", "command", "things", "kind", "broker", "name", "result", "remark"),
    writes=True,
)
@argument(
    "entry_id",
    metavar="ID",
    type=INTEGER,
    required=False,
    help="number of the journal entry; the newest if left out",
)
@click.option("--list", "list_", is_flag=True, help="only show the journal")
@click.option(
    "--within",
    type=DURATION,
    help="how long to wait for online members to move back",
)
async def undo(call: Call, *, entry_id: int | None, list_: bool, within: int | None) -> Outcome:
    """Return one row for each target that was put back.

    Raises:
        ItemNotFound: the entry does not exist, or no entry is left to undo.
        Usage: the entry is of other name servers, or of a protected context.
    """
    journal = Journal.of(call.console.env)
    if list_:
        return Outcome([_listed(entry) for entry in journal.entries()])
    entry = journal.latest() if entry_id is None else journal.entry(entry_id)
    there = _aimed(call, entry)
    admin = await there.admin()
    targets = [(_target_of(admin, saved), saved) for saved in entry.saved]
    online = await online_groups(
        admin,
        [
            SavedOffset(target, saved.before)
            for target, saved in targets
            if isinstance(target, OffsetTarget) and isinstance(saved.before, int)
        ],
    )
    live = [one for those in online.values() for one in those]
    steps: list[ChangeStep[object]] = []
    for target, saved in targets:
        if any(target == one.target for one in live):
            continue
        before = None if saved.before is None else target.decode(saved.before)
        steps += await plan([target], lambda _, before=before: before)  # type: ignore[misc]
    question = f"restore the state before `{entry.command}` ({len(targets)} items)"
    if online:
        names = ", ".join(sorted({group for group, _ in online}))
        question += f", and send the members of group {names} back"
    if online or any(step.is_write for step in steps):
        await there.confirm(f"{question}?")
    results = await carry_out(
        there, steps, title=f"undo {entry.id}: {entry.command}", undoes=entry.id
    )
    rows = [_row(entry, each.target, each.result, each.remark) for each in results]
    for (group, topic), those in online.items():
        recent = call.now_ms() - entry.at_ms < RECENT_MS
        rows += [
            _row(entry, one.target, one.result, one.remark)
            for one in await undo_online(
                there,
                group,
                topic,
                those,
                undoes=entry,
                within_ms=WITHIN_MS_DEFAULT if within is None else within,
                settle_ms=(SETTLE_MS if within is None else 0) if recent else 0,
            )
        ]
    exit_code = exit_code_of(row.result for row in rows)
    if exit_code == 0 and not call.dry_run:
        journal.mark_undone(entry, at_ms=call.now_ms())
    made = recreated_topics(results)
    notes = (f"the messages of {first_of_names(made)} are not restored",) if made else ()
    return Outcome(rows, exit_code=exit_code, notes=notes)


def _row(
    entry: JournalEntry, target: ChangeTarget[Any], result: str, remark: str | None
) -> UndoRow:
    return replace(
        _listed(entry),
        things=1,
        kind=target.kind,
        broker=target.node.broker,
        name=" ".join(target.names),
        result=result,
        remark=remark,
    )


def recreated_topics(results: Iterable[StepResult[object]]) -> list[str]:
    """Return the topics that did not exist, each once, on however many brokers they are created."""
    return sorted(
        {
            result.target.names[0]
            for result in results
            if isinstance(result.target, TopicTarget)
            and result.step.old is None
            and result.step.is_write
        }
    )


def _aimed(call: Call, entry: JournalEntry) -> Call:
    """Return the call at the entry's own servers; the line may name them, but no others."""
    if not entry.namesrv:
        # The broker was named by its address, which the entry has.
        return replace(call, has_address=True)
    if call.settings.namesrv or call.settings.context:
        named = call.target().namesrv
        if named != entry.namesrv:
            raise Usage(
                f"entry {entry.id} belongs to {entry.namesrv}, not to {named}",
                hint="omit -n and --context",
            )
        return call
    contexts = ContextFile.of(call.console.env).load().contexts.values()
    context = next((each for each in contexts if each.namesrv == entry.namesrv), None)
    if context is not None and context.protected and not call.dry_run:
        raise Usage(
            f"context {context.name} is protected", hint=f"name it: --context {context.name}"
        )
    settings = call.settings
    if context is not None:
        return replace(call, settings=replace(settings, context=context.name))
    return replace(call, settings=replace(settings, namesrv=entry.namesrv))


def _listed(entry: JournalEntry) -> UndoRow:
    if entry.undoes is not None:
        result = PUT_BACK
    else:
        result = KEPT if entry.undone_ms is None else UNDONE
    return UndoRow.of(
        entry,
        things=len(entry.saved),
        kind=", ".join(sorted({saved.kind for saved in entry.saved})),
        result=result,
    )


def _target_of(admin: "Admin", saved: SavedState) -> ChangeTarget[object]:
    """Return the target that was kept.

    Raises:
        CommandError: a newer version of this program kept it.
    """
    kind = KINDS.get(saved.kind)
    if kind is None:
        raise CommandError(
            f"this version cannot undo {saved.kind!r} entries of the journal",
            hint="it supports " + ", ".join(sorted(KINDS)),
        )
    node = ServerNode(saved.cluster, saved.broker, saved.broker_id, saved.address)
    return kind(admin, node, saved.names)
