"""SQL92 expressions: ours against the classes of the real broker, thousands at a time."""

import random
from collections.abc import Mapping

from mqserver.broker.filters.bloom import BloomFilter
from mqserver.broker.filters.lexer import BadExpression
from mqserver.broker.filters.sql import compile_sql
from mqserver.broker.filters.values import EvaluationError
from tests.interop.kit.toolbox import Toolbox
from tests.server.broker.filters import expressions

CASE_COUNT = 4_000


def ours(sql: str, messages: list[dict[str, str]]) -> dict[str, object]:
    """Return what the Java program says, out of our classes."""
    try:
        compiled = compile_sql(sql)
    except BadExpression as error:
        return {"error": str(error)}
    return {"results": [result_of(compiled.evaluate, properties) for properties in messages]}


def result_of(evaluate: object, properties: Mapping[str, str]) -> object:
    assert callable(evaluate)
    try:
        return evaluate(properties)
    except EvaluationError:
        return "fault"


def test_generated_expressions_give_what_the_real_classes_give(toolbox: Toolbox) -> None:
    rng = random.Random(92)
    texts = [expressions.expression(rng) for _ in range(CASE_COUNT)]
    texts += [expressions.broken(rng, text) for text in texts[: CASE_COUNT // 2]]
    cases = [
        {"sql": text, "properties": [expressions.properties(rng) for _ in range(6)]}
        for text in texts
    ]

    printed = toolbox.run("SqlFilters", {"cases": cases}, timeout_s=120.0)

    assert len(printed) == len(cases)
    results: set[str] = set()
    for case, theirs in zip(cases, printed, strict=True):
        mine = ours(str(case["sql"]), list(case["properties"]))  # type: ignore[arg-type]
        if "error" in theirs:
            results.add("error")
            assert first_line(str(mine.get("error"))) == first_line(theirs["error"]), case
        else:
            assert mine == theirs, case
            results.update(map(str, theirs["results"]))
    assert results == {"error", "True", "False", "None", "fault"}


def first_line(error: str) -> str:
    """Return what both sides say alike of an error.

    The words that Java's parser expected follow in other lines, Java lists the texts of
    IN in the order of a hash set, and it has texts of its own for values it cannot cast.
    """
    line = error.partition("\n")[0].partition("IN (")[0]
    special = ("ClassCastException", "NumberFormatException")
    return "no number" if any(name in line for name in special) else line


def test_bloom_filters_have_the_geometry_and_bits_of_the_real_one(toolbox: Toolbox) -> None:
    rng = random.Random(7)
    blooms = [
        {
            "errorRate": rng.randint(1, 99),
            "count": rng.randint(1, 600),
            "texts": [f"{'g' * size}#Tö中{size}" for size in range(0, 40, 3)],
        }
        for _ in range(200)
    ]

    printed = toolbox.run("SqlFilters", {"blooms": blooms})

    for asked, theirs in zip(blooms, printed, strict=True):
        bloom = BloomFilter(int(str(asked["errorRate"])), int(str(asked["count"])))
        texts = asked["texts"]
        assert isinstance(texts, list)
        assert bloom.bit_count == theirs["bits"]
        assert [bloom.positions(text) for text in texts] == theirs["positions"]
