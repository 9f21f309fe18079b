"""Bodies with values that a store also contains: topics, groups, and their versions.

``storefmt.config.tables`` declares ``TopicConfig``, ``SubscriptionGroup`` and ``DataVersion``. This
module declares the bodies that contain them. Where such a value is the whole body (request codes
200 and 322), ``encode_value`` and ``decode_value`` are used.

Source: common/protocol/body/TopicConfigSerializeWrapper.java, SubscriptionGroupWrapper.java.
"""

from dataclasses import dataclass, field
from typing import TypeVar

from remoting.bodies.base import Body, JsonValue
from remoting.errors import BadBody
from storefmt.config import fastjson
from storefmt.config.tables import DataVersion, SubscriptionGroup, TopicConfig
from storefmt.errors import ConfigDamaged

_V = TypeVar("_V", bound=JsonValue)


@dataclass(slots=True, kw_only=True)
class TopicConfigSerializeWrapper(Body):
    """All topics of a broker, as request code 21 returns them and topics.json stores them."""

    topic_config_table: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


@dataclass(slots=True, kw_only=True)
class SubscriptionGroupWrapper(Body):
    """All consumer groups of a broker.

    Request code 201 returns them, and subscriptionGroup.json stores them.
    """

    subscription_group_table: dict[str, SubscriptionGroup] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


def encode_value(value: JsonValue) -> bytes:
    """Return the body that consists of one topic, group or version."""
    return fastjson.dumps(value.to_json()).encode()


def decode_value(kind: type[_V], data: bytes) -> _V:
    """Return the topic, group or version that is the whole body.

    Raises:
        BadBody: the text is not JSON, or a value of it has the wrong kind.
    """
    try:
        return kind.from_json(fastjson.loads(data))
    except ConfigDamaged as error:
        raise BadBody(f"{kind.__name__}: {error}", body=kind.__name__) from None
