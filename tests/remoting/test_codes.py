"""The numbers are those of the real classes."""

import json
from enum import IntEnum
from pathlib import Path

import pytest

from remoting.codes import (
    ExtensionCode,
    JavaOnlyCode,
    LanguageCode,
    LaterCode,
    LaterResponseCode,
    RequestCode,
    ResponseCode,
)


@pytest.mark.parametrize(
    ("table", "codes"),
    [
        ("request_codes", RequestCode),
        ("response_codes", ResponseCode),
        ("language_codes", LanguageCode),
    ],
)
def test_codes_equal_the_real_table(fact_tables: Path, table: str, codes: type[IntEnum]) -> None:
    expected = json.loads((fact_tables / f"{table}.json").read_text())

    assert {code.name: int(code) for code in codes} == expected


def test_codes_of_others_do_not_shadow_a_real_one() -> None:
    real = {int(code) for code in RequestCode}

    assert not real & {int(code) for code in (*LaterCode, *JavaOnlyCode, *ExtensionCode)}


@pytest.mark.parametrize(
    ("table", "codes"),
    [
        ("request_codes_5x", LaterCode),
        ("request_codes_5x", JavaOnlyCode),
        ("response_codes_5x", LaterResponseCode),
    ],
)
def test_later_codes_are_those_of_five(fact_tables: Path, table: str, codes: type[IntEnum]) -> None:
    known = json.loads((fact_tables / f"{table}.json").read_text())

    for code in codes:
        assert known[code.name] == code, code
