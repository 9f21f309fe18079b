"""JSON of strangers: plain values, and one kind of error for everything else."""

import pytest

from storefmt.config.foreign_json import read_json


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2.5, "x", null, true]}', b'{"a": [1, 2.5, "x", null, true]}']
)
def test_json_is_read_from_text_and_bytes(text: str | bytes) -> None:
    assert read_json(text) == {"a": [1, 2.5, "x", None, True]}


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[1,]", "{'a': 1}", "\ufeff{}", b"\xff\xfe\xff", b'"\xe9"',
        "[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000,
        "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 5_000,
        '{"a": 1, "a": 1}', '[{"b": {"a": 1, "b": 2, "a": 3}}]',
    ],
)  # fmt: skip
def test_whatever_is_wrong_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)
