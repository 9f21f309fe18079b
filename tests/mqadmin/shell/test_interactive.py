"""What the terminal shows beside the completion: the bottom line, and the colours."""

import pytest

from mqadmin.shell.interactive import hint, styled_parts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "Tab completes"),
        ("gro", "group"),
        ("con", "connect · context"),
        ("gro ", "unknown command `gro`; did you mean `group`?"),
        ("topc", "unknown command `topc`; did you mean `topic`?"),
        ("topc list", "did you mean `topic list`?"),
        ("topicLst -t x", "did you mean `topicList`?"),
        ("topic", "`topic` needs another word; one of: topic "),
        ("topic help", "help of `topic`"),
        ("topic help list", "topic list"),
        ("version", "print the version"),
        ("versin ", "did you mean `version`?"),
        ("topic show", "topic show TOPIC"),
        ("topic show -o json x", "show the queues of a topic"),
        ("use topic", "use topic NAME"),
    ],
)
def test_the_bottom_line_says_the_syntax_or_what_is_wrong(text: str, expected: str) -> None:
    assert expected in hint(text)


@pytest.mark.parametrize("text", ["gro", "con", "topic sh"])
def test_a_half_typed_name_is_not_called_unknown(text: str) -> None:
    assert "unknown" not in hint(text)


@pytest.mark.parametrize(
    ("text", "styles"),
    [
        ("topic list --kind 'x y' | head", ["known", "known", "option", "text", "operator", ""]),
        ("topc list", ["unknown", ""]),
        ("help topic", ["known", ""]),
        ("", []),
    ],
)
def test_words_are_coloured_by_what_they_are(text: str, styles: list[str]) -> None:
    parts = styled_parts(text)

    assert "".join(part[1] for part in parts) == text
    shown = [part[0].removeprefix("class:") for part in parts if part[1].strip()]
    assert shown == styles
