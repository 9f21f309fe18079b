"""What completion offers, from declarations and live names."""

import pytest

from mqadmin.cli.types import ValueKind
from mqadmin.shell.complete import suggestions
from mqadmin.shell.names import Names

NAMES = Names(
    {
        ValueKind.TOPIC: ["orders", "payments"],
        ValueKind.GROUP: ["billing"],
        ValueKind.BROKER: ["broker-a"],
        ValueKind.CONTEXT: ["dev"],
    },
    "DefaultCluster",
    True,
)


def offered(text: str) -> list[str]:
    return [one.text for one in suggestions(text, NAMES)[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("to", "topic"),
        ("TOP", "topic"),
        ("topic ", "create"),
        ("topic li", "list"),
        ("updateT", "updateTopic"),
        ("help topic li", "list"),
        ("vers", "version"),
        ("message query ", "unique-key"),
        ("message query k", "key"),
        ("broker config ", "get"),
        ("topic show ", "orders"),
        ("topic show pay", "payments"),
        ("topic show ment", "payments"),
        ("message send -n h:1 or", "orders"),
        ("group lag ", "billing"),
        ("group lag billing ", "orders"),
        ("offset reset billing orders --t", "--to"),
        ("offset reset --to -1h bil", "billing"),
        ("message send orders --t", "--tag"),
        ("topic list -o ", "jsonl"),
        ("topic list --output js", "json"),
        ("topic list --kind ", "retry"),
        ("topic list --columns ", "kind"),
        ("topicStatus -t ", "orders"),
        ("topicStatus --to", "--topic"),
        ("getBrokerConfig -b ", "broker-a"),
        ("context use ", "dev"),
        ("use ", "topic"),
        ("use topic o", "orders"),
        ("set output y", "yaml"),
        ("help topic ", "create"),
        ("topic list | gr", "grep"),
    ],
)
def test_the_next_word_is_offered(text: str, expected: str) -> None:
    assert expected in offered(text)


@pytest.mark.parametrize(
    "text", ["topic show orders ", "xyzzy ", "topic list | grep x", "topic list > ", "set output x"]
)
def test_nothing_is_offered_where_nothing_is_known(text: str) -> None:
    assert offered(text) == []


def test_a_suggestion_replaces_the_word_at_the_cursor() -> None:
    text = "topic show or"

    found = suggestions(text, NAMES)[0][0]

    assert text[: found.start] + found.text == "topic show orders"


def test_own_options_come_before_global_ones() -> None:
    found = offered("message send orders --")

    assert found.index("--tag") < found.index("--namesrv")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("store open ", "dir"),
        ("store info ", "dir"),
        ("message send T --file ", "file"),
        ("topic list > ", "file"),
        ("topic show ", ""),
        ("topic list ", ""),
    ],
)
def test_paths_are_wanted_where_they_belong(text: str, what: str) -> None:
    assert suggestions(text, NAMES)[1] == what
