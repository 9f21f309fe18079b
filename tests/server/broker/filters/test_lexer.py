"""The scanner: tokens, comments, and the texts of its errors, all taken from the real one."""

import pytest

from mqserver.broker.filters.lexer import BadExpression, Lexer, TokenKind


def tokens(text: str, *, strict: bool = False) -> list[str]:
    lexer = Lexer(text, strict=strict)
    found = []
    while (token := lexer.next_token()).kind is not TokenKind.END:
        found.append(f"{token.kind.name}:{token.text}")
    return found


def test_the_longest_word_wins() -> None:
    assert tokens("a>=1.5e3 notx NoT<>") == [
        "NAME:a", "GREATER_EQUAL:>=", "FLOAT:1.5e3", "NAME:notx", "NOT:NoT", "NOT_EQUAL:<>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0x1F", ["INTEGER:0", "NAME:x1F"]),
        ("010", ["INTEGER:0", "INTEGER:10"]),
        ("0l", ["INTEGER:0", "NAME:l"]),
        ("00.5", ["FLOAT:00.5"]),
        ("5e", ["INTEGER:5", "NAME:e"]),
        ("5.", ["FLOAT:5."]),
    ],
)
def test_numbers_are_decimal_only(text: str, found: list[str]) -> None:
    assert tokens(text) == found


def test_texts_hold_doubled_quotes() -> None:
    assert tokens("'it''s' ''") == ["STRING:'it''s'", "STRING:''"]


def test_comments_are_skipped_when_they_end() -> None:
    assert tokens("a -- b\n c /* d ** */ e") == ["NAME:a", "NAME:c", "NAME:e"]
    assert tokens("a -- b") == ["NAME:a", "MINUS:-", "MINUS:-", "NAME:b"]


def test_like_is_a_word_in_strict_expressions_only() -> None:
    assert tokens("like") == ["NAME:like"]
    assert tokens("like", strict=True) == ["LIKE:like"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a # 1", 'line 1, column 3.  Encountered: "#" (35), after : ""'),
        ("a\n %", 'line 2, column 3.  Encountered: <EOF> after : ""'),
        ("'5", 'line 1, column 3.  Encountered: <EOF> after : "\\\'5"'),
        ("/ *", 'line 1, column 2.  Encountered: " " (32), after : "/"'),
        ("ü=1", 'line 1, column 1.  Encountered: "\\u00fc" (252), after : ""'),
    ],
)
def test_errors_read_as_those_of_java(text: str, error: str) -> None:
    with pytest.raises(BadExpression) as caught:
        tokens(text)

    prefix = "org.apache.rocketmq.filter.parser.TokenMgrError: Lexical error at "
    assert str(caught.value) == prefix + error


def test_nothing_is_cut_before_it_is_wanted() -> None:
    lexer = Lexer("a #")

    assert lexer.next_token().text == "a"
    with pytest.raises(BadExpression):
        lexer.peek()
