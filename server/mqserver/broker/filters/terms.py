"""The parts (terms) of an SQL92 filter, as functions from properties to values.

    price > 5 AND region IS NULL

    every([
      compared(prop("price"), Comparison.MORE, constant(5)),   each part is a Term: its form,
      is_null(prop("region"))])                                its function and its text

Rule: an expression that the real broker refuses while building it is refused here with the same
text; ``values`` has its behaviour while evaluating. NULL is None, which is neither true nor
false. AND and OR take many parts, so that a long chain is not a deep tree.

The real 4.9.7 broker has no LIKE; here it means what ISO/IEC 9075 says. Each piece of a pattern
is searched once, so matching takes at most pattern size times text size:

    'a_c%d'  ->  pieces  a.c | d      the first piece must match at the start, the last one at
                                      the end, those between match where they are found first

Source: filter/expression/*.java (4.9.7).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from mqserver.broker.filters.lexer import BadExpression
from mqserver.broker.filters.values import (
    EvaluationError,
    Long,
    Truth,
    Value,
    compare,
    compare_floats,
    negate_number,
    read_float,
    read_int,
    read_long,
)
from storefmt.config.fastjson import java_double


class _Piece(NamedTuple):
    size: int
    pattern: re.Pattern[str]


class LikePattern:
    """A pattern of LIKE.

    Args:
        pattern: ``%`` matches any text, ``_`` any one character.
        escape: a ``%``, ``_`` or escape after it stands for itself; empty for no escape.

    Raises:
        ValueError: the escape is longer than one character or precedes another character.
    """

    def __init__(self, pattern: str, escape: str = "") -> None:
        if len(escape) > 1:
            raise ValueError(f"escape {escape!r} of LIKE, expected one character")
        pieces: list[list[str]] = [[]]
        chars = iter(pattern)
        for char in chars:
            if escape and char == escape:
                plain = next(chars, "")
                if plain not in ("%", "_", escape):
                    raise ValueError(f"escape {escape!r} of LIKE before {plain!r}, expected % or _")
                pieces[-1].append(re.escape(plain))
            elif char == "%":
                pieces.append([])
            else:
                pieces[-1].append("." if char == "_" else re.escape(char))
        self._first, *self._more = (
            _Piece(len(piece), re.compile("".join(piece), re.DOTALL)) for piece in pieces
        )

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches the pattern."""
        if not self._more:
            return self._first.pattern.fullmatch(text) is not None
        match = self._first.pattern.match(text)
        for piece in self._more[:-1]:
            if match is None:
                return False
            match = piece.pattern.search(text, match.end())
        last = self._more[-1]
        start = len(text) - last.size
        return (
            match is not None
            and match.end() <= start
            and last.pattern.fullmatch(text, start) is not None
        )


Properties = Mapping[str, str]
Evaluate = Callable[[Properties], Value]

DEPTH_MAX: Final = 200
"""How deep parts may be nested; in a Java broker only the stack limits it."""
_SET_COUNT_MIN: Final = 5
LIKE_TEXT_SIZE_MAX: Final = 4_096
"""Longest property, in characters, that LIKE compares; a message with a longer one does not match.
"""


class Form(Enum):
    """The form of a part, which decides where it may be used."""

    CONSTANT = "a number or a text"
    TRUTH_CONSTANT = "TRUE, FALSE or NULL"
    PROPERTY = "a name"
    TRUTH = "a part that is true or false"
    NUMBER = "a negated part"


_CONSTANTS: Final = (Form.CONSTANT, Form.TRUTH_CONSTANT)
_TRUTHS: Final = (Form.TRUTH_CONSTANT, Form.TRUTH)


class Term(NamedTuple):
    """One part of an expression."""

    form: Form
    evaluate: Evaluate
    show: Callable[[], str]
    """Returns the text of the part as Java prints it."""
    value: Value = None
    """The value, if it is a constant."""
    name: str = ""
    """The name, if it is a property."""
    depth: int = 1


def refused(text: str, kind: str = "java.lang.RuntimeException") -> BadExpression:
    """Return the error for an expression for which Java throws while building it."""
    return BadExpression(f"{kind}: {text}")


def constant(value: Value) -> Term:
    """Return a literal."""
    form = Form.TRUTH_CONSTANT if value is None or isinstance(value, bool) else Form.CONSTANT
    return Term(form, lambda properties: value, lambda: _shown(value), value=value)


def _shown(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return java_double(value)
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(int(value))


def prop(name: str) -> Term:
    """Return the property of that name; its value is None in a message without it."""
    return Term(Form.PROPERTY, lambda properties: properties.get(name), lambda: name, name=name)


def negative(part: Term) -> Term:
    """Return ``-part``."""
    inner = part.evaluate
    return _term(
        Form.NUMBER,
        lambda properties: negate_number(inner(properties)),
        lambda: f"(- {part.show()})",
        part,
    )


def as_truth(part: Term) -> Term:
    """Return the part as a truth value; a property alone is never true.

    Raises:
        BadExpression: the part is a number or a text.
    """
    if part.form in _TRUTHS:
        return part
    if part.form is not Form.PROPERTY:
        raise refused(
            f"Expression will not result in a boolean value: {part.show()}",
            "org.apache.rocketmq.filter.parser.ParseException",
        )
    name = part.name

    def is_true(properties: Properties) -> Truth:
        # Java expects a Boolean here, and every property is a text.
        return False if name in properties else None

    return part._replace(form=Form.TRUTH, evaluate=is_true)


def negation(part: Term) -> Term:
    """Return NOT ``part``; raises the same errors as ``as_truth``."""
    inner = as_truth(part).evaluate

    def negate(properties: Properties) -> Truth:
        value = inner(properties)
        return None if value is None else not value

    return _term(Form.TRUTH, negate, lambda: f"(NOT {part.show()})", part)


def every(parts: Sequence[Term]) -> Term:
    """Return the parts joined by AND; raises the same errors as ``as_truth``."""
    return _joined(parts, "&&", decisive=False)


def some(parts: Sequence[Term]) -> Term:
    """Return the parts joined by OR; raises the same errors as ``as_truth``."""
    return _joined(parts, "||", decisive=True)


def _joined(parts: Sequence[Term], symbol: str, *, decisive: bool) -> Term:
    """Return the parts joined by AND or OR, which one part with the decisive value decides."""
    inner = [as_truth(part).evaluate for part in parts]
    otherwise = not decisive

    def evaluate(properties: Properties) -> Truth:
        result: Truth = otherwise
        for term in inner:
            value = term(properties)
            if value is decisive:
                return decisive
            if value is None:
                result = None
        return result

    def show() -> str:
        text = "(" * (len(parts) - 1) + parts[0].show()
        return text + "".join(f" {symbol} {part.show()})" for part in parts[1:])

    return _term(Form.TRUTH, evaluate, show, *parts)


def equal(left: Term, right: Term) -> Term:
    """Return ``left = right``.

    Raises:
        BadExpression: one side is NULL, or TRUE or FALSE is compared with a number or text.
    """
    for part in (left, right):
        if part.form in _CONSTANTS and part.value is None:
            raise refused(f"'{part.show()}' cannot be compared.")
    if left.form is Form.TRUTH_CONSTANT and right.form is Form.CONSTANT:
        raise refused(f"'{left.show()}' cannot be compared with '{right.show()}'")
    return _equal(left, right)


def is_null(part: Term) -> Term:
    """Return ``part IS NULL``."""
    return _equal(part, constant(None))


def _equal(left: Term, right: Term) -> Term:
    first, second = left.evaluate, right.evaluate

    def evaluate(properties: Properties) -> Truth:
        value, other = first(properties), second(properties)
        if value is None:
            # As in Java, two missing properties are equal.
            return True if other is None else None
        return False if other is None else not compare(value, other)

    return _term(Form.TRUTH, evaluate, lambda: f"({left.show()} == {right.show()})", left, right)


class Comparison(Enum):
    """A comparison of two values by order; the value is Java's symbol."""

    MORE = ">"
    MORE_OR_EQUAL = ">="
    LESS = "<"
    LESS_OR_EQUAL = "<="


_HOLDS: Final[Mapping[Comparison, Callable[[int], bool]]] = {
    Comparison.MORE: (0).__lt__,
    Comparison.MORE_OR_EQUAL: (0).__le__,
    Comparison.LESS: (0).__gt__,
    Comparison.LESS_OR_EQUAL: (0).__ge__,
}


def compared(left: Term, comparison: Comparison, right: Term) -> Term:
    """Return ``left > right``, or another comparison by order.

    Raises:
        BadExpression: one side is a text or a truth value.
    """
    for part in (left, right):
        is_number = part.form is Form.CONSTANT and not isinstance(part.value, str)
        if part.form not in (Form.PROPERTY, Form.NUMBER) and not is_number:
            raise refused(f"Value '{part.show()}' cannot be compared.")
    holds = _HOLDS[comparison]
    if left.form is Form.PROPERTY and right.form is Form.CONSTANT:
        evaluate = _compared_with(left.name, holds, right.value)
    else:
        evaluate = _compared(left.evaluate, holds, right.evaluate)
    symbol = comparison.value
    return _term(
        Form.TRUTH, evaluate, lambda: f"({left.show()} {symbol} {right.show()})", left, right
    )


def _compared(first: Evaluate, holds: Callable[[int], bool], second: Evaluate) -> Evaluate:
    def evaluate(properties: Properties) -> Truth:
        value = first(properties)
        if value is None:
            return None
        other = second(properties)
        if other is None:
            return None
        if isinstance(value, str) and isinstance(other, str):
            return holds(compare_floats(read_float(value), read_float(other)))
        return holds(compare(value, other))

    return evaluate


def _compared_with(name: str, holds: Callable[[int], bool], number: Value) -> Evaluate:
    """Return a faster test for the most frequent comparison, of a property with a number."""
    if isinstance(number, float):
        value = number

        def as_float(properties: Properties) -> Truth:
            text = properties.get(name)
            return None if text is None else holds(compare_floats(read_float(text), value))

        return as_float
    limit = int(number or 0)
    read = read_long if isinstance(number, Long) else read_int

    def as_integer(properties: Properties) -> Truth:
        text = properties.get(name)
        return None if text is None else holds(read(text) - limit)

    return as_integer


def between(part: Term, low: Term, high: Term) -> Term:
    """Return ``part BETWEEN low AND high``.

    Raises:
        BadExpression: a limit is NULL or a text, or the limits are in the wrong order.
    """
    if low.form in _CONSTANTS and high.form in _CONSTANTS:
        _check_limits(low.value, high.value)
    return every(
        [
            compared(part, Comparison.MORE_OR_EQUAL, low),
            compared(part, Comparison.LESS_OR_EQUAL, high),
        ]
    )


def _check_limits(low: Value, high: Value) -> None:
    if low is None or high is None:
        raise refused("Illegal values of between, values can not be null!")
    try:
        ordered = compare(high, low) >= 0
    except EvaluationError as fault:
        raise refused(str(fault)) from None
    if not ordered:
        raise refused(
            f"Illegal values of between, left value({_plain(low)}) must less than or equal to "
            f"right value({_plain(high)})"
        )


def _plain(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else _shown(value)


def not_between(part: Term, low: Term, high: Term) -> Term:
    """Return ``part NOT BETWEEN low AND high``; the limits may be in the wrong order.

    Raises:
        BadExpression: a limit or ``part`` is a text or a truth value.
    """
    return some([compared(part, Comparison.LESS, low), compared(part, Comparison.MORE, high)])


def member(part: Term, texts: Sequence[str], *, negate: bool) -> Term:
    """Return ``part IN (texts)`` or ``part NOT IN (texts)``.

    Raises:
        BadExpression: ``part`` is not a property.
    """
    if part.form is not Form.PROPERTY:
        raise refused(f"Expected a property for In expression, got: {part.show()}")
    name, members = part.name, frozenset(texts)

    def evaluate(properties: Properties) -> Truth:
        text = properties.get(name)
        return None if text is None else (text in members) is not negate

    word = "NOT IN" if negate else "IN"
    # Java keeps five or more texts in a set and prints them in its order; here they keep theirs.
    shown = texts if len(texts) < _SET_COUNT_MIN else dict.fromkeys(texts)
    return _term(Form.TRUTH, evaluate, lambda: f"{name} {word} ( {', '.join(shown)} )", part)


def like(part: Term, pattern: str, escape: str, *, negate: bool) -> Term:
    """Return ``part LIKE pattern``, which only strict expressions have.

    Args:
        part: the property.
        pattern: of ``LikePattern``, as is ``escape``.
        negate: True for NOT LIKE.

    Raises:
        BadExpression: ``part`` is not a property, or the escape is not one character that
            precedes ``%``, ``_`` or itself.
    """
    if part.form is not Form.PROPERTY:
        raise refused(f"Expected a property for Like expression, got: {part.show()}")
    name = part.name
    try:
        test = LikePattern(pattern, escape)
    except ValueError as error:
        raise refused(str(error)) from None

    def evaluate(properties: Properties) -> Truth:
        text = properties.get(name)
        if text is None:
            return None
        if len(text) > LIKE_TEXT_SIZE_MAX:
            raise EvaluationError(f"LIKE compares at most {LIKE_TEXT_SIZE_MAX} characters")
        return test.matches(text) is not negate

    word = "NOT LIKE" if negate else "LIKE"
    return _term(Form.TRUTH, evaluate, lambda: f"({name} {word} {_shown(pattern)})", part)


def _term(form: Form, evaluate: Evaluate, show: Callable[[], str], *parts: Term) -> Term:
    depth = 1 + max(part.depth for part in parts)
    if depth > DEPTH_MAX:
        raise refused(f"the expression is nested more than {DEPTH_MAX} deep")
    return Term(form, evaluate, show, depth=depth)
