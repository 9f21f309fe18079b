"""Subscriptions: all messages of a topic, those with some tags, or an SQL92 expression.

    "*"        every message
    "A || B"   messages whose tag is A or B

``TopicSubscription`` is a subscription as heartbeats carry it: with its topic, and with a version,
which is the time when it was made. A broker refuses a pull whose version is newer than that of
the last heartbeat.

Rule: a broker compares only the hashes of tags, so the consumer compares the tags again.

Source: common/filter/FilterAPI.java#buildSubscriptionData,
client/impl/consumer/PullAPIWrapper.java#processPullResult,
client/impl/factory/MQClientInstance.java#checkClientInBroker (4.9.7).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from mqclient.client.instance import MQClient
from mqclient.errors import BadRequest
from mqclient.message import MessageExt
from remoting.bodies import CheckClientRequestBody, SubscriptionData
from remoting.codes import RequestCode
from storefmt.errors import StoreError
from storefmt.formats.javahash import string_hash
from storefmt.paths import check_topic_name

ALL: Final = "*"
TAG: Final = "TAG"
SQL92: Final = "SQL92"


class MessageSelector(NamedTuple):
    """An expression and its kind, as in Java's ``MessageSelector``."""

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
    """The filter of a subscription.

    Attributes:
        expression: the text that is sent to brokers.
        kind: TAG or SQL92.
        tags: the wanted tags; empty means that every tag is wanted.
    """

    expression: str
    kind: str = TAG
    tags: frozenset[str] = frozenset()

    @classmethod
    def parse(
        cls, expression: "str | MessageSelector | None", *, kind: str = TAG
    ) -> "Subscription":
        """Return the subscription that an expression means; "" and None mean every message.

        Args:
            expression: a text, or a selector, which has its own kind.
            kind: TAG or SQL92, the kind of a text.

        Raises:
            BadRequest: the expression names no tag, or the kind is neither TAG nor SQL92.
        """
        if isinstance(expression, MessageSelector):
            expression, kind = expression
        if expression is not None and not isinstance(expression, str):
            raise BadRequest(
                f"expression is {expression!r}, expected a text or a MessageSelector",
                hint="as: TagA || TagB",
            )
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
        """Return whether a message has one of the tags, not only the same hash."""
        return not self.tags or message.tags in self.tags

    def filter(self, messages: Iterable[MessageExt]) -> list[MessageExt]:
        """Return the messages that have one of the tags."""
        return [message for message in messages if self.accepts(message)]


class TopicSubscription(NamedTuple):
    """A subscription to one topic: as this client filters, and as heartbeats carry it."""

    subscription: Subscription
    data: SubscriptionData

    @classmethod
    def of(cls, topic: str, subscription: Subscription, *, version: int) -> "TopicSubscription":
        """Return the subscription of a topic.

        Args:
            topic: with its namespace.
            subscription: the filter.
            version: the time now, in ms since 1970.

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

    async def check_at(self, client: MQClient, address: str, *, group: str) -> None:
        """Ask a broker whether it can read the expression; in a pull it ignores one that it cannot.

        Args:
            client: the client that asks.
            address: the broker, ``host:port``.
            group: the consumer group, which needs the right to read the topic.

        Raises:
            BrokerRefused: the broker cannot read the expression, or filters by tags only.
            ClientError: the broker does not answer.
        """
        body = CheckClientRequestBody(
            client_id=client.client_id, group=group, subscription_data=self.data
        )
        await client.call(
            address,
            RequestCode.CHECK_CLIENT_CONFIG,
            what=f"expression {self.data.sub_string!r} for topic {self.data.topic}",
            body=body.encode(),
        )

    def renewed(self, version: int) -> "TopicSubscription":
        """Return the same subscription with a newer version, so that brokers accept it."""
        return self.of(self.data.topic, self.subscription, version=version)
