"""A setting is converted, or refused with its source; no mistake is ignored."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

from mqserver.runtime.typed_config import (
    RawSettings,
    SettingsError,
    Value,
    computed,
    format_settings,
    keys_of,
    read_environment,
    read_file,
    setting,
)
from storefmt.names import camel_case


class Flush(Enum):
    ASYNC_FLUSH = 1
    SYNC_FLUSH = 2


@dataclass
class Config:
    broker_name: str = computed(lambda: "host", important=True)
    broker_ip1: str = setting("127.0.0.1", key="brokerIP1")
    listen_port: int = setting(10911, low=0, high=65535, important=True)
    interval_ms: int = setting(500, key="interval", low=1)
    trace_on: bool = setting(True)
    flush_disk_type: Flush = Flush.ASYNC_FLUSH
    namesrv_addr: str | None = None
    not_a_setting: list[int] | None = None


def build(*pairs: tuple[str, str], java: tuple[str, ...] = ()) -> Config:
    values = [Value(key, text, "broker.conf line 7") for key, text in pairs]
    return RawSettings(values, known=keys_of(Config).keys(), java_keys=java).build(Config)


def refused(*pairs: tuple[str, str]) -> str:
    with pytest.raises(SettingsError) as caught:
        build(*pairs, java=("sendMessageThreadPoolNums",))
    return str(caught.value)


def test_values_are_typed_by_annotation() -> None:
    config = build(
        ("brokerName", "a"),
        ("brokerIP1", "10.0.0.1"),
        ("listenPort", "12"),
        ("traceOn", "False"),
        ("flushDiskType", "SYNC_FLUSH"),
        ("namesrvAddr", "x:1"),
    )

    assert config == Config(
        "a", "10.0.0.1", 12, trace_on=False, flush_disk_type=Flush.SYNC_FLUSH, namesrv_addr="x:1"
    )


def test_what_is_not_given_keeps_its_default() -> None:
    assert build() == Config()
    assert build(("namesrvAddr", "")).namesrv_addr is None


def test_a_later_value_wins() -> None:
    assert build(("listenPort", "1"), ("listenPort", "2")).listen_port == 2


@pytest.mark.parametrize("text", ["abc", "", "1.5", "1_000", "0x10", "١", "99999999", "-1"])
def test_a_malformed_number_names_place_key_and_range(text: str) -> None:
    assert refused(("listenPort", text)) == (
        f"broker.conf line 7: listenPort is {text!r}, expected an integer from 0 to 65535"
    )


def test_a_number_below_its_limit_is_refused() -> None:
    assert refused(("interval", "0")).endswith("interval is '0', expected an integer, at least 1")


@pytest.mark.parametrize("text", ["yes", "1", "", "tru"])
def test_a_malformed_boolean_is_refused(text: str) -> None:
    assert refused(("traceOn", text)).endswith(f"traceOn is {text!r}, expected true or false")


def test_an_unknown_choice_lists_the_choices() -> None:
    assert refused(("flushDiskType", "SYNC")).endswith("one of ASYNC_FLUSH, SYNC_FLUSH")


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("brokername", "brokerName"),
        ("listen_port", "listenPort"),
        ("sendMessageThreadPoolNum", "sendMessageThreadPoolNums"),
    ],
)
def test_an_unknown_key_suggests_the_nearest(key: str, near: str) -> None:
    assert refused((key, "1")) == (f"broker.conf line 7: unknown key {key}; did you mean {near}?")


def test_a_key_like_nothing_else_gets_no_suggestion() -> None:
    assert refused(("zzzz", "1")).endswith("unknown key zzzz; `-p` lists the keys")


def test_every_fault_is_told_at_once() -> None:
    assert len(refused(("listenPort", "x"), ("traceOn", "x"), ("zzzz", "x")).splitlines()) == 3


def test_a_key_only_java_uses_is_accepted_and_listed() -> None:
    values = [Value("sendMessageThreadPoolNums", "1", "a"), Value("listenPort", "5", "a")]

    settings = RawSettings(
        values, known=keys_of(Config).keys(), java_keys=["sendMessageThreadPoolNums"]
    )

    assert settings.build(Config).listen_port == 5
    assert settings.not_used == values[:1]


def test_format_gives_rocketmq_keys_and_texts() -> None:
    assert format_settings(Config(), important_only=True) == [
        ("brokerName", "host"),
        ("listenPort", "10911"),
    ]
    assert ("flushDiskType", "ASYNC_FLUSH") in format_settings(Config())
    assert ("traceOn", "true") in format_settings(Config())
    assert ("namesrvAddr", "") in format_settings(Config())


def test_formatted_settings_read_back() -> None:
    config = Config(broker_name="b", namesrv_addr="a:1", trace_on=False)

    assert build(*format_settings(config)) == config


def test_properties_file_values_know_their_line(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text("# mine\nbrokerName = a \nlistenPort=1\n")

    assert read_file(path) == [
        Value("brokerName", "a", f"{path} line 2"),
        Value("listenPort", "1", f"{path} line 3"),
    ]


@pytest.mark.parametrize("name", ["broker.yml", "broker.yaml"])
def test_yaml_is_read_where_the_name_says_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("brokerName: a\nlistenPort: 12\ntraceOn: false\nnamesrvAddr:\n")

    config = build(*[(value.key, value.text) for value in read_file(path)])

    assert config == Config("a", listen_port=12, trace_on=False)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.conf", None, "no such file or directory"),
        ("latin.conf", b"brokerName=\xe4", "utf-8"),
        ("escape.conf", b"a=1\nb=\\u12", "line 2"),
        ("list.yaml", b"- a", "mapping"),
        ("nested.yaml", b"a: {b: 1}", "a is a dict"),
        ("broken.yaml", b"a: [", "parsing"),
        ("deep.yaml", b"a: " + b"[" * 2_000, "nested too deep"),
        ("code.yaml", b"a: !!python/object/apply:os.getcwd []", "could not determine"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content, reason) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError) as caught:
        read_file(path)

    assert str(path) in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_yaml_file_sets_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing\n")

    assert read_file(tmp_path / "empty.yaml") == []


def test_environment_gives_keys_and_leaves_java_names_alone() -> None:
    environment = {"ROCKETMQ_listenPort": "7", "ROCKETMQ_HOME": "/opt", "HOME": "/root"}

    assert read_environment(environment) == [
        Value("listenPort", "7", "environment variable ROCKETMQ_listenPort")
    ]


def test_camel_case() -> None:
    assert camel_case("auto_create_topic_enable") == "autoCreateTopicEnable"
