"""How a line of the shell is split."""

import pytest

from mqadmin.errors import Usage
from mqadmin.shell.lines import Quote, ShellCommand, is_unfinished, parse_line, split


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("topic list", ["topic", "list"]),
        ("  topic\tlist  ", ["topic", "list"]),
        ("send T 'a b' \"c d\"", ["send", "T", "a b", "c d"]),
        ("send T it\\'s", ["send", "T", "it's"]),
        ('send T "a\\"b\\n"', ["send", "T", 'a"b\\n']),
        ("send T ''", ["send", "T", ""]),
        ("a'b c'd", ["ab cd"]),
        ("topic show %RETRY%a|b", ["topic", "show", "%RETRY%a|b"]),
        ("x '|' '>' \\|", ["x", "|", ">", "|"]),
        ("at 2026-11-21#10:00:00:000", ["at", "2026-11-21#10:00:00:000"]),
        ("topic list # all of them", ["topic", "list"]),
        ("# only a comment", []),
        ("", []),
        ("a\\\nb", ["ab"]),
    ],
)
def test_words_are_split_as_a_posix_shell_does(text: str, words: list[str]) -> None:
    assert [word for line in parse_line(text) for word in line.words] == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topic list; group list", ["topic list", "group list"]),
        ("topic list ; group list;", ["topic list", "group list"]),
        ("; ;", []),
        ("connect mq1:9876;mq2:9876; topic list", ["connect mq1:9876;mq2:9876", "topic list"]),
        ("send T 'a; b'; send T a\\; b", ["send T a; b", "send T a; b"]),
        ("topic list # all; of them", ["topic list"]),
    ],
)
def test_a_semicolon_at_the_end_of_a_word_ends_a_command(text: str, expected: list[str]) -> None:
    assert [" ".join(line.words) for line in parse_line(text)] == expected


def test_each_command_has_its_own_filters() -> None:
    assert parse_line("a | head 1 > x; b | count") == [
        ShellCommand(["a"], [["head", "1"]], "x"),
        ShellCommand(["b"], [["count"]]),
    ]


def test_pipes_and_a_file_are_set_apart() -> None:
    made = parse_line("topic list -o json | json topic | head 3 >> out.txt")

    assert made == [
        ShellCommand(
            ["topic", "list", "-o", "json"], [["json", "topic"], ["head", "3"]], "out.txt", True
        )
    ]


@pytest.mark.parametrize(
    "text",
    ["a 'b", 'a "b', "a |", "| a", "a | | b", "a >", "a > | b", "a > b c", "> b", "a > b > c"],
)
def test_a_line_that_is_not_whole_is_refused(text: str) -> None:
    with pytest.raises(Usage):
        parse_line(text)


@pytest.mark.parametrize(
    ("text", "inside"),
    [("a", Quote.NONE), ("a 'b", Quote.SINGLE), ('a "b', Quote.DOUBLE), ("a \\", Quote.BACKSLASH)],
)
def test_an_open_quote_is_known(text: str, inside: Quote) -> None:
    assert split(text).inside is inside
    assert is_unfinished(text) is (inside is not Quote.NONE)
