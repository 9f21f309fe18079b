"""How often servers are asked for their listings when many things are changed at once."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

import pytest

from mqadmin.call import Call
from mqadmin.errors import Unreachable
from mqadmin.places import MASTER, Place
from mqadmin.things.topic import TopicThing
from mqadmin.writes import carry_out, plan, plan_each
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

    async def create_topic(self, address: str, config: TopicConfig) -> None:
        if address not in self.deaf:
            self.topics[address][config.topic_name] = config


class Calling:
    """A call that writes and keeps no journal: nothing is there before."""

    dry_run = False


def things_of(brokers: Brokers, *, count: int, addresses: tuple[str, ...]) -> list[TopicThing]:
    return [
        TopicThing(cast(Admin, brokers), Place("c", address, MASTER, address), (f"T{number}",))
        for number in range(count)
        for address in addresses
    ]


def test_five_thousand_topics_take_two_listings_of_each_broker() -> None:
    brokers = Brokers({"a": {}, "b": {}})
    things = things_of(brokers, count=5_000, addresses=("a", "b"))

    async def change() -> Counter[str]:
        steps = await plan_each(
            [(thing, lambda _, name=thing.names[0]: TopicConfig(name, 1, 1)) for thing in things]
        )
        done = await carry_out(cast(Call, Calling()), steps, title="import")
        assert [one.step.thing for one in done] == things
        return Counter(one.result for one in done)

    assert asyncio.run(change()) == {"changed": 10_000}
    assert brokers.listed == {"a": 2, "b": 2}
    assert len(brokers.topics["a"]) == len(brokers.topics["b"]) == 5_000


def test_a_broker_that_fails_or_forgets_is_told_for_each_of_its_topics() -> None:
    brokers = Brokers({"a": {}, "forgets": {}}, deaf={"forgets"})
    things = things_of(brokers, count=3, addresses=("a", "forgets", "gone"))

    async def change() -> list[tuple[str, str]]:
        steps = await plan(things, lambda _: TopicConfig("T", 1, 1))
        done = await carry_out(cast(Call, Calling()), steps, title="import")
        return [(one.step.thing.place.broker, one.result) for one in done]

    brokers.topics["a"] |= {f"T{number}": TopicConfig("T", 1, 1) for number in range(3)}
    assert asyncio.run(change()) == 3 * [
        *(("a", "unchanged"), ("forgets", "refused"), ("gone", "unreachable"))
    ]
    assert brokers.listed == {"a": 1, "forgets": 2, "gone": 1}


def test_no_broker_that_answers_is_an_error() -> None:
    things = things_of(Brokers({}), count=2, addresses=("gone",))

    with pytest.raises(Unreachable, match="gone does not answer"):
        asyncio.run(plan(things, lambda old: old))
