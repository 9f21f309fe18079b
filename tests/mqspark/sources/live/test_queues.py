"""Which topics an expression means; the names are those of strangers."""

import pytest

from mqspark.errors import BadOption
from mqspark.sources.live.queues import matching

TOPICS = ["Orders", "OrdersOld", "%RETRY%g", "a|b"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("Orders", ["Orders"]),
        ("Or.*s", ["Orders"]),
        ("Orders|a\\|b", ["Orders", "a|b"]),
        ("(?i)orders.*", ["Orders", "OrdersOld"]),
        # RE2 has no lookaround.
        ("(?!%RETRY%).*", ["Orders", "OrdersOld", "a|b"]),
        ("x", []),
    ],
)
def test_topics_match_as_a_whole(pattern: str, found: list[str]) -> None:
    assert matching(TOPICS, pattern) == found


def test_expression_that_python_would_try_for_ever_takes_no_time() -> None:
    assert matching(["a" * 127 + "!", "aaa"], "(a+)+") == ["aaa"]


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(BadOption, match="no regular expression"):
        matching(TOPICS, "(")
