"""What a consumer wants of a topic: everything, some tags, or an SQL92 expression.

    "*"        everything
    "A || B"   messages whose tag is A or B

``TopicSubscription`` is a subscription as heartbeats carry it: with its topic and a version, which is the
time it was made. A broker refuses a pull whose version is newer than the heartbeat it knows.

Rule: a broker compares hashes of tags only, so the reader compares the words again.

Source: common/filter/FilterAPI.java#buildSubscriptionData,
client/impl/consumer/PullAPIWrapper.java#processPullResult (4.9.7).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from mqclient.errors import BadRequest
from mqclient.message import MessageExt
from remoting.bodies import SubscriptionData
from storefmt.errors import StoreError
from storefmt.javahash import string_hash
from storefmt.paths import check_topic_name

ALL: Final = "*"
TAG: Final = "TAG"
SQL92: Final = "SQL92"


class MessageSelector(NamedTuple):
    """An expression with its kind, as Java's ``MessageSelector``."""

    expression: str
    kind: str = TAG

    @classmethod
    def by_tag(cls, expression: str) -> "MessageSelector":
        """Return a selector of ``TagA || TagB``."""
        return cls(expression, TAG)

    @classmethod
    def by_sql(cls, expression: str) -> "MessageSelector":
        """Return a selector of an SQL92 expression over properties."""
        return cls(expression, SQL92)


@dataclass(frozen=True, slots=True)
class Subscription:
    """One filter of one topic.

    Attributes:
        expression: what travels.
        kind: TAG or SQL92.
        tags: the wanted tags; empty means any.
    """

    expression: str
    kind: str = TAG
    tags: frozenset[str] = frozenset()

    @classmethod
    def parse(
        cls, expression: "str | MessageSelector | None", *, kind: str = TAG
    ) -> "Subscription":
        """Return the subscription an expression means; an empty one, or none, means everything.

        Args:
            kind: of a text; a selector brings its own.

        Raises:
            BadRequest: ``||`` with nothing between, or a kind that is not known.
        """
        if isinstance(expression, MessageSelector):
            expression, kind = expression
        if kind == SQL92 and expression:
            return cls(expression, SQL92)
        if kind != TAG:
            raise BadRequest(f"expression type {kind!r}", hint="TAG or SQL92, with an expression")
        if not expression or expression == ALL:
            return cls(ALL)
        tags = frozenset(word.strip() for word in expression.split("||")) - {""}
        if not tags:
            raise BadRequest(f"no tag in the subscription {expression!r}", hint="as: TagA || TagB")
        return cls(expression, TAG, tags)

    def accepts(self, message: MessageExt) -> bool:
        """Return whether a message the broker let through is really wanted."""
        return not self.tags or message.tags in self.tags

    def filter(self, messages: Iterable[MessageExt]) -> list[MessageExt]:
        """Return the messages that are wanted."""
        return [message for message in messages if self.accepts(message)]


class TopicSubscription(NamedTuple):
    """A subscription to one topic, both ways it is needed."""

    subscription: Subscription
    data: SubscriptionData

    @classmethod
    def of(cls, topic: str, subscription: Subscription, *, version: int) -> "TopicSubscription":
        """Return the subscription of a topic.

        Args:
            version: now, ms.

        Raises:
            BadRequest: the topic name is not allowed.
        """
        try:
            check_topic_name(topic)
        except StoreError as error:
            raise BadRequest(str(error)) from error
        tags = sorted(subscription.tags)
        data = SubscriptionData(
            topic=topic,
            sub_string=subscription.expression,
            tags_set=tags,
            code_set=[string_hash(tag) for tag in tags],
            sub_version=version,
            expression_type=subscription.kind,
        )
        return cls(subscription, data)

    def renewed(self, version: int) -> "TopicSubscription":
        """Return the same with a newer version, so that brokers take it over."""
        return self.of(self.data.topic, self.subscription, version=version)
