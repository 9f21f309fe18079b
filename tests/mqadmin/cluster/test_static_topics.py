"""Mappings of static topics are planned as 5.4.0's tool plans them, and contradictions are named.

``tests/interop/test_static_topics_five.py`` compares the mappings with those of the tool.
"""

import pytest

from mqadmin.cluster.static_topics import (
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
from mqadmin.errors import ServerRefused, Usage
from remoting.bodies import LogicQueueMappingItem, TopicConfigAndQueueMapping

NOW_MS = 1_700_000_000_000


def grown(configs: Configs, queue_count: int, *brokers: str, now_ms: int = NOW_MS) -> MappingPlan:
    return plan_growth("T", configs, queue_count=queue_count, brokers=brokers, now_ms=now_ms)


def parts(configs: Configs) -> dict[int, list[str]]:
    """Return each logical queue as ``broker:queue@offset`` parts."""
    return {
        queue_id: [f"{part.bname}:{part.queue_id}@{part.logic_offset}" for part in items]
        for queue_id, items in queues_of(configs).items()
    }


def test_a_new_topic_is_spread_over_the_brokers() -> None:
    plan = grown({}, 3, "b", "a")

    assert parts(plan.configs) == {0: ["a:0@0"], 1: ["b:0@0"], 2: ["a:1@0"]}
    assert plan.moved == [0, 1, 2]
    assert {name: one.write_queue_nums for name, one in plan.configs.items()} == {"a": 2, "b": 1}
    assert {detail_of(one).epoch for one in plan.configs.values()} == {NOW_MS}
    assert {detail_of(one).total_queues for one in plan.configs.values()} == {3}


def test_further_queues_go_to_the_brokers_that_lead_the_fewest() -> None:
    first = grown({}, 3, "a").configs

    plan = grown(first, 5, "b", now_ms=0)

    assert parts(plan.configs)[3] == ["b:0@0"]
    assert parts(plan.configs)[4] == ["b:1@0"]
    assert plan.moved == [3, 4]
    # The epoch grows even where the clock does not.
    assert detail_of(plan.configs["a"]).epoch == NOW_MS + 1000
    assert parts(first) == {0: ["a:0@0"], 1: ["a:1@0"], 2: ["a:2@0"]}


@pytest.mark.parametrize("count", [1, 2])
def test_the_number_of_queues_only_grows(count: int) -> None:
    with pytest.raises(Usage, match=f"has 2 logical queues, and cannot have {count}"):
        grown(grown({}, 2, "a").configs, count, "a")


def test_a_remap_moves_as_few_queues_as_it_can() -> None:
    first = grown({}, 4, "a", "b").configs

    plan = plan_remap("T", first, brokers=["b", "c"], now_ms=NOW_MS + 5000)

    assert parts(plan.configs) == {
        0: ["a:0@0", "c:0@-1"],
        1: ["b:0@0"],
        2: ["a:1@0", "c:1@-1"],
        3: ["b:1@0"],
    }
    assert (plan.takes, plan.gives, plan.moved) == (["c"], ["a"], [0, 2])
    # Both sides of a move have the whole queue.
    assert detail_of(plan.configs["a"]).hosted_queues[0][-1].bname == "c"


def test_a_remap_to_where_the_queues_are_moves_nothing() -> None:
    first = grown({}, 4, "a", "b").configs

    assert plan_remap("T", first, brokers=["a", "b"], now_ms=0).moved == []


def test_a_broker_either_takes_or_gives() -> None:
    first = grown({}, 5, "a").configs

    plan = plan_remap("T", first, brokers=["a", "b", "c"], now_ms=0)

    assert not {*plan.takes} & {*plan.gives}
    led = [items[-1].split(":")[0] for items in parts(plan.configs).values()]
    assert sorted(led.count(name) for name in "abc") == [1, 2, 2]


def test_other_brokers_of_the_cluster_get_an_empty_mapping() -> None:
    plan = grown({}, 2, "a")

    complete(plan, "T", ["a", "z"])

    assert detail_of(plan.configs["z"]).hosted_queues == {}
    assert detail_of(plan.configs["z"]).total_queues == 2
    assert plan.configs["z"].write_queue_nums == 0


def test_contradictions_are_named() -> None:
    plain = {"a": TopicConfigAndQueueMapping(topic_name="T")}
    with pytest.raises(ServerRefused, match="is not a static topic"):
        queues_of(plain)

    split = grown({}, 2, "a", "b").configs
    detail_of(split["b"]).epoch += 1
    with pytest.raises(ServerRefused, match="differ in the epoch"):
        queues_of(split)

    lost = grown({}, 2, "a", "b").configs
    del detail_of(lost["b"]).hosted_queues[1]
    with pytest.raises(ServerRefused, match="has 2 logical queues, but"):
        queues_of(lost)

    double = grown({}, 2, "a", "b").configs
    detail_of(double["b"]).hosted_queues[0] = [LogicQueueMappingItem(bname="b")]
    with pytest.raises(ServerRefused, match="logical queue 0 has two leaders"):
        queues_of(double)


@pytest.mark.parametrize(
    ("offset", "start"),
    [(0, 10_000), (4_999, 10_000), (5_000, 20_000), (10_000, 20_000), (15_000, 30_000)],
)
def test_the_next_part_begins_at_a_round_offset_with_room(offset: int, start: int) -> None:
    assert round_up(offset) == start


def test_a_queue_offset_has_its_logical_one() -> None:
    part = LogicQueueMappingItem(logic_offset=10_000, start_offset=2)

    assert [logical_end(part, offset) for offset in (0, 2, 7)] == [10_000, 10_000, 10_005]
