"""The SQL92 filters that a broker stores in consumerFilter.json.

Source: broker/filter/ConsumerFilterData.java, filter/util/BloomFilterData.java (4.9.7).
"""

from dataclasses import dataclass

from remoting.bodies.base import Body
from storefmt.config.fastjson import Json


@dataclass(slots=True, kw_only=True)
class BloomFilterData(Body):
    """The bits of a Bloom filter that stand for one group and topic."""

    bit_pos: list[int] | None = None
    bit_num: int = 0


@dataclass(slots=True, kw_only=True)
class ConsumerFilterData(Body):
    """The expression of one group for one topic; times are in ms since 1970."""

    consumer_group: str | None = None
    topic: str | None = None
    expression: str | None = None
    expression_type: str | None = None
    born_time: int = 0
    dead_time: int = 0
    bloom_filter_data: BloomFilterData | None = None
    client_version: int = 0

    def derived(self) -> dict[str, Json]:
        """Return Java's ``isDead``: the group ended its subscription after it had subscribed."""
        return {"dead": self.dead_time >= self.born_time}
