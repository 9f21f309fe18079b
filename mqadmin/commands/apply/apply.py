"""``apply``: bring a cluster to what a YAML document says.

    document + brokers --> steps of mqadmin.writes: read, ask, keep, write, read back

Rule: what the document does not name stays, unless ``--prune`` removes it, and that asks.

Rule: that a topic is ordered is told to the name servers, where brokers learn it.

Requests: see ``mqadmin.declaredfrom``; UPDATE_AND_CREATE_TOPIC, PUT_KV_CONFIG, DELETE_KV_CONFIG,
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP; with --prune DELETE_TOPIC_IN_BROKER, DELETE_TOPIC_IN_NAMESRV
and DELETE_SUBSCRIPTIONGROUP.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from mqadmin.call import Call
from mqadmin.declared import ACCOUNTS, GROUPS, SECRET, TOPICS, Settings, State, expand
from mqadmin.declared import Kind as Section
from mqadmin.declaredfrom import of_cluster, of_file
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import Place, masters, namesrvs
from mqadmin.registry import command
from mqadmin.rows import Outcome, Row, exit_code_of
from mqadmin.things.account import AccountThing
from mqadmin.things.base import Thing
from mqadmin.things.group import GroupThing
from mqadmin.things.route import RouteThing
from mqadmin.things.setting import KvEntry
from mqadmin.things.topic import TopicThing
from mqadmin.topicorder import OrderWish, plan_order
from mqadmin.writes import Step, carry_out, plan, plan_each
from storefmt.config.tables import TopicConfig

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

T = TypeVar("T")
ORDER: Final = "order"
"""The kind of a row about a topic's entry at a name server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which document, and whether the rest goes."""

    file: Annotated[str, argument("YAML of `export`; '-' reads standard input", kind=Kind.FILE)]
    prune: Annotated[bool, option("delete topics and groups that it does not name")] = False
    cluster: Annotated[
        str | None, option("on this cluster, where there are several", kind=Kind.CLUSTER)
    ] = None


@dataclass(frozen=True, slots=True)
class AppliedRow(Row):
    """One thing on one server; ``was`` and ``now`` are its settings, None where it is not there."""

    kind: str
    name: str
    server: str
    was: dict[str, object] | None
    now: dict[str, object] | None
    result: str
    remark: str | None


@command(
    "apply",
    "bring topics, groups and accounts to what a YAML document says",
    examples=(
        ("mqadmin apply cluster.yaml --dry-run", "what would change"),
        ("mqadmin apply cluster.yaml", "create and change, delete nothing"),
        ("mqadmin apply cluster.yaml --prune", "delete the rest too, after a question"),
    ),
    details="Topics and groups that brokers make themselves are never pruned. `undo` puts\n"
    "settings back, but no messages.",
    rows=AppliedRow,
    columns=("kind", "name", "server", "result", "remark"),
    writes=True,
)
async def apply(call: Call, args: Arguments) -> Outcome:
    """Return one row a thing and server that the document is about.

    Raises:
        Usage: the file is no document.
        NotFound: it names a broker that there is not, or there is no such cluster.
    """
    document = of_file(call, args.file)
    admin = await call.admin()
    places = {place.broker: place for place in await masters(admin, cluster=args.cluster)}
    wanted = expand(document, places)
    _check_brokers(wanted, places)
    steps = await _wanted_steps(call, wanted, places)
    question = None
    if args.prune:
        having = await of_cluster(admin, list(places.values()))
        rest = await _prune_steps(call, admin, having, wanted=wanted, places=places)
        writes = [step for step in rest if step.is_write]
        if writes:
            names = sorted({step.thing.names[0] for step in writes})
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            question = f"delete {len(names)} that {args.file} does not name ({shown})?"
        steps += rest
    done = await carry_out(call, steps, title=f"apply {args.file}", question=question)
    rows = [
        AppliedRow(
            ORDER if isinstance(one.step.thing, KvEntry) else one.step.thing.kind,
            one.step.thing.names[-1],
            one.step.thing.place.broker,
            _shown(one.step.old),
            _shown(one.value),
            one.result,
            one.remark,
        )
        for one in done
    ]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


def _check_brokers(wanted: State, places: Mapping[str, Place]) -> None:
    for section, things in wanted.sections.items():
        for name, held in things.items():
            for broker in held:
                if broker not in places:
                    known = ", ".join(sorted(places))
                    raise NotFound(
                        f"{section}: {name}: no broker {broker}", hint=f"there are {known}"
                    )


async def _wanted_steps(
    call: Call, wanted: State, places: Mapping[str, Place]
) -> list[Step[object]]:
    """Return a step for everything that the document names."""
    admin = await call.admin()
    topics = await plan_each(
        [
            _wish(TopicThing(admin, places[broker], (name,)), TOPICS, settings)
            for name, broker, settings in _each(wanted, TOPICS.name)
        ]
    )
    order = await plan_order(call, _order_wishes(wanted, topics))
    groups = await plan_each(
        [
            _wish(GroupThing(admin, places[broker], (name,)), GROUPS, settings)
            for name, broker, settings in _each(wanted, GROUPS.name)
        ]
    )
    accounts = await plan_each(
        [
            _wish(
                AccountThing(admin, places[broker], (name,), secret=_secret(settings)),
                ACCOUNTS,
                settings,
            )
            for name, broker, settings in _each(wanted, ACCOUNTS.name)
        ]
    )
    return [
        *(step.untyped() for step in topics),
        *(step.untyped() for step in order),
        *(step.untyped() for step in groups),
        *(step.untyped() for step in accounts),
    ]


def _wish(
    thing: Thing[T], kind: Section[T], settings: Settings
) -> tuple[Thing[T], Callable[[T | None], T]]:
    return thing, lambda old: kind.over(old, thing.names[0], settings)


def _order_wishes(wanted: State, topics: Sequence[Step[TopicConfig]]) -> list[OrderWish]:
    """Return the entries at the name servers of topics whose order the document names.

    A broker that an entry has keeps its number there, which a person may have set, as long as
    the topic's own number stays.
    """
    wishes: dict[str, OrderWish] = {}
    for step in topics:
        name, broker = step.thing.names[0], step.thing.place.broker
        is_ordered = wanted.of(TOPICS.name)[name][broker].get("order")
        if is_ordered is None or step.verdict or step.new is None:
            continue
        wish = wishes.setdefault(name, OrderWish(name))
        count = step.new.write_queue_nums
        if not is_ordered:
            wish.remove.add(broker)
        elif step.old is not None and step.old.write_queue_nums == count:
            wish.join[broker] = count
        else:
            wish.add[broker] = count
    return [*wishes.values()]


def _secret(settings: Settings) -> str | None:
    secret = settings.get(SECRET)
    return str(secret) if secret is not None else None


def _each(state: State, section: str) -> Iterator[tuple[str, str, Settings]]:
    for name, held in sorted(state.sections.get(section, {}).items()):
        for broker, settings in held.items():
            yield name, broker, settings


def _beyond(having: State, wanted: State) -> State:
    """Return what a cluster has and a document does not name.

    A section that the document leaves out is left alone.
    """
    made = State()
    for section, named in wanted.sections.items():
        for name, broker, settings in _each(having, section):
            if broker not in named.get(name, {}):
                made.of(section).setdefault(name, {})[broker] = settings
    return made


async def _prune_steps(
    call: Call, admin: "Admin", having: State, *, wanted: State, places: Mapping[str, Place]
) -> list[Step[object]]:
    """Return the deletions: from the brokers first, which would register a topic again."""
    beyond = _beyond(having, wanted)
    topics = [(name, broker) for name, broker, _ in _each(beyond, TOPICS.name)]
    named = wanted.sections.get(TOPICS.name, {})
    on_brokers = await plan(
        [TopicThing(admin, places[broker], (name,)) for name, broker in topics], _gone
    )
    routes = await plan(
        [
            RouteThing(admin, place, (name,))
            for name in sorted({name for name, _ in topics} - set(named))
            for place in await namesrvs(call)
        ],
        _gone,
    )
    groups = await plan(
        [
            GroupThing(admin, places[broker], (name,))
            for name, broker, _ in _each(beyond, GROUPS.name)
        ],
        _gone,
    )
    accounts = await plan(
        [
            AccountThing(admin, places[broker], (name,))
            for name, broker, _ in _each(beyond, ACCOUNTS.name)
        ],
        _gone,
    )
    return [
        *(step.untyped() for step in on_brokers),
        *(step.untyped() for step in routes),
        *(step.untyped() for step in groups),
        *(step.untyped() for step in accounts),
    ]


def _gone(_: object) -> None:
    return None


def _shown(value: object) -> dict[str, object] | None:
    """Return the settings of a thing for the row; a route has none.

    A broker's own word on order is left out: there is a row for what the name servers say.
    """
    if isinstance(value, str):
        return {"order_conf": value}
    if isinstance(value, TopicConfig):
        return {key: one for key, one in TOPICS.describe(value).items() if key != "order"}
    for kind in (GROUPS, ACCOUNTS):
        if type(value) is type(kind.fresh("x")):
            return dict(kind.describe(value))  # type: ignore[arg-type]
    return None
