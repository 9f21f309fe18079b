"""``apply``: change a cluster to match a YAML document.

    document + brokers --> steps of mqadmin.changes.write: read, ask, keep, write, read back

Rule: what the document does not name stays, unless ``--prune`` removes it after a confirmation.

Rule: the order of a topic is set at the name servers, from which brokers learn it.

Requests: see ``mqadmin.manifest.sources``; UPDATE_AND_CREATE_TOPIC, PUT_KV_CONFIG,
DELETE_KV_CONFIG, UPDATE_AND_CREATE_SUBSCRIPTIONGROUP; with --prune DELETE_TOPIC_IN_BROKER,
DELETE_TOPIC_IN_NAMESRV and DELETE_SUBSCRIPTIONGROUP.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import click

from mqadmin.changes.targets.account import AccountTarget
from mqadmin.changes.targets.base import ChangeTarget
from mqadmin.changes.targets.group import GroupTarget
from mqadmin.changes.targets.setting import KvEntry
from mqadmin.changes.targets.topic import RouteTarget, TopicTarget
from mqadmin.changes.topic_change import force_option
from mqadmin.changes.topic_order import OrderUpdate, plan_order
from mqadmin.changes.unread_queues import guard_unread
from mqadmin.changes.write import (
    ChangeStep,
    Choose,
    as_object_steps,
    carry_out,
    delete,
    plan,
    plan_each,
)
from mqadmin.cli.declare import Call, Outcome, Row, argument, command, exit_code_of
from mqadmin.cli.decorators import Where, broker_map
from mqadmin.cli.types import CLUSTER, FILE, TextType
from mqadmin.cluster.brokers import ServerNode, masters, namesrvs
from mqadmin.errors import ItemNotFound
from mqadmin.manifest.declared import (
    ACCOUNTS,
    GROUPS,
    SECRET,
    SECTIONS,
    TOPICS,
    Manifest,
    Section,
    Settings,
    expand,
    with_brokers,
)
from mqadmin.manifest.sources import of_cluster, of_file
from mqadmin.output.rows import UNCHANGED
from storefmt.config.tables import TopicConfig

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


T = TypeVar("T")
ORDER: Final = "order"
"""The kind of a row about a topic's entry at a name server."""


def _section_names(text: str) -> tuple[str, ...]:
    """Read the names of sections.

    Raises:
        ValueError: the section does not exist.
    """
    existing = [section.name for section in SECTIONS]
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in existing:
            raise ValueError(f"no section {name!r}: one of {', '.join(existing)}")
    return names


@dataclass(frozen=True, slots=True)
class AppliedRow(Row):
    """One item on one server; ``was`` and ``now`` are its settings, None if it does not exist.

    ``changes`` are the settings that differ, as ``perm: R-- → RW-``.
    """

    kind: str
    name: str
    server: str
    was: dict[str, object] | None
    now: dict[str, object] | None
    changes: tuple[str, ...]
    result: str
    remark: str | None


@command(
    "apply",
    examples=(
        ("mqadmin apply cluster.yaml --dry-run", "what would change"),
        ("mqadmin apply cluster.yaml", "create and change, delete nothing"),
        ("mqadmin apply cluster.yaml --prune", "also delete the rest, after a question"),
        ("mqadmin apply old.yaml --map broker-a=broker-5", "for a broker with another name"),
        ("mqadmin apply cluster.yaml --only topics,groups", "everything except the accounts"),
    ),
    details="Topics and groups that brokers create themselves are never pruned. `undo` restores "
    "settings but not messages.",
    rows=AppliedRow,
    columns=("kind", "name", "server", "changes", "result", "remark"),
    writes=True,
)
@argument("file", type=FILE, help="YAML file that `export` wrote; - reads standard input")
@click.option("--prune", is_flag=True, help="delete topics and groups that the file does not name")
@click.option("--cluster", type=CLUSTER, help="the cluster, if there are several")
@force_option
@broker_map("apply settings of broker OLD in the file to broker NEW")
@click.option(
    "--only",
    type=TextType(read=_section_names, metavar="SECTION,..."),
    help="only these sections of the file, as topics,groups",
)
async def apply(
    call: Call,
    *,
    file: str,
    prune: bool,
    cluster: str | None,
    force: bool,
    brokers: tuple[tuple[str, str], ...],
    only: tuple[str, ...] | None,
) -> Outcome:
    """Return one row for each target and server that the document is about.

    Raises:
        Usage: the file is not a document.
        ItemNotFound: it names an unknown broker, or the cluster does not exist.
    """
    document = with_brokers(of_file(call, file), dict(brokers))
    if only is not None:
        document = {name: entries for name, entries in document.items() if name in only}
    admin = await call.admin()
    nodes = {node.broker: node for node in await masters(admin, Where(cluster=cluster))}
    desired = expand(document, nodes)
    _check_brokers(desired, nodes)
    steps, lost = await _wanted_steps(call, desired, nodes, force=force)
    question = None
    if prune:
        having = await of_cluster(admin, list(nodes.values()))
        rest = await _prune_steps(call, admin, having, desired=desired, nodes=nodes)
        writes = [step for step in rest if step.is_write]
        if writes:
            names = sorted({step.target.names[0] for step in writes})
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            question = f"delete {len(names)} that {file} does not name ({shown})?"
        steps += rest
    results = await carry_out(call, steps, title=f"apply {file}", question=question)
    rows = [
        AppliedRow.of(
            result,
            kind=ORDER if isinstance(result.target, KvEntry) else result.kind,
            name=result.target.names[-1],
            server=result.broker,
            was=_shown(result.step.old),
            now=_shown(result.value),
            changes=_changes(_shown(result.step.old), _shown(result.step.new))
            if result.step.is_write
            else (),
        )
        for result in results
    ]
    exit_code = exit_code_of(row.result for row in rows)
    # A table only shows what would change; every other format is complete.
    if call.dry_run and (call.settings.output or call.workplace.output or "table") == "table":
        changing = [row for row in rows if row.result != UNCHANGED]
        same = len(rows) - len(changing)
        return Outcome(
            changing, exit_code=exit_code, notes=(*lost, *([f"{same} unchanged"] if same else []))
        )
    return Outcome(rows, exit_code=exit_code, notes=lost)


def _check_brokers(desired: Manifest, nodes: Mapping[str, ServerNode]) -> None:
    for section, entries in desired.items():
        for name, by_broker in entries.items():
            for broker in by_broker:
                if broker not in nodes:
                    names = ", ".join(sorted(nodes))
                    raise ItemNotFound(
                        f"{section}: {name}: no broker {broker}", hint=f"there are {names}"
                    )


async def _wanted_steps(
    call: Call, desired: Manifest, nodes: Mapping[str, ServerNode], *, force: bool
) -> tuple[list[ChangeStep[object]], tuple[str, ...]]:
    """Return a step for everything that the document names, and what is left unread by force."""
    admin = await call.admin()
    topics, others = await _steps_of(admin, desired, nodes)
    topics, lost = await guard_unread(admin, topics, force=force)
    order = await plan_order(call, _order_updates(desired, topics))
    return [*as_object_steps(topics), *as_object_steps(order), *others], lost


async def _steps_of(
    admin: "Admin", manifest: Manifest, nodes: Mapping[str, ServerNode], *, gone: bool = False
) -> tuple[list[ChangeStep[TopicConfig]], list[ChangeStep[object]]]:
    """Return the steps for the topics of a manifest, and those for its groups and accounts.

    Args:
        gone: delete what the manifest names, instead of setting it.
    """

    async def steps(
        section: Section[T], target: Callable[[ServerNode, str, Settings], ChangeTarget[T]]
    ) -> list[ChangeStep[T]]:
        pairs: list[tuple[ChangeTarget[T], Choose[T]]] = []
        for name, broker, settings in _each(manifest, section.name):
            apply_to = partial(section.apply_to, name=name, settings=settings)
            pairs.append((target(nodes[broker], name, settings), delete if gone else apply_to))
        return await plan_each(pairs)

    topics = await steps(TOPICS, lambda node, name, _: TopicTarget(admin, node, (name,)))
    groups = await steps(GROUPS, lambda node, name, _: GroupTarget(admin, node, (name,)))
    accounts = await steps(
        ACCOUNTS,
        lambda node, name, settings: AccountTarget(admin, node, (name,), _secret(settings)),
    )
    return topics, [*as_object_steps(groups), *as_object_steps(accounts)]


def _order_updates(
    desired: Manifest, topics: Sequence[ChangeStep[TopicConfig]]
) -> list[OrderUpdate]:
    """Return the entries at the name servers of topics whose order the document names.

    A broker in an entry keeps its number there, which a person may have set, as long as the number
    of the topic's queues does not change.
    """
    updates: dict[str, OrderUpdate] = {}
    for step in topics:
        name, broker = step.target.names[0], step.target.node.broker
        is_ordered = desired[TOPICS.name][name][broker].get("order")
        if is_ordered is None or step.verdict or step.new is None:
            continue
        update = updates.setdefault(name, OrderUpdate(name))
        count = step.new.write_queue_nums
        if not is_ordered:
            update.remove.add(broker)
        elif step.old is not None and step.old.write_queue_nums == count:
            update.join[broker] = count
        else:
            update.add[broker] = count
    return [*updates.values()]


def _secret(settings: Settings) -> str | None:
    secret = settings.get(SECRET)
    return str(secret) if secret is not None else None


def _each(manifest: Manifest, section: str) -> Iterator[tuple[str, str, Settings]]:
    for name, by_broker in sorted(manifest.get(section, {}).items()):
        for broker, settings in by_broker.items():
            yield name, broker, settings


def _beyond(having: Manifest, desired: Manifest) -> Manifest:
    """Return what a cluster has and a document does not name.

    A section that the document leaves out is left alone.
    """
    made: Manifest = {}
    for section, named in desired.items():
        for name, broker, settings in _each(having, section):
            if broker not in named.get(name, {}):
                made.setdefault(section, {}).setdefault(name, {})[broker] = settings
    return made


async def _prune_steps(
    call: Call,
    admin: "Admin",
    having: Manifest,
    *,
    desired: Manifest,
    nodes: Mapping[str, ServerNode],
) -> list[ChangeStep[object]]:
    """Return the deletions, first on brokers, because these would register a topic again."""
    topics, others = await _steps_of(admin, _beyond(having, desired), nodes, gone=True)
    names = {step.target.names[0] for step in topics} - set(desired.get(TOPICS.name, {}))
    routes = await plan(
        [
            RouteTarget(admin, node, (name,))
            for name in sorted(names)
            for node in await namesrvs(call)
        ],
        delete,
    )
    return [*as_object_steps(topics), *as_object_steps(routes), *others]


def _changes(was: Mapping[str, object] | None, now: Mapping[str, object] | None) -> tuple[str, ...]:
    """Return the settings that differ with both values; one word for a creation or removal."""
    if was is None or now is None:
        return ("new",) if was is None else ("deleted",)
    return tuple(
        f"{name}: {was.get(name, 'nothing')} → {now.get(name, 'nothing')}"
        for name in dict.fromkeys((*was, *now))
        if was.get(name) != now.get(name)
    )


def _shown(value: object) -> dict[str, object] | None:
    """Return the settings of a target for the row; a route has no settings.

    The broker's setting of order is omitted, because the name servers have a row of their own.
    """
    if isinstance(value, str):
        return {"order_conf": value}
    if isinstance(value, TopicConfig):
        return {key: setting for key, setting in TOPICS.describe(value).items() if key != "order"}
    for section in (GROUPS, ACCOUNTS):
        if type(value) is type(section.fresh("x")):
            return dict(section.describe(value))  # type: ignore[arg-type]
    return None
