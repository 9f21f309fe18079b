"""Spans of time that can be counted by."""

import pytest

from mqadmin.cli.times import parse_span


@pytest.mark.parametrize(("text", "span_ms"), [("90s", 90_000), ("1h30m", 5_400_000)])
def test_a_span_is_a_duration(text: str, span_ms: int) -> None:
    assert parse_span(text) == span_ms


@pytest.mark.parametrize(
    ("text", "said"), [("0s", "a span of 0s is no span"), ("soon", "'soon' is no duration")]
)
def test_what_nothing_can_be_counted_by_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_span(text)
