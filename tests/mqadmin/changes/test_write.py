"""How often servers are asked for their listings when many targets are changed at once."""

from collections import Counter
from dataclasses import dataclass, field
from typing import cast

import pytest

from mqadmin.changes.targets.topic import TopicTarget
from mqadmin.changes.write import carry_out, plan, plan_each
from mqadmin.cluster.brokers import MASTER, ServerNode
from mqadmin.errors import ServerUnreachable
from mqadmin.session.call import Call
from mqclient.admin.admin import Admin
from mqclient.errors import Unreachable as NoAnswer
from storefmt.config.tables import TopicConfig


@dataclass
class Listing:
    """The answer of a broker."""

    topics: dict[str, TopicConfig]


@dataclass
class Brokers:
    """The calls of an admin that topics need, counted by address."""

    topics: dict[str, dict[str, TopicConfig]]
    listed: Counter[str] = field(default_factory=Counter)
    deaf: set[str] = field(default_factory=set)

    async def topic_configs(self, address: str) -> Listing:
        self.listed[address] += 1
        if address not in self.topics:
            raise NoAnswer(f"{address} does not answer")
        return Listing(dict(self.topics[address]))

    async def topic_attributes(self, address: str, topic: str) -> dict[str, str] | None:
        assert address in self.topics, topic
        return None

    async def create_topic(
        self, address: str, config: TopicConfig, *, attributes: str | None = None
    ) -> None:
        assert not attributes
        if address not in self.deaf:
            self.topics[address][config.topic_name] = config


class Calling:
    """A call that writes and keeps no journal: nothing is there before."""

    dry_run = False


def targets_of(brokers: Brokers, *, count: int, addresses: tuple[str, ...]) -> list[TopicTarget]:
    return [
        TopicTarget(
            cast(Admin, brokers), ServerNode("c", address, MASTER, address), (f"T{number}",)
        )
        for number in range(count)
        for address in addresses
    ]


async def test_five_thousand_topics_take_two_listings_of_each_broker() -> None:
    brokers = Brokers({"a": {}, "b": {}})
    targets = targets_of(brokers, count=5_000, addresses=("a", "b"))

    steps = await plan_each(
        [(target, lambda _, name=target.names[0]: TopicConfig(name, 1, 1)) for target in targets]
    )
    done = await carry_out(cast(Call, Calling()), steps, title="import")
    assert [one.step.target for one in done] == targets
    assert (Counter(one.result for one in done)) == {"changed": 10_000}
    assert brokers.listed == {"a": 2, "b": 2}
    assert len(brokers.topics["a"]) == len(brokers.topics["b"]) == 5_000


async def test_a_broker_that_fails_or_forgets_is_told_for_each_of_its_topics() -> None:
    brokers = Brokers({"a": {}, "forgets": {}}, deaf={"forgets"})
    targets = targets_of(brokers, count=3, addresses=("a", "forgets", "gone"))

    brokers.topics["a"] |= {f"T{number}": TopicConfig("T", 1, 1) for number in range(3)}
    steps = await plan(targets, lambda _: TopicConfig("T", 1, 1))
    done = await carry_out(cast(Call, Calling()), steps, title="import")
    assert ([(one.step.target.node.broker, one.result) for one in done]) == 3 * [
        *(("a", "unchanged"), ("forgets", "refused"), ("gone", "unreachable"))
    ]
    assert brokers.listed == {"a": 1, "forgets": 2, "gone": 1}


async def test_no_broker_that_answers_is_an_error() -> None:
    targets = targets_of(Brokers({}), count=2, addresses=("gone",))

    with pytest.raises(ServerUnreachable, match="gone does not answer"):
        await plan(targets, lambda old: old)
