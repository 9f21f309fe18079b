"""A broker, and a file, are named in one way by every command."""

import click
import pytest

from mqadmin.cli.command import Command, ParsedLine
from mqadmin.cli.options import STAND_INS, kind_of, long_of, stand_ins
from mqadmin.cli.parse import everything, parse
from mqadmin.cli.types import ParseContext, ValueKind
from mqadmin.errors import Usage

COMMANDS = list(everything())
NOT_THE_OUTPUT = {"--file", "--parquet", "--offsets", "--tls-ca", "--tls-cert", "--tls-key"}
"""Options that name a file which is read."""


def options_of(made: Command, kind: ValueKind) -> list[click.Option]:
    return [one for one in made.options if kind_of(one) is kind]


def arguments_of(made: Command, kind: ValueKind) -> list[click.Parameter]:
    return [one for one in made.positional if kind_of(one) is kind]


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_a_broker_is_named_by_one_option(made: Command) -> None:
    names = [one.opts for one in (*made.options, *made.stand_ins) if "--broker" in one.opts]
    named = [*options_of(made, ValueKind.BROKER), *arguments_of(made, ValueKind.BROKER)]

    assert len(names) == (1 if named else 0)
    assert all(sorted(one) == ["--broker", "-b"] for one in names)


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_a_file_is_written_by_one_option_and_may_be_standard_output(made: Command) -> None:
    for one in options_of(made, ValueKind.FILE):
        if long_of(one) not in NOT_THE_OUTPUT:
            assert one.opts[:2] == ["--to", "-f"]
            assert one.help is not None
            assert "- writes to standard output" in one.help


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_a_file_that_is_read_may_be_standard_input(made: Command) -> None:
    files = arguments_of(made, ValueKind.FILE)[:1]
    files += [one for one in options_of(made, ValueKind.FILE) if one.opts[0] == "--file"]
    if made.name in {"store compaction", "store hexdump"}:
        # It is a file of the store.
        files = []

    for one in files:
        assert "standard input" in getattr(one, "help", "")


@pytest.mark.parametrize("made", COMMANDS, ids=lambda made: made.name)
def test_what_an_argument_names_an_option_may_name(made: Command) -> None:
    taken = {name for one in made.options for name in one.opts}
    for kind, names in STAND_INS.items():
        arguments = arguments_of(made, kind)
        if len(arguments) == 1 and names[-1] not in taken:
            assert [one for one in made.stand_ins if one.name == arguments[0].name]


def values(*words: str, context: ParseContext | None = None) -> dict[str, object]:
    made = parse(words, context)
    assert isinstance(made, ParsedLine)
    return dict(made.values)


@pytest.mark.parametrize(
    ("by_word", "by_option"),
    [
        ("broker write-perm wipe broker-a", "broker write-perm wipe -b broker-a"),
        ("broker demote h:1", "broker demote --broker h:1"),
        ("broker promote h:1", "broker promote -bh:1"),
        ("wait broker broker-a", "wait broker --broker=broker-a"),
        ("cluster list c", "cluster list --cluster c"),
        ("group lag billing orders", "group lag -g billing -t orders"),
        ("group lag billing orders", "group lag --topic orders billing"),
        ("topic create orders -q 4", "topic create -t orders -q 4"),
        ("offset reset billing orders bills --to now", "offset reset -g billing -t orders "
         "-t bills --to now"),
        ("offset reset billing orders bills --to now", "offset reset billing bills -t orders "
         "--to now"),
        ("message print orders b:1", "message print orders --queue b:1"),
        ("topic import list.json", "topic import -f list.json"),
        ("apply c.yaml", "apply --file c.yaml"),
    ],
)  # fmt: skip
def test_both_ways_mean_the_same(by_word: str, by_option: str) -> None:
    named, expected = values(*by_option.split()), values(*by_word.split())

    assert {name: as_set(value) for name, value in named.items()} == {
        name: as_set(value) for name, value in expected.items()
    }


def as_set(value: object) -> object:
    return sorted(value) if isinstance(value, tuple) else value


def test_a_word_too_many_is_refused_behind_an_option() -> None:
    with pytest.raises(Usage, match="unexpected argument 'broker-b'"):
        parse(["broker", "write-perm", "wipe", "broker-b", "-b", "broker-a"])


def test_the_topic_of_the_shell_does_not_displace_one_that_is_named() -> None:
    shell = ParseContext(topic="orders")

    assert values("topic", "show", "-t", "bills", context=shell)["topic"] == "bills"
    assert values("topic", "show", context=shell)["topic"] == "orders"
    assert values("topic", "perm", "R", context=shell) | {"perm": 0} == (
        values("topic", "perm", "R", "-t", "orders") | {"perm": 0}
    )


def test_an_option_of_the_command_keeps_its_letter() -> None:
    send = values("message", "send", "--topic", "orders", "-t", "TagA", "hello")

    assert (send["topic"], send["tag"], send["body"]) == ("orders", "TagA", "hello")
    assert stand_ins([click.Argument(["any"])]) == []
