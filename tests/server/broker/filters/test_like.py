"""LIKE: against the textbook definition, and its cost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqserver.broker.filters.terms import LikePattern


def is_like(text: str, pattern: str) -> bool:
    """Return the definition: the first character of the pattern, then the rest."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(is_like(text[i:], pattern[1:]) for i in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and is_like(text[1:], pattern[1:])


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.text("ab\n", max_size=8), st.text("ab%_\n", max_size=6))
def test_patterns_match_as_defined(text: str, pattern: str) -> None:
    assert LikePattern(pattern).matches(text) is is_like(text, pattern)


def test_an_escape_makes_the_next_character_plain() -> None:
    assert LikePattern("50!%!_!!", "!").matches("50%_!")
    assert not LikePattern("50!%", "!").matches("500")
    assert LikePattern("[a].", "").matches("[a].")


@pytest.mark.parametrize(("pattern", "escape"), [("a", "ab"), ("a!", "!"), ("!a", "!")])
def test_escapes_that_make_no_sense_are_refused(pattern: str, escape: str) -> None:
    with pytest.raises(ValueError, match="escape"):
        LikePattern(pattern, escape)


def test_a_hostile_pattern_is_not_slow() -> None:
    assert not LikePattern("%a" * 40 + "%b").matches("a" * 20_000)
