"""Every spelling of options, by native and by Java names, defaults, and every mistake."""

from typing import Final

import click
import pytest

from mqadmin.cli.command import ParsedLine
from mqadmin.cli.java.names import Java, JavaOption
from mqadmin.cli.java.table import JAVA
from mqadmin.cli.options import converted
from mqadmin.cli.parse import parse
from mqadmin.cli.types import ParseContext
from mqadmin.errors import Usage
from mqadmin.messages.find import split_ids


def parsed(*tokens: str, **known: str | None) -> ParsedLine:
    made = parse(tokens, ParseContext(**known))
    assert isinstance(made, ParsedLine)
    return made


def value(made: ParsedLine, name: str) -> object:
    return made.values[name]


@pytest.mark.parametrize(
    "tokens",
    [
        ("-tPaid",),
        ("-t", "Paid"),
        ("--tag", "Paid"),
        ("--tag=Paid",),
        ("-tag", "Paid"),
        ("-tag=Paid",),
        ("--TAG", "Paid"),
    ],
)
def test_an_option_has_five_spellings(tokens: tuple[str, ...]) -> None:
    made = parsed("message", "send", "T", *tokens, "hello")

    assert value(made, "tag") == "Paid"
    assert value(made, "body") == "hello"


@pytest.mark.parametrize(
    "tokens",
    [
        ("-n", "h:1", "topic", "list", "-ojson"),
        ("topic", "-nh:1", "list", "--output", "json"),
        ("topic", "list", "--namesrv=h:1", "-o", "JSON"),
        ("--output=json", "topic", "list", "-namesrvAddr", "h:1"),
    ],
)
def test_global_options_stand_anywhere(tokens: tuple[str, ...]) -> None:
    settings = parsed(*tokens).settings

    assert (settings.namesrv, settings.output) == ("h:1", "json")


@pytest.mark.parametrize(
    "name", ["topicStatus", "TOPICSTATUS", "topic_status", "topic-status", "topicstatus"]
)
def test_a_java_name_takes_javas_flags_in_any_case(name: str) -> None:
    made = parsed(name, "-t", "orders")

    assert made.command.name == "topic status"
    assert value(made, "topic") == "orders"


def test_javas_flag_hides_a_global_one() -> None:
    made = parsed("updateTopic", "-b", "h:1", "-t", "T", "-o", "true", "-n", "n:1")

    assert value(made, "order") is True
    assert made.settings.output is None
    assert made.settings.namesrv == "n:1"


def test_a_java_name_presets_arguments() -> None:
    made = parsed("checkMsgSendRT", "-t", "T", "-s", "64")

    assert (value(made, "count"), value(made, "each"), value(made, "size")) == (100, True, 64)


@pytest.mark.parametrize("text", ["-1h", "-5", "+5", "-1d12h"])
def test_a_value_may_begin_with_a_dash(text: str) -> None:
    made = parsed("offset", "reset", "G", "T", "--to", text)

    assert getattr(value(made, "to"), "text", None) == text


def test_a_column_to_sort_by_may_be_named_as_an_option() -> None:
    assert parsed("lock", "list", "--sort", "-topic").settings.sort == "-topic"


def test_words_after_two_dashes_are_no_options() -> None:
    assert value(parsed("message", "send", "T", "--", "--tag"), "body") == "--tag"
    assert value(parsed("message", "send", "T", "-"), "body") == "-"


def test_a_repeated_option_collects() -> None:
    made = parsed("message", "send", "T", "x", "-k", "a", "--key=b", "-p", "n=v=w")

    assert value(made, "key") == ("a", "b")
    assert value(made, "properties") == (("n", "v=w"),)


def test_flags_of_one_letter_join() -> None:
    settings = parsed("topic", "list", "-yv").settings

    assert (settings.yes, settings.verbose) == (True, True)


@pytest.mark.parametrize(
    ("tokens", "message", "hint"),
    [
        (("topic", "lst"), "unknown command `topic lst`", "did you mean `topic list`?"),
        (("topc", "list"), "unknown command `topc`", "did you mean `topic list`?"),
        (("topicLst",), "unknown command `topicLst`", "did you mean `topicList`?"),
        (("topic", "-o", "json"), "`topic` needs another word", "topic create"),
        (("xyzzy",), "unknown command `xyzzy`", "`mqadmin help all` lists every command"),
        (("topic", "show"), "missing TOPIC", "usage: mqadmin topic show TOPIC"),
        (("topic", "show", "a", "b"), "unexpected argument 'b'", "usage: mqadmin topic show"),
        (("offset", "reset", "G", "T"), "missing --to", "usage: mqadmin offset reset GROUP"),
        (("topic", "list", "--kid", "x"), "unknown option --kid", "did you mean --kind?"),
        (
            ("pipeline", "grep", "DIR", "--pattern", "x"),
            "unknown option --pattern",
            "pass PATTERN as an argument, not as an option; usage: mqadmin pipeline grep DIR",
        ),
        (("topic", "list", "-z"), "unknown option -z", ""),
        (("topic", "list", "--kind"), "option --kind needs a value", ""),
        (("topic", "list", "--kind", "--yes"), "option --kind needs a value", ""),
        (("topic", "list", "--yes=1"), "option --yes takes no value", ""),
        (("topic", "list", "--kind", "odd"), "--kind: 'odd' is not one of normal", ""),
        (("topic", "list", "--timeout", "x"), "--timeout: 'x' is not a number", ""),
        (("topic", "list", "--timeout", "-1"), "--timeout: '-1' is not positive", ""),
        (("topic", "create", "T", "-q", "x"), "--queues: 'x' is not a whole number", ""),
        (("message", "send", "T", "x", "-p", "a"), "--property: 'a' is not NAME=VALUE", ""),
        (("topic", "create", "T", "-q", "1_0"), "--queues: '1_0' is not a whole number", ""),
        (("topic", "create", "T", "-q", str(2**63)), "--queues: '9223372036854775808' is out", ""),
        (("queue", "show", "T", "0", "-c", "0"), "--count: 0 is below 1", ""),
        (("message", "query", "offset", "T", "0", "-1"), "OFFSET: -1 is below 0", ""),
        (("message", "bench", "T", "--rate", "x"), "--rate: 'x' is not a number", ""),
        (("message", "bench", "T", "--rate", "nan"), "--rate: 'nan' is not a number", ""),
        (("message", "bench", "T", "--rate", "0"), "--rate: '0' is not positive", ""),
        (("message", "bench", "T", "--threads", "0"), "--threads: 0 is below 1", ""),
        (("message", "print", "T", "--limit", "-1"), "--limit: -1 is below 0", ""),
        (("message", "tail", "T", "--bytes", "-1"), "--bytes: -1 is below 0", ""),
        (("embedded", "--port", "65536"), "--port: 65536 is above 65535", ""),
        (("topic", "list", "--watch", "0"), "--watch: '0' is not positive", ""),
        (("doctor", "--skew", "-1"), "--skew: -1 is negative", ""),
        (("store", "verify", "DIR", "--jobs", "0"), "--jobs: 0 is below 1", ""),
        (("topic", "show", ""), "TOPIC is empty", "-h shows the usage"),
        (("topicStatus", "-t", " "), "--topic is empty", ""),
        (("lock", "list", "--group="), "--group is empty", ""),
        (("group", "lag", "G", "--store", ""), "--store is empty", ""),
        (("store", "info", ""), "DIR is empty", ""),
        (("store", "info", "--store="), "DIR is empty", ""),
        (("store", "diff", "A", ""), "B is empty", ""),
        (("topic", "import", ""), "FILE is empty", ""),
        (("message", "send", "T", "x", "--delay", "3"), "--delay", "did you mean --delay-level?"),
        (("topicStatus",), "topicStatus needs -t/--topic", ""),
        (("topicStatus", "T"), "topicStatus takes no argument 'T'", ""),
        (("updateTopic", "-t", "T"), "updateTopic needs one of -b/--brokerAddr", ""),
        (("clusterRT", "-i", "0"), "'0' is not positive", ""),
    ],
)
def test_a_wrong_line_says_what_is_wrong(tokens: tuple[str, ...], message: str, hint: str) -> None:

    with pytest.raises(Usage) as caught:
        parse(tokens)

    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ((), "message query id"),
        (("-s", "false"), "message query id"),
        (("-g", "G"), "message query id"),
        (("-g", "G", "-d", "C"), "message consume-direct"),
        (("-s", "true", "-u", "unit"), "message resend"),
        (("-s", "true", "-g", "G", "-d", "C"), "message consume-direct"),
    ],
)
def test_flags_of_a_java_name_make_another_command_of_it(flags: tuple[str, ...], name: str) -> None:
    made = parsed("queryMsgById", "-i", "A,B", *flags)

    assert made.command.name == name
    given = made.values.get("message_ids") or (made.values["message_id"],)
    assert split_ids(given) == ["A", "B"]


def test_a_java_name_presets_a_global_option() -> None:
    assert parsed("startMonitoring").settings.watch == 60
    assert parsed("startMonitoring", "--watch", "5").settings.watch == 5


def test_the_shells_topic_stands_in_for_a_missing_one() -> None:
    assert value(parsed("topic", "show", topic="T"), "topic") == "T"
    made = parsed("message", "query", "key", "k1", topic="T")
    assert (value(made, "topic"), value(made, "key")) == ("T", "k1")
    assert value(parsed("topic", "show", "U", topic="T"), "topic") == "U"


def test_a_store_directory_comes_first_or_from_the_shell() -> None:
    assert parsed("store", "info", "/tmp/s").store == "/tmp/s"
    assert parsed("store", "info", "--store", "/tmp/s").store == "/tmp/s"
    assert parsed("store", "info", store="/tmp/s").store == "/tmp/s"
    assert parsed("store", "info", "./other", store="/tmp/s").store == "./other"
    with pytest.raises(Usage, match="no store directory"):
        parse(["store", "info"])


def test_a_java_interval_is_our_watch() -> None:
    assert parsed("clusterList", "-i", "2").settings.watch == 2.0


def test_a_java_flag_may_read_a_global_option_in_its_own_way() -> None:
    made = parsed("brokerConsumeStats", "-b", "h:1", "-t", "1500")

    assert made.settings.timeout == 1.5
    assert parsed("brokerConsumeStats", "-b", "h:1", "--timeout", "3").settings.timeout == 3


def test_a_letter_of_java_is_not_a_global_option() -> None:
    made = parsed("updateKvConfig", "-s", "N", "-k", "K", "-v", "V")

    assert value(made, "value") == "V"
    assert not made.settings.verbose


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("export",), "export"),
        (("export", "-n", "h:1"), "export"),
        (("export", "configs"), "export configs"),
        (("-n", "h:1", "export", "-ojson", "configs"), "export configs"),
        (("completion", "bash"), "completion"),
        (("completion", "names", "topic"), "completion names"),
        (("store", "query", "DIR", "T", "K"), "store query"),
        (("store", "query", "key", "DIR", "T", "K"), "store query"),
        (("broker", "config-get", "h:1"), "broker config get"),
    ],
)
def test_the_longest_name_wins(words: tuple[str, ...], name: str) -> None:
    assert parsed(*words).command.name == name


VALUES: Final = {
    "perm": "6",
    "method": "get",
    "mode": "POP",
    "actions": "Pub",
    "decision": "Deny",
    "engine": "R",
    "table": "topics",
}
"""Values of flags that take no 1."""


OF_ONE_NAME: Final = {("setCommitLogReadAheadMode", "mode"): "1"}
"""The same, where other names have another kind of value in a flag of this field."""


def given(java: Java) -> dict[str, list[str]]:
    """Return the words of each flag that must be there, by the field that it fills."""
    wanted = [flag for flag in java.options if flag.required or flag.field in java.any_of[:1]]
    return {
        flag.field: [flag.names[0], *([value_of(java, flag)] if flag.has_arg else [])]
        for flag in wanted
    }


def value_of(java: Java, flag: JavaOption) -> str:
    """Return a text that a flag takes."""
    return OF_ONE_NAME.get((java.name, flag.field)) or VALUES.get(flag.field, "1")


def default_of(parameter: click.Parameter) -> object:
    """Return what a native line has where it does not say."""
    # Click's own mark for "no default" is None there.
    default = parameter.to_info_dict()["default"]
    return converted(parameter, default, click.Context(click.Command("any")))


@pytest.mark.parametrize("java", [one for one in JAVA if not one.is_branch], ids=lambda j: j.name)
def test_what_is_not_on_the_line_has_its_default(java: Java) -> None:
    words = given(java)

    parsed = parse([java.name, *(word for part in words.values() for word in part)])

    assert isinstance(parsed, ParsedLine)
    said = {*words, *(field for field, _ in java.preset)}
    left = [one for one in parsed.command.params if one.name not in said and not one.required]
    native = {one.name: default_of(one) for one in left}
    assert {one.name: parsed.values[one.name] for one in left} == native
