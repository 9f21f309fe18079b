"""The mapping of a static topic: read, checked, and planned anew for more queues or other brokers.

    logical queue 0    broker-a:0 [0, 10000)  ->  broker-b:3 [10000, ...)

    grow     further logical queues go to the brokers that lead the fewest
    remap    logical queues move until each target leads as many as the others; a move adds a part
             to the queue, which begins at a round offset behind the end of the one before

Rule: a plan changes copies and sends nothing; ``mqadmin.commands.topic.static`` writes it. Only
masters have a mapping, all with the same epoch.

Source: remoting/protocol/statictopic/TopicQueueMappingUtils.java, tools/admin/MQAdminUtils.java
(5.4.0). Java's tool leaves to chance which of two equal brokers gets a queue; here it is the first
by name.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

from mqadmin.errors import ServerRefused, Usage
from remoting.bodies import (
    LogicQueueMappingItem,
    TopicConfigAndQueueMapping,
    TopicQueueMappingDetail,
)

BLOCK: Final = 10_000
"""A part of a logical queue begins at a multiple of this."""
EPOCH_STEP_MS: Final = 1000
UNDECIDED: Final = -1
Configs = Mapping[str, TopicConfigAndQueueMapping]
"""The settings and the mapping of each broker, by its name."""


@dataclass(slots=True)
class MappingPlan:
    """What each broker is to have, and which of them take or give queues.

    Attributes:
        takes, gives: names of brokers; a broker is in one of them at most.
        moved: logical queues that change.
    """

    configs: dict[str, TopicConfigAndQueueMapping]
    takes: list[str] = field(default_factory=list)
    gives: list[str] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)


def detail_of(config: TopicConfigAndQueueMapping) -> TopicQueueMappingDetail:
    """Return the mapping of a broker.

    Raises:
        ServerRefused: the topic is not static there.
    """
    if config.mapping_detail is None:
        raise ServerRefused(
            f"topic {config.topic_name} is not a static topic", hint="choose another name"
        )
    return config.mapping_detail


def queues_of(configs: Configs) -> dict[int, list[LogicQueueMappingItem]]:
    """Return the parts of each logical queue, as its leader has them.

    Raises:
        ServerRefused: the brokers contradict each other.
    """
    details = {name: detail_of(config) for name, config in configs.items()}
    for what in ("epoch", "total_queues", "scope"):
        values = {name: getattr(detail, what) for name, detail in details.items()}
        if len(set(values.values())) > 1:
            raise ServerRefused(
                f"the brokers differ in the {what} of the mapping: {values}",
                hint="a change was interrupted; `topic static show` shows what each has",
            )
    queues: dict[int, list[LogicQueueMappingItem]] = {}
    for name, detail in sorted(details.items()):
        for queue_id, parts in sorted(detail.hosted_queues.items()):
            if parts[-1].bname != name:
                continue
            if queue_id in queues:
                raise ServerRefused(f"logical queue {queue_id} has two leaders")
            queues[queue_id] = parts
    total = next(iter(details.values())).total_queues if details else 0
    if sorted(queues) != list(range(total)):
        raise ServerRefused(
            f"the mapping has {total} logical queues, but {sorted(queues)} have a leader"
        )
    return dict(sorted(queues.items()))


def plan_growth(
    topic: str, configs: Configs, *, queue_count: int, brokers: Collection[str], now_ms: int
) -> MappingPlan:
    """Plan a static topic with more logical queues, or a new one.

    Args:
        configs: what there is; empty for a new topic.
        queue_count: of the topic, afterwards.
        brokers: where further queues may go, besides those that have some.

    Raises:
        Usage: there are as many queues or more.
        ServerRefused: the topic is not static, or the brokers contradict each other.
    """
    made = deepcopy(dict(configs))
    queues = queues_of(made) if made else {}
    if queue_count <= len(queues):
        raise Usage(
            f"topic {topic} has {len(queues)} logical queues, and cannot have {queue_count}",
            hint="their number only grows",
        )
    led = Counter(dict.fromkeys((*brokers, *made), 0))
    led.update(parts[-1].bname for parts in queues.values())
    plan = MappingPlan(made)
    for queue_id in range(len(queues), queue_count):
        name = min(led, key=lambda broker: (led[broker], broker))
        led[name] += 1
        config = made.setdefault(name, _empty(topic, name))
        _lead(config, queue_id, [], gen=0, logic_offset=0)
        plan.moved.append(queue_id)
    _stamp(plan, configs, total=queue_count, now_ms=now_ms)
    return plan


def plan_remap(
    topic: str, configs: Configs, *, brokers: Collection[str], now_ms: int
) -> MappingPlan:
    """Plan that these brokers lead all logical queues, each as many as the others.

    Raises:
        ServerRefused: the topic is not static, or the brokers contradict each other.
    """
    made = deepcopy(dict(configs))
    queues = queues_of(made)
    led = Counter(parts[-1].bname for parts in queues.values())
    # Who leads more now keeps more, so that fewer queues move.
    order = sorted(brokers, key=lambda name: (-led[name], name))
    share, more = divmod(len(queues), len(order))
    room = {name: share + (index < more) for index, name in enumerate(order)}
    waiting = []
    for queue_id, parts in queues.items():
        leader = parts[-1].bname
        if room.get(leader, 0):
            room[leader] -= 1
        else:
            waiting.append(queue_id)
    plan = MappingPlan(made)
    for name in sorted(room):
        for queue_id in waiting[: room[name]]:
            parts = queues[queue_id]
            config = made.setdefault(name, _empty(topic, name))
            items = _lead(config, queue_id, parts, gen=parts[-1].gen + 1, logic_offset=UNDECIDED)
            detail_of(made[parts[-1].bname]).hosted_queues[queue_id] = items
            plan.takes.append(name)
            plan.gives.append(parts[-1].bname)
            plan.moved.append(queue_id)
        waiting = waiting[room[name] :]
    plan.takes, plan.gives = sorted(set(plan.takes)), sorted(set(plan.gives))
    _stamp(plan, configs, total=len(queues), now_ms=now_ms)
    return plan


def complete(plan: MappingPlan, topic: str, brokers: Iterable[str]) -> None:
    """Give brokers of the cluster without a part of the topic an empty mapping."""
    existing = detail_of(next(iter(plan.configs.values())))
    for name in brokers:
        if name not in plan.configs:
            plan.configs[name] = _empty(topic, name)
            detail = detail_of(plan.configs[name])
            detail.epoch, detail.total_queues = existing.epoch, existing.total_queues


def round_up(offset: int) -> int:
    """Return where the next part of a logical queue begins, with room for what is on its way."""
    count, rest = divmod(offset, BLOCK)
    return (count + (1 if rest < BLOCK // 2 else 2)) * BLOCK


def logical_end(part: LogicQueueMappingItem, queue_offset: int) -> int:
    """Return the logical offset of a queue offset in a part."""
    if queue_offset < part.start_offset:
        return part.logic_offset
    return part.logic_offset + queue_offset - part.start_offset


def _empty(topic: str, name: str) -> TopicConfigAndQueueMapping:
    return TopicConfigAndQueueMapping(
        topic_name=topic, mapping_detail=TopicQueueMappingDetail(topic=topic, bname=name)
    )


def _lead(
    config: TopicConfigAndQueueMapping,
    queue_id: int,
    parts: list[LogicQueueMappingItem],
    *,
    gen: int,
    logic_offset: int,
) -> list[LogicQueueMappingItem]:
    """Let a broker lead a logical queue, in a new queue of its own."""
    detail = detail_of(config)
    config.read_queue_nums += 1
    config.write_queue_nums += 1
    item = LogicQueueMappingItem(
        gen=gen,
        queue_id=config.write_queue_nums - 1,
        bname=detail.bname,
        logic_offset=logic_offset,
    )
    detail.hosted_queues[queue_id] = [*parts, item]
    return detail.hosted_queues[queue_id]


def _stamp(plan: MappingPlan, old: Configs, *, total: int, now_ms: int) -> None:
    newest = max((detail_of(config).epoch for config in old.values()), default=0)
    epoch = max(newest + EPOCH_STEP_MS, now_ms)
    for config in plan.configs.values():
        detail = detail_of(config)
        detail.epoch, detail.total_queues = epoch, total
