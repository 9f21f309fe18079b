"""SQL92 expressions against an independent evaluator, and the oddities one by one."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqserver.broker.filters import sql
from mqserver.broker.filters.lexer import BadExpression, TooLong
from mqserver.broker.filters.sql import EXPRESSION_SIZE_MAX, NESTED_MAX, OPERANDS_MAX, compile_sql
from mqserver.broker.filters.terms import LIKE_TEXT_SIZE_MAX
from mqserver.broker.filters.values import NUMBER_SIZE_MAX, EvaluationError

# The reference: trees of tuples, evaluated by a table of three values as in a textbook.
Tree = tuple[object, ...]
Message = Mapping[str, str]

NAMES = st.sampled_from(["a", "b", "c"])
INTEGERS = st.integers(0, 12)
FLOATS = st.sampled_from([0.5, 1.5, 5.0, 10.25])
TEXTS = st.sampled_from(["x", "it's", "5", ""])
MESSAGES = st.dictionaries(NAMES, st.sampled_from(["x", "it's", "5", "1.5", "12", "7"]))
SYMBOLS = st.sampled_from(["<", "<=", ">", ">="])

LEAVES = st.one_of(
    st.tuples(st.just("order"), NAMES, SYMBOLS, st.one_of(INTEGERS, FLOATS)),
    st.tuples(st.just("text"), NAMES, TEXTS),
    st.tuples(st.just("null"), NAMES, st.booleans()),
    st.tuples(st.just("in"), NAMES, st.lists(TEXTS, min_size=1, max_size=6), st.booleans()),
    st.tuples(st.just("between"), NAMES, INTEGERS, INTEGERS, st.booleans()),
    st.tuples(st.just("truth"), st.sampled_from([True, False, None])),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=4)),
    ),
    max_leaves=12,
)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def written(tree: Tree) -> str:
    """Return a tree as an expression, every part in parentheses."""
    match tree:
        case ("order", name, symbol, number):
            return f"({name} {symbol} {number})"
        case ("text", name, str(text)):
            return f"({name} = {quoted(text)})"
        case ("null", name, negate):
            return f"({name} IS {'NOT ' if negate else ''}NULL)"
        case ("in", name, list(texts), negate):
            words = ", ".join(map(quoted, texts))
            return f"({name} {'NOT ' if negate else ''}IN ({words}))"
        case ("between", name, low, high, negate):
            return f"({name} {'NOT ' if negate else ''}BETWEEN {low} AND {high})"
        case ("truth", value):
            return {True: "TRUE", False: "FALSE", None: "NULL"}[value]  # type: ignore[index]
        case ("not", tuple(inner)):
            return f"(NOT {written(inner)})"
        case (str(word), list(parts)):
            return "(" + f" {word} ".join(written(part) for part in parts) + ")"
    raise AssertionError(tree)


def number_like(text: str, number: object) -> float:
    if isinstance(number, float):
        return float(text) if text not in ("x", "it's") else _fault()
    return int(text) if text.isdecimal() else _fault()


def _fault() -> float:
    raise EvaluationError("no number")


def reference(tree: Tree, message: Message) -> bool | None:
    """Evaluate a tree; raises EvaluationError where a text is no number, from left to right."""
    match tree:
        case ("order", str(name), str(symbol), number):
            if name not in message:
                return None
            left, right = number_like(message[name], number), number
            assert isinstance(right, int | float)
            return {"<": left < right, "<=": left <= right, ">": left > right,
                    ">=": left >= right}[symbol]  # fmt: skip
        case ("text", str(name), text):
            return None if name not in message else message[name] == text
        case ("null", name, bool(negate)):
            return (name in message) is negate
        case ("in", str(name), list(texts), bool(negate)):
            return None if name not in message else (message[name] in texts) is not negate
        case ("between", name, low, high, negate):
            first, second, word = ("<", ">", "or") if negate else (">=", "<=", "and")
            return reference(
                (word, [("order", name, first, low), ("order", name, second, high)]), message
            )
        case ("truth", value):
            assert value is None or isinstance(value, bool)
            return value
        case ("not", tuple(inner)):
            value = reference(inner, message)
            return None if value is None else not value
        case (word, list(parts)):
            decisive = word == "or"
            values = []
            for part in parts:
                values.append(reference(part, message))
                if values[-1] is decisive:
                    return decisive
            return None if None in values else not decisive
    raise AssertionError(tree)


def can_be_compiled(tree: Tree) -> bool:
    """Tell that no BETWEEN has its limits in the wrong order, which Java refuses."""
    match tree:
        case ("between", _, int(low), int(high), negate):
            return bool(negate) or low <= high
        case ("not", tuple(inner)):
            return can_be_compiled(inner)
        case (_, list(parts)) if parts and isinstance(parts[0], tuple):
            return all(can_be_compiled(part) for part in parts)
    return True


@settings(max_examples=600, deadline=None, derandomize=True)
@given(TREES, st.lists(MESSAGES, max_size=4), st.booleans())
def test_expressions_are_what_the_reference_says(
    tree: Tree, messages: list[dict[str, str]], strict: bool
) -> None:
    if not can_be_compiled(tree):
        with pytest.raises(BadExpression, match="Illegal values of between"):
            compile_sql(written(tree), strict=strict)
        return

    expression = compile_sql(written(tree), strict=strict)

    assert expression.ignored == ""
    for message in messages:
        try:
            wanted = reference(tree, message)
        except EvaluationError:
            assert not expression.matches(message)
            continue
        assert expression.evaluate(message) is wanted
        assert expression.matches(message) is (wanted is True)


def matches(text: str, strict: bool = False, /, **message: str) -> bool:
    return compile_sql(text, strict=strict).matches(message)


def test_what_follows_an_expression_is_dropped() -> None:
    expression = compile_sql("s LIKE 'x%'")

    assert expression.ignored == "LIKE 'x%'"
    # A property alone is a text and never true.
    assert expression.evaluate({"s": "xyz"}) is False
    assert expression.evaluate({}) is None
    assert matches("a = 1 ) ' #", a="1")


def test_not_binds_to_the_name() -> None:
    assert not matches("NOT a = 1", a="2")
    assert matches("NOT (a = 1)", a="2")
    assert matches("NOT a = TRUE", a="anything")


def test_a_text_must_have_the_type_of_the_number() -> None:
    assert not matches("d > 1", d="1.5")
    assert matches("d > 1.0", d="1.5")
    assert matches("d > 1.0", d="2")
    assert not matches("d = 5000000000", d="5e9")


def test_properties_that_are_not_there_are_equal() -> None:
    assert matches("a = b")
    assert compile_sql("a = b").evaluate({"b": "x"}) is None
    assert compile_sql("a = b").evaluate({"a": "x"}) is False


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a > 'x'", "java.lang.RuntimeException: Value ''x'' cannot be compared."),
        ("a = NULL", "java.lang.RuntimeException: 'NULL' cannot be compared."),
        ("TRUE = 1", "java.lang.RuntimeException: 'TRUE' cannot be compared with '1'"),
        ("a > 0.0", "java.lang.RuntimeException: 0.0 is less than 4.9E-324"),
        ("a > 1e400", "java.lang.RuntimeException: 1e400 is greater than 1.7976931348623157E308"),
        ("a = 9223372036854775808",
         'java.lang.NumberFormatException: For input string: "9223372036854775808"'),
        ("(a = 1) IN ('x')",
         "java.lang.RuntimeException: Expected a property for In expression, got: (a == 1)"),
        ("a AND 1", "org.apache.rocketmq.filter.parser.ParseException: "
         "Expression will not result in a boolean value: 1"),
        ("a BETWEEN 5 AND 1", "java.lang.RuntimeException: Illegal values of between, "
         "left value(5) must less than or equal to right value(1)"),
        ("a BETWEEN 1 AND NULL",
         "java.lang.RuntimeException: Illegal values of between, values can not be null!"),
        ("a BETWEEN 1 AND 'x'",
         'java.lang.RuntimeException: java.lang.NumberFormatException: For input string: "x"'),
    ],
)  # fmt: skip
def test_what_java_refuses_is_refused_with_its_text(text: str, error: str) -> None:
    with pytest.raises(BadExpression) as caught:
        compile_sql(text)

    assert str(caught.value) == error


@pytest.mark.parametrize(
    "text",
    [
        "", "a =", "a NOT 1", "a != 1", "a == 1", 'a = "x"', "a IN (1)", "(a = 1", "a IS 1",
        "a BETWEEN 1", "1", "'x'",
    ],
)  # fmt: skip
def test_malformed_expressions_are_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        compile_sql(text)


def test_nesting_is_bounded() -> None:
    fine = "(" * NESTED_MAX + "a = 1" + ")" * NESTED_MAX
    assert matches(fine, a="1")
    with pytest.raises(BadExpression, match="parentheses"):
        compile_sql("(" + fine + ")")
    for deep in ("NOT " * 500 + "(a = 1)", "(a = 1)" + " = TRUE" * 500, "-" * 500 + "1 = 1"):
        with pytest.raises(BadExpression, match="deep"):
            compile_sql(deep.replace("--", "- -"))


def test_chains_are_as_long_as_there_may_be_operands() -> None:
    count = OPERANDS_MAX // 2

    assert matches(" OR ".join(f"a = {i}" for i in range(count)), a=f"{count - 1}")
    assert matches("a = 1" + " AND a = 1" * (count - 1), a="1")
    with pytest.raises(TooLong, match=f"more than {OPERANDS_MAX} operands"):
        compile_sql("a = 1" + " AND a = 1" * count)


@pytest.mark.parametrize("size", [EXPRESSION_SIZE_MAX, EXPRESSION_SIZE_MAX + 1])
def test_the_text_of_an_expression_is_bounded(size: int) -> None:
    text = "a = 1".ljust(size)

    if size <= EXPRESSION_SIZE_MAX:
        assert matches(text, a="1")
    else:
        with pytest.raises(TooLong, match=f"{size} characters, the limit is"):
            compile_sql(text)


def test_texts_of_in_count_as_one_operand_and_a_pattern_by_its_characters() -> None:
    assert compile_sql("a IN ('x', 'y', 'z') OR b > 5").operand_count == 4
    assert compile_sql("a LIKE 'abc%'", strict=True).operand_count == 5


@pytest.mark.parametrize("text", ["once = 1 AND b > 2", "once ="])
def test_an_expression_is_compiled_once_whether_or_not_it_can_be(text: str) -> None:
    outcomes = []
    before = sql._compiled.cache_info()

    for _ in range(2):
        try:
            outcomes.append(str(compile_sql(text)))
        except BadExpression as error:
            outcomes.append(str(error))

    after = sql._compiled.cache_info()
    assert outcomes[0] == outcomes[1]
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 1)


@pytest.mark.parametrize("text", ["a > 5", "a > 1.5", "a > b"])
def test_a_number_that_is_longer_than_any_is_not_read(text: str) -> None:
    digits = "0" * (NUMBER_SIZE_MAX - 1) + "7"

    assert matches(text, a=digits, b="1")
    assert not matches(text, a="0" + digits, b="1")


def test_like_does_not_look_at_very_long_texts() -> None:
    assert matches("s LIKE '%x'", True, s="x" * LIKE_TEXT_SIZE_MAX)
    assert not matches("s LIKE '%x'", True, s="x" * (LIKE_TEXT_SIZE_MAX + 1))


def test_strict_refuses_a_tail() -> None:
    with pytest.raises(BadExpression, match="Encountered"):
        compile_sql("a = 1 b", strict=True)


@pytest.mark.parametrize(
    ("pattern", "text", "does"),
    [
        ("'x%'", "xyz", True),
        ("'x%'", "ax", False),
        ("'_b%d'", "abcd", True),
        ("'.'", "a", False),
        ("'%a%%b%'", "--a--b--", True),
        ("'50!%' ESCAPE '!'", "50%", True),
        ("'50!%' ESCAPE '!'", "500", False),
        ("'%'", "two\nlines", True),
    ],
)
def test_like_is_that_of_sql(pattern: str, text: str, does: bool) -> None:
    assert matches(f"s LIKE {pattern}", True, s=text) is does
    assert matches(f"s NOT LIKE {pattern}", True, s=text) is not does
    assert compile_sql(f"s LIKE {pattern}", strict=True).evaluate({}) is None


@pytest.mark.parametrize(
    "text", ["1 LIKE 'x'", "s LIKE 'x' ESCAPE 'ab'", "s LIKE 'x!' ESCAPE '!'", "s LIKE 5"]
)
def test_like_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        compile_sql(text, strict=True)
