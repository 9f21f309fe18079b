"""What the bottom line says is wrong with a line before Enter."""

import pytest

from mqadmin.cli.types import ValueKind
from mqadmin.shell.complete import suggestions
from mqadmin.shell.names import Names
from mqadmin.shell.validity import problem
from tests.work import lines_of

NAMES = Names(
    {ValueKind.TOPIC: ["orders"], ValueKind.GROUP: ["billing"], ValueKind.BROKER: ["broker-a"]},
    "C",
    True,
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topic show ordres ", "unknown topic `ordres`; did you mean orders?"),
        ("group lag xyz -o json", "unknown group `xyz`"),
        ("broker config get -b brokr-a ", "unknown broker `brokr-a`; did you mean broker-a?"),
        ("topic list --kind nrml ", "kind: 'nrml' is not one of normal"),
        ("topic list -o pdf ", "output: 'pdf' is not one of table"),
    ],
)
def test_a_finished_word_that_cannot_be_is_told(text: str, said: str) -> None:
    assert said in problem(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "topic show ord",
        "topic show orders ",
        "topic create fresh ",
        "use topic whatever ",
        "topc show x ",
        "broker config get -b 127.0.0.1:10911 ",
        "topic list | grep zzz ",
        "message send orders 'no such word' ",
    ],
)
def test_what_may_be_right_is_left_alone(text: str) -> None:
    assert problem(text, NAMES) == ""


def test_nothing_is_judged_while_no_server_answers() -> None:
    assert problem("topic show ordres ", Names({ValueKind.TOPIC: ["orders"]}, None, False)) == ""


def test_fifty_thousand_topics_do_not_hold_up_a_key_press() -> None:
    some, many = (
        Names({ValueKind.TOPIC: [f"topic-{n:05}" for n in range(count)]}, "C", True)
        for count in (5_000, 50_000)
    )

    found, _ = suggestions("topic show topic-4999", many)
    said = problem("topic show topic-0499x ", many)

    assert len(found) == 10
    assert "did you mean topic-0499" in said
    # Near names are looked for among so many, and no more; names that begin alike among all.
    assert lines_of(lambda: problem("topic show topic-0499x ", many)) < 1.5 * lines_of(
        lambda: problem("topic show topic-0499x ", some)
    )
    assert lines_of(lambda: suggestions("topic show topic-4999", many)) < 12 * lines_of(
        lambda: suggestions("topic show topic-4999", some)
    )
