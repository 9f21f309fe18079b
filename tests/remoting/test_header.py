"""The declaration of a header gives its codec."""

from dataclasses import dataclass, field

import pytest

from remoting.errors import BadCall, BadHeader
from remoting.header import Header, Int32, Int64, fields_of, key, limits, parse_int
from storefmt.names import camel_case


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Header):
    """One of each kind."""

    name: str
    small: Int32
    large: Int64 = 0
    sure: bool = False
    positive: Int32 | None = field(default=None, metadata=limits(low=0))
    odd: str | None = field(default=None, metadata=key("oddKEY"))


def test_keys_come_from_names_or_metadata() -> None:
    keys = [one.key for one in fields_of(Sample)]

    assert keys == ["name", "small", "large", "sure", "positive", "oddKEY"]


def test_camel_case_keeps_digits_and_single_words() -> None:
    names = ("topic", "queue_id", "body_crc32", "is_order")

    assert [camel_case(name) for name in names] == ["topic", "queueId", "bodyCrc32", "isOrder"]


def test_both_ways() -> None:
    sample = Sample(name="n", small=-5, large=2**62, sure=True, positive=7, odd="")

    ext = sample.to_ext()

    assert ext == {
        "name": "n",
        "small": "-5",
        "large": str(2**62),
        "sure": "true",
        "positive": "7",
        "oddKEY": "",
    }
    assert Sample.from_ext(ext) == sample


def test_none_is_not_written_and_defaults_stand_in() -> None:
    assert Sample(name="n", small=1).to_ext() == {
        "name": "n",
        "small": "1",
        "large": "0",
        "sure": "false",
    }
    assert Sample.from_ext({"name": "n", "small": "1", "x": "y"}) == Sample(name="n", small=1)


@pytest.mark.parametrize("text", ["TRUE", "True", "true"])
def test_true_is_read_in_any_case(text: str) -> None:
    assert Sample.from_ext({"name": "", "small": "1", "sure": text}).sure


@pytest.mark.parametrize("text", ["1", "yes", "", "false", " true"])
def test_all_else_is_false(text: str) -> None:
    assert not Sample.from_ext({"name": "", "small": "1", "sure": text}).sure


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1_0",
        "0x1",
        "1.0",
        "+-1",
        "-",
        "２",
        "9" * 5000,
        "2147483648",
        "-2147483649",
    ],
)
def test_what_java_would_not_parse_is_refused(text: str) -> None:
    with pytest.raises(BadHeader) as caught:
        Sample.from_ext({"name": "", "small": text})

    assert caught.value.header == "Sample"
    assert caught.value.field == "small"


@pytest.mark.parametrize(("text", "number"), [("+5", 5), ("-5", -5), ("007", 7)])
def test_what_java_parses_is_read(text: str, number: int) -> None:
    assert parse_int(text) == number


def test_limits_hold_both_ways() -> None:
    with pytest.raises(BadHeader, match="outside 0 to 2147483647"):
        Sample.from_ext({"name": "", "small": "1", "positive": "-1"})
    with pytest.raises(BadCall, match="outside 0 to 2147483647"):
        Sample(name="", small=1, positive=-1).to_ext()


@pytest.mark.parametrize(
    "sample",
    [
        Sample(name=None, small=1),  # type: ignore[arg-type]
        Sample(name="", small=True),
        Sample(name="", small="1"),  # type: ignore[arg-type]
        Sample(name="", small=1, sure=1),  # type: ignore[arg-type]
        Sample(name="", small=2**31),
        Sample(name=b"", small=1),  # type: ignore[arg-type]
    ],
)
def test_wrong_values_are_our_fault(sample: Sample) -> None:
    with pytest.raises(BadCall):
        sample.to_ext()


def test_a_field_must_have_a_kind_the_wire_knows() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Wrong(Header):
        """Plain int says no width."""

        number: int

    with pytest.raises(TypeError, match="use str, bool, Int32 or Int64"):
        fields_of(Wrong)
