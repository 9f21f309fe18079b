"""What a consumer wants of a topic: a tag expression, and the test it means.

    *                 everything
    TagA || TagB      messages whose tag is one of these

The broker compares the Java hash of the tag, which is all that a queue entry holds; the
consumer compares the text once more.

Rule: only TAG expressions are understood; any other type is refused by name.

Source: common/filter/FilterAPI.java, filter/ExpressionType.java.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from remoting.bodies import SubscriptionData
from storefmt.formats.javahash import string_hash

ALL: Final = "*"
TAG: Final = "TAG"

Accepts = Callable[[int], bool]
"""Says of a tag code whether it may be wanted."""


def is_tag_type(expression_type: str | None) -> bool:
    """True for the expression type that this broker understands; nothing means TAG."""
    return expression_type is None or expression_type in ("", TAG)


def is_malformed(expression: str | None) -> bool:
    """True for a TAG expression of separators only, which Java cannot split."""
    return bool(expression) and not (expression or "").replace("||", "")


@lru_cache(maxsize=1024)
def tags_of(expression: str) -> tuple[str, ...]:
    """Return the tags in ``A || B``; empty for an expression that wants all."""
    if not expression or expression == ALL:
        return ()
    words = (word.strip() for word in expression.split("||"))
    return tuple(dict.fromkeys(word for word in words if word))


@lru_cache(maxsize=1024)
def accepts_expression(expression: str) -> Accepts | None:
    """Return the test for a tag expression, None when it wants everything."""
    if not expression or expression == ALL:
        return None
    return _member_test(frozenset(string_hash(tag) for tag in tags_of(expression)))


def accepts_subscription(subscription: SubscriptionData) -> Accepts | None:
    """Return the test for a subscription out of a heartbeat, None when it wants everything."""
    if subscription.sub_string == ALL or subscription.class_filter_mode:
        return None
    return _member_test(frozenset(subscription.code_set))


@lru_cache(maxsize=1024)
def _member_test(codes: frozenset[int]) -> Accepts:
    return codes.__contains__
