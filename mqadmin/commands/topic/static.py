"""``topic static …``: topics whose logical queues keep their number on any broker (RocketMQ 5).

    show     GET_BROKER_CLUSTER_INFO, GET_TOPIC_CONFIG of each master
    plan     the same
    grow     the same, then UPDATE_AND_CREATE_STATIC_TOPIC on each master, and the first again
    remap    the same, with GET_TOPIC_STATS_INFO of the brokers that give queues away

A remap writes in five steps, as Java's tool does: the new leaders can be written to, the old ones
cannot any more, the offsets at which the new parts begin are decided, the new leaders get them, and
the other brokers hear of the mapping.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mqadmin.changes.write import result_of
from mqadmin.cli.declare import Call, Outcome, Row, command, exit_code_of
from mqadmin.cli.decorators import Where, combine, topic_argument
from mqadmin.cli.types import BROKER, CLUSTER, DIR_PATH, Integer, split_at_commas
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.static_topics import (
    BLOCK,
    UNDECIDED,
    Configs,
    MappingPlan,
    complete,
    detail_of,
    logical_end,
    plan_growth,
    plan_remap,
    queues_of,
    round_up,
)
from mqadmin.errors import ItemNotFound, ServerRefused, Usage
from mqadmin.output.rows import CHANGED, REFUSED, UNCHANGED, WOULD_CHANGE
from mqclient.errors import ClientError
from remoting.bodies import LogicQueueMappingItem, MessageQueue, TopicRemappingDetailWrapper

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

SENT: Final = (CHANGED, UNCHANGED, WOULD_CHANGE)


@dataclass(frozen=True, slots=True)
class LogicalQueuePart(Row):
    """A part of a logical queue; offsets in entries. ``logic_offset`` is None until decided."""

    identity = "logic_queue"

    topic: str
    logic_queue: int
    generation: int
    broker: str
    queue_id: int
    logic_offset: int | None
    is_leader: bool
    epoch: int


@dataclass(frozen=True, slots=True)
class StaticTopicChange(LogicalQueuePart):
    """A part after the call; ``files`` are those that have the mapping before and after."""

    result: str
    remark: str | None
    files: tuple[str, ...]


COLUMNS: Final = ("logic_queue", "generation", "broker", "queue_id", "logic_offset", "is_leader")


def _rows(topic: str, configs: Configs) -> Iterator[LogicalQueuePart]:
    for queue_id, parts in queues_of(configs).items():
        for part in parts:
            yield LogicalQueuePart(
                topic,
                queue_id,
                part.gen,
                part.bname,
                part.queue_id,
                None if part.logic_offset == UNDECIDED else part.logic_offset,
                part is parts[-1],
                detail_of(configs[parts[-1].bname]).epoch,
            )


def _picture(configs: Configs) -> tuple[str, ...]:
    """Draw each logical queue as its parts, from the oldest to the one that is written to."""
    lines = []
    for queue_id, parts in queues_of(configs).items():
        ends = [*(_offset(part) for part in parts[1:]), "..."]
        drawn = [
            f"{part.bname}:{part.queue_id} [{_offset(part)}, {end})"
            for part, end in zip(parts, ends, strict=True)
        ]
        lines.append(f"logical queue {queue_id:<4} " + "  ->  ".join(drawn))
    return ("", *lines)


def _offset(part: LogicQueueMappingItem) -> str:
    return "?" if part.logic_offset == UNDECIDED else str(part.logic_offset)


async def _configs(admin: "Admin", topic: str, nodes: Iterable[ServerNode]) -> Configs:
    """Return what each master has of a topic; one that does not know it is left out."""
    known = [(node, await admin.topic_mapping(node.address, topic)) for node in nodes]
    return {node.broker: config for node, config in known if config is not None}


@command(
    "topic static show",
    examples=(("mqadmin topic static show orders", "which broker has which part of a queue"),),
    details="A logical queue goes on in another broker where it was remapped. Its parts are read "
    "one after the other, and the last one is written to.",
    rows=LogicalQueuePart,
    columns=COLUMNS,
)
@topic_argument()
async def show_static(call: Call, *, topic: str) -> Outcome:
    """Return one row for each part of each logical queue.

    Raises:
        ItemNotFound: no broker has the topic.
        ServerRefused: the topic is not static, or the brokers contradict each other.
    """
    admin = await call.admin()
    configs = await _configs(admin, topic, await masters(admin, every=True))
    if not configs:
        raise ItemNotFound(f"no broker has topic {topic}", hint="`topic list` shows them")
    return Outcome(list(_rows(topic, configs)), picture=_picture(configs))


targets_options = combine(
    click.option(
        *("--broker", "-b", "brokers"),
        multiple=True,
        type=BROKER,
        help="on the master of this name",
    ),
    click.option(
        *("--cluster", "clusters"), multiple=True, type=CLUSTER, help="on the masters of a cluster"
    ),
)
save_option = click.option(
    "--save",
    type=DIR_PATH,
    metavar="DIR",
    help="write the mapping before and after to files here, as Java's tool does",
)
queues_option = click.option("--queues", type=Integer(min=1), help="logical queues, afterwards")


@command(
    "topic static plan",
    examples=(
        ("mqadmin topic static plan orders --queues 8 --cluster DefaultCluster", "if it grew"),
        ("mqadmin topic static plan orders --broker broker-a --broker broker-b", "if remapped"),
    ),
    details="With --queues the plan is that of `topic static grow`, without it that of `topic "
    "static remap`.",
    rows=LogicalQueuePart,
    columns=COLUMNS,
)
@topic_argument()
@queues_option
@targets_options
async def plan_static(
    call: Call,
    *,
    topic: str,
    queues: int | None,
    brokers: tuple[str, ...],
    clusters: tuple[str, ...],
) -> Outcome:
    """Return one row for each part of each logical queue as it would be.

    Raises:
        ItemNotFound: there is no such broker or cluster, or no such topic to remap.
        Usage: the topic has as many queues or more.
    """
    work = await StaticTopicWork.of(call, topic, brokers, clusters)
    plan = work.growth(queues) if queues is not None else work.remap()
    return Outcome(list(_rows(topic, plan.configs)), picture=_picture(plan.configs))


@dataclass(frozen=True, slots=True)
class StaticTopicWork:
    """A change of one static topic.

    Attributes:
        nodes: every master of the clusters, by name.
        targets: names of those that may have logical queues.
        old: what there is.
    """

    call: Call
    admin: "Admin"
    topic: str
    nodes: dict[str, ServerNode]
    targets: list[str]
    old: Configs

    @classmethod
    async def of(
        cls, call: Call, topic: str, brokers: tuple[str, ...], clusters: tuple[str, ...]
    ) -> "StaticTopicWork":
        """Read what there is.

        Raises:
            ItemNotFound: a broker or cluster does not exist, or a broker has no master.
        """
        admin = await call.admin()
        nodes = {node.broker: node for node in await masters(admin, every=True)}
        targets: list[str] = []
        for name in split_at_commas(brokers):
            targets += [node.broker for node in await masters(admin, Where(broker=name))]
        for cluster in split_at_commas(clusters):
            targets += [node.broker for node in await masters(admin, Where(cluster=cluster))]
        if not targets:
            targets = [node.broker for node in await masters(admin)]
        strangers = sorted({*targets} - nodes.keys())
        if strangers:
            raise ItemNotFound(
                f"no master is registered of broker {', '.join(strangers)}",
                hint="`broker list` shows the masters",
            )
        old = await _configs(admin, topic, nodes.values())
        return cls(call, admin, topic, nodes, sorted(set(targets)), old)

    def growth(self, queue_count: int) -> MappingPlan:
        """Return the plan for more logical queues."""
        plan = plan_growth(
            self.topic,
            self.old,
            queue_count=queue_count,
            brokers=self.targets,
            now_ms=self.call.now_ms(),
        )
        return self._completed(plan)

    def remap(self) -> MappingPlan:
        """Return the plan for other brokers; raises ItemNotFound where there is no topic."""
        if not self.old:
            raise ItemNotFound(
                f"no broker has topic {self.topic}", hint="`topic static grow` makes one"
            )
        plan = plan_remap(self.topic, self.old, brokers=self.targets, now_ms=self.call.now_ms())
        return self._completed(plan)

    def _completed(self, plan: MappingPlan) -> MappingPlan:
        clusters = {self.nodes[name].cluster for name in plan.configs}
        names = [name for name, node in self.nodes.items() if node.cluster in clusters]
        complete(plan, self.topic, names)
        return plan

    def save(self, directory: Path | None, plan: MappingPlan, kind: str) -> tuple[str, ...]:
        """Write what there is and the plan as files of Java's tool; return their names."""
        if directory is None or self.call.dry_run:
            return ()
        files = []
        for configs, ending in ((self.old, "before"), (plan.configs, "after")):
            epoch = max(
                (detail_of(one).epoch for one in configs.values()), default=self.call.now_ms()
            )
            wrapper = TopicRemappingDetailWrapper(
                topic=self.topic, type=kind, epoch=epoch, broker_config_map=dict(configs)
            )
            path = directory / f"{self.topic}-{epoch}.{ending}"
            path.write_bytes(wrapper.encode())
            files.append(str(path))
        return tuple(files)

    async def send(self, plan: MappingPlan, names: Iterable[str]) -> None:
        """Have brokers take their part of the plan, one after the other."""
        for name in names:
            await self.admin.update_static_topic(self.nodes[name].address, plan.configs[name])

    async def decide_offsets(self, plan: MappingPlan) -> None:
        """Decide where the new part of each moved queue begins, behind the end of the old one."""
        queues = queues_of(plan.configs)
        for queue_id in plan.moved:
            *_, old, new = queues[queue_id]
            # Requests for one offset read a queue id as that of a logical queue; this does not.
            table = await self.admin.topic_stats_at(self.nodes[old.bname].address, self.topic)
            queue = MessageQueue(self.topic, old.bname, old.queue_id)
            new.logic_offset = round_up(logical_end(old, table[queue].max_offset))

    def outcome(
        self, plan: MappingPlan, result: str, remark: str | None, files: tuple[str, ...]
    ) -> Outcome:
        """Return one row for each part of the queues that the plan changes."""
        rows = [
            StaticTopicChange.of(part, result=result, remark=remark, files=files)
            for part in _rows(self.topic, plan.configs)
            if part.logic_queue in plan.moved
        ]
        return Outcome(
            rows,
            exit_code=exit_code_of([result]),
            picture=_picture(plan.configs) if result in SENT else (),
        )


INTERRUPTED: Final = (
    "brokers before it have the new mapping, the others do not; `topic static show` names them"
)


async def _carry_out(
    work: StaticTopicWork,
    plan: MappingPlan,
    files: tuple[str, ...],
    send: Callable[[], Awaitable[None]],
) -> Outcome:
    """Send a plan and read the mapping back; a failure says what it leaves behind."""
    if work.call.dry_run:
        return work.outcome(plan, WOULD_CHANGE, None, files)
    try:
        await send()
        now = await _configs(work.admin, work.topic, work.nodes.values())
        is_there = _places(now) == _places(plan.configs)
    except (ClientError, ServerRefused) as error:
        result, remark = result_of(error)
        return work.outcome(plan, result, f"{remark}; {INTERRUPTED}", files)
    if not is_there:
        return work.outcome(plan, REFUSED, "the brokers took it, but have something else", files)
    return work.outcome(plan, CHANGED, None, files)


def _places(configs: Configs) -> dict[int, list[tuple[object, ...]]]:
    """Return where each logical queue is, without what a broker may add."""
    return {
        queue_id: [(part.gen, part.bname, part.queue_id, part.logic_offset) for part in parts]
        for queue_id, parts in queues_of(configs).items()
    }


@command(
    "topic static grow",
    examples=(
        ("mqadmin topic static grow orders --queues 8", "make it, on the masters of the cluster"),
        ("mqadmin topic static grow orders --queues 16 --dry-run", "where 8 more would be"),
    ),
    details="The topic is made where there is none. The number of logical queues only grows, so "
    "that nothing undoes this. A topic that is not static cannot become one.",
    rows=StaticTopicChange,
    columns=(*COLUMNS, "result", "remark"),
    writes=True,
)
@topic_argument()
@queues_option
@targets_options
@save_option
async def grow_static(
    call: Call,
    *,
    topic: str,
    queues: int | None,
    brokers: tuple[str, ...],
    clusters: tuple[str, ...],
    save: Path | None,
) -> Outcome:
    """Return one row for each new logical queue.

    Raises:
        Usage: no number is given, or the topic has as many queues or more.
        ItemNotFound: there is no such broker or cluster.
    """
    if queues is None:
        raise Usage("nothing says how many logical queues", hint="name --queues")
    work = await StaticTopicWork.of(call, topic, brokers, clusters)
    plan = work.growth(queues)
    await call.confirm(f"give static topic {topic} {queues} logical queues, for good?")
    files = work.save(save, plan, "CREATE_OR_UPDATE")
    return await _carry_out(work, plan, files, lambda: work.send(plan, sorted(plan.configs)))


@command(
    "topic static remap",
    examples=(
        ("mqadmin topic static remap orders --broker broker-b", "leave the other brokers"),
        ("mqadmin topic static remap orders --cluster DefaultCluster --dry-run", "spread it"),
    ),
    details="Messages stay where they are, and are read there until they are gone; new ones go to "
    f"the new leaders, from the next offset that {BLOCK} divides. A remap back is the way to undo "
    "it.",
    rows=StaticTopicChange,
    columns=(*COLUMNS, "result", "remark"),
    writes=True,
)
@topic_argument()
@targets_options
@save_option
async def remap_static(
    call: Call,
    *,
    topic: str,
    brokers: tuple[str, ...],
    clusters: tuple[str, ...],
    save: Path | None,
) -> Outcome:
    """Return one row for each part of the logical queues that move.

    Raises:
        ItemNotFound: there is no such broker, cluster or topic.
        ServerRefused: the topic is not static, or the brokers contradict each other.
    """
    work = await StaticTopicWork.of(call, topic, brokers, clusters)
    plan = work.remap()
    if plan.moved:
        await call.confirm(f"move {len(plan.moved)} logical queues of {topic}?")
    files = work.save(save, plan, "REMAPPING")

    async def send() -> None:
        await work.send(plan, plan.takes)
        await work.send(plan, plan.gives)
        await work.decide_offsets(plan)
        await work.send(plan, plan.takes)
        await work.send(plan, sorted({*plan.configs} - {*plan.takes, *plan.gives}))

    if not plan.moved:
        return replace(work.outcome(plan, UNCHANGED, None, files), notes=("nothing moves",))
    return await _carry_out(work, plan, files, send)
