"""Tag expressions of consumers, and the tag codes that they stand for.

    *                 every message
    TagA || TagB      messages whose tag is one of these

The broker compares the Java hash of the tag, because a queue entry holds nothing else. The
consumer compares the text afterwards.

Rule: this module only handles expressions of type TAG; ``sql`` handles SQL92.

Source: common/filter/FilterAPI.java, filter/ExpressionType.java.
"""

from typing import Final

from remoting.bodies import SubscriptionData
from storefmt.formats.javahash import string_hash

ALL: Final = "*"
TAG: Final = "TAG"


def is_tag_type(expression_type: str | None) -> bool:
    """Return whether an expression type is TAG, which is also the default."""
    return expression_type is None or expression_type in ("", TAG)


def is_malformed(expression: str | None) -> bool:
    """Return whether a TAG expression consists of separators only, which Java cannot split."""
    return bool(expression) and not (expression or "").replace("||", "")


def tags_of(expression: str) -> tuple[str, ...]:
    """Return the tags in ``A || B``; empty for an expression that accepts every message."""
    if not expression or expression == ALL:
        return ()
    words = (word.strip() for word in expression.split("||"))
    return tuple(dict.fromkeys(word for word in words if word))


def codes_of_expression(expression: str) -> frozenset[int] | None:
    """Return the tag codes that a tag expression accepts, or None if it accepts every message."""
    if not expression or expression == ALL:
        return None
    return frozenset(string_hash(tag) for tag in tags_of(expression))


def codes_of_subscription(subscription: SubscriptionData) -> frozenset[int] | None:
    """Return the tag codes of a heartbeat's subscription, or None if it accepts every message."""
    if subscription.sub_string == ALL or subscription.class_filter_mode:
        return None
    return frozenset(subscription.code_set)
