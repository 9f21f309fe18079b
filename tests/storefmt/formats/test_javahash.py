"""String.hashCode and what RocketMQ makes of it; the numbers are from a JVM."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storefmt.formats import javahash
from storefmt.formats.javahash import index_key_hash, string_hash, tags_code
from storefmt.kernels import PURE
from tests.programs import python
from tests.twins import FORMS, compiled, use_form

UNIQUE = "TopicTest#FD00000000000000000000000000000272BB4E0E2F2A67EC3C1B0000"

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)
"""Lone surrogates, too, which Python's texts may have and Java's as well."""


@pytest.fixture(params=FORMS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash in each of the ways."""
    use_form(monkeypatch, request.param, javahash, "_hash", "hash_compiled")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("TagA", 2598919),
        ("polygenelubricants", -(2**31)),
        ("😀值", 54980409),
        ("a\0b", 93315),
        ("%RETRY%group", 995971261),
        (UNIQUE, -918351130),
    ],
)
def test_hash_is_that_of_java(text: str, value: int) -> None:
    assert string_hash(text) == value


@settings(
    derandomize=True,
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.one_of(ANY_TEXT, st.text("aé", max_size=300), st.text("ab#", max_size=300)))
def test_hash_equals_the_definition(text: str) -> None:
    raw = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for pos in range(0, len(raw), 2):
        value = (31 * value + int.from_bytes(raw[pos : pos + 2], "big")) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >> 31 else value

    assert string_hash(text) == signed
    assert index_key_hash(text) == (0 if signed == -(2**31) else abs(signed))


def test_index_hash_is_never_negative() -> None:
    assert index_key_hash("polygenelubricants") == 0
    assert index_key_hash(UNIQUE) == 918351130


def test_message_without_tag_has_code_zero() -> None:
    assert tags_code(None) == 0
    assert tags_code("") == 0
    assert tags_code("TagA") == 2598919


@pytest.mark.parametrize("pure", ["", "1"])
def test_environment_forces_the_plain_way(pure: str) -> None:
    program = (
        "from storefmt.dispatch import index_table\n"
        "from storefmt.formats import javahash\n"
        "print(javahash._hash.__name__, index_table._add_rows.__name__)"
    )

    done = python("-c", program, env={**os.environ, PURE: pure})

    way = "pure" if pure or compiled("hash_compiled") is None else "compiled"
    assert done.stdout.split() == [f"hash_{way}", f"add_rows_{way}"]
