"""Compile SQL92 filters: the text of an expression becomes a test of message properties.

    or         = and (OR and)*
    and        = equality (AND equality)*
    equality   = comparison (= comparison | <> comparison | IS [NOT] NULL)*
    comparison = unary (> unary | >= .. | < .. | <= .. | [NOT] BETWEEN unary AND unary
                        | [NOT] IN ('text', ..) | [NOT] LIKE 'text' [ESCAPE 'c'], strict only)*
    unary      = (+ | - | NOT)* (literal | name | "(" or ")")

Rule: the result is that of the real broker, including its oddities. Text after a complete
expression is ignored, ``NOT a = 1`` means ``(NOT a) = 1``, the text of a property must be a number
of the literal's type, and an expression that cannot be evaluated does not match. A strict
expression must end where its text ends, and may contain LIKE. Nesting is limited because this
parser recurses; text and operands are limited because compiling and evaluating blocks the loop.

Source: filter/parser/SelectorParser.jj, filter/SqlFilter.java (4.9.7).
"""

from functools import lru_cache
from typing import Final, NamedTuple

from mqserver.broker.filters import terms
from mqserver.broker.filters.lexer import BadExpression, Lexer, TokenKind, TooLong
from mqserver.broker.filters.terms import Comparison, Properties, Term
from mqserver.broker.filters.values import INT_MAX, LONG_MAX, EvaluationError, Long, Truth, Value
from storefmt.config.fastjson import java_double

SQL92: Final = "SQL92"
NESTED_MAX: Final = 64
"""How many parentheses may be open at once."""
EXPRESSION_SIZE_MAX: Final = 4_096
"""Characters of an expression."""
OPERANDS_MAX: Final = 512
"""Names and literals in an expression. All texts of an IN count as one operand, and every
character of a LIKE pattern counts as one."""
COMPILED_COUNT_MAX: Final = 128
"""Compiled expressions that are cached, besides those of the consumer groups."""
_FLOAT_MAX: Final = 1.7976931348623157e308
_FLOAT_MIN: Final = 5e-324

_COMPARISONS: Final = {
    TokenKind.GREATER: Comparison.MORE,
    TokenKind.GREATER_EQUAL: Comparison.MORE_OR_EQUAL,
    TokenKind.LESS: Comparison.LESS,
    TokenKind.LESS_EQUAL: Comparison.LESS_OR_EQUAL,
}
_PREFIXES: Final = (TokenKind.PLUS, TokenKind.MINUS, TokenKind.NOT)
_BEGINNINGS: Final = (
    TokenKind.NOT,
    TokenKind.TRUE,
    TokenKind.FALSE,
    TokenKind.NULL,
    TokenKind.INTEGER,
    TokenKind.FLOAT,
    TokenKind.STRING,
    TokenKind.NAME,
    TokenKind.OPEN,
    TokenKind.MINUS,
)
_WORDS: Final[dict[TokenKind, Value]] = {
    TokenKind.TRUE: True,
    TokenKind.FALSE: False,
    TokenKind.NULL: None,
}


class Expression(NamedTuple):
    """One compiled expression."""

    text: str
    term: Term
    ignored: str
    """The text after the expression, which has no effect."""
    operand_count: int
    """How many names and literals it has; this measures the cost of evaluating it."""

    def evaluate(self, properties: Properties) -> Truth:
        """Return true, false, or None for unknown.

        Raises:
            EvaluationError: a comparison for which Java throws.
        """
        value = self.term.evaluate(properties)
        return None if value is None else bool(value)

    def matches(self, properties: Properties) -> bool:
        """Return whether the expression accepts a message with these properties."""
        try:
            return self.term.evaluate(properties) is True
        except EvaluationError:
            return False


def compile_sql(text: str, *, strict: bool = False) -> Expression:
    """Compile the expression at the beginning of a text.

    The last results, including refusals, are cached, so that the expression of a pull is not
    compiled each time.

    Args:
        text: the expression.
        strict: refuse text after the expression, and allow LIKE.

    Raises:
        TooLong: the expression is longer or has more operands than this broker evaluates.
        BadExpression: it cannot be compiled; where clients see it, the text is the real broker's.
    """
    if len(text) > EXPRESSION_SIZE_MAX:
        raise TooLong(
            f"the expression has {len(text)} characters, the limit is {EXPRESSION_SIZE_MAX}"
        )
    expression = _compiled(text, strict)
    if isinstance(expression, BadExpression):
        raise type(expression)(str(expression))
    return expression


@lru_cache(maxsize=COMPILED_COUNT_MAX)
def _compiled(text: str, strict: bool) -> Expression | BadExpression:
    try:
        lexer = Lexer(text, strict=strict)
        parser = _Parser(lexer, strict=strict)
        term = terms.as_truth(parser.any_of())
        if strict and lexer.peek().kind is not TokenKind.END:
            raise lexer.unexpected(TokenKind.END)
        return Expression(text, term, lexer.rest(), parser.operand_count)
    except BadExpression as error:
        # Without a traceback, the cached error does not keep the frames of this call alive.
        return error.with_traceback(None)


class _Parser:
    """A recursive descent parser with a method for each line of the grammar."""

    def __init__(self, lexer: Lexer, *, strict: bool) -> None:
        self._lexer = lexer
        self._strict = strict
        self._open_count = 0
        self.operand_count = 0

    def _count(self, operands: int = 1) -> None:
        self.operand_count += operands
        if self.operand_count > OPERANDS_MAX:
            raise TooLong(
                f"the expression has more than {OPERANDS_MAX} operands (names and literals), "
                "which is the limit"
            )

    def _skip(self, kind: TokenKind) -> bool:
        if self._lexer.peek().kind is not kind:
            return False
        self._lexer.next_token()
        return True

    def any_of(self) -> Term:
        """Parse parts joined by OR."""
        parts = [self._all_of()]
        while self._skip(TokenKind.OR):
            part = self._all_of()
            # As in Java, both sides are checked before the next part is read.
            parts[0] = terms.as_truth(parts[0])
            parts.append(terms.as_truth(part))
        return terms.some(parts) if len(parts) > 1 else parts[0]

    def _all_of(self) -> Term:
        parts = [self._equality()]
        while self._skip(TokenKind.AND):
            part = self._equality()
            parts[0] = terms.as_truth(parts[0])
            parts.append(terms.as_truth(part))
        return terms.every(parts) if len(parts) > 1 else parts[0]

    def _equality(self) -> Term:
        left = self._comparison()
        while True:
            if self._skip(TokenKind.EQUAL):
                left = terms.equal(left, self._comparison())
            elif self._skip(TokenKind.NOT_EQUAL):
                left = terms.negation(terms.equal(left, self._comparison()))
            elif self._skip(TokenKind.IS):
                negate = self._skip(TokenKind.NOT)
                self._lexer.expect(TokenKind.NULL)
                left = terms.is_null(left)
                left = terms.negation(left) if negate else left
            else:
                return left

    def _comparison(self) -> Term:
        left = self._unary()
        while True:
            kind = self._lexer.peek().kind
            comparison = _COMPARISONS.get(kind)
            if comparison is not None:
                self._lexer.next_token()
                left = terms.compared(left, comparison, self._unary())
            elif kind in (TokenKind.NOT, TokenKind.BETWEEN, TokenKind.IN, TokenKind.LIKE):
                left = self._predicate(left)
            else:
                return left

    def _predicate(self, left: Term) -> Term:
        first = self._lexer.peek()
        negate = self._skip(TokenKind.NOT)
        if self._skip(TokenKind.BETWEEN):
            low = self._unary()
            self._lexer.expect(TokenKind.AND)
            make = terms.not_between if negate else terms.between
            return make(left, low, self._unary())
        if self._skip(TokenKind.IN):
            return terms.member(left, self._texts(), negate=negate)
        if self._skip(TokenKind.LIKE):
            pattern = self._text()
            self._count(len(pattern))
            escape = self._text() if self._skip(TokenKind.ESCAPE) else ""
            return terms.like(left, pattern, escape, negate=negate)
        raise self._lexer.unexpected(TokenKind.BETWEEN, TokenKind.IN, *_COMPARISONS, at=first)

    def _texts(self) -> list[str]:
        self._lexer.expect(TokenKind.OPEN)
        self._count()
        texts = [self._text()]
        while self._skip(TokenKind.COMMA):
            texts.append(self._text())
        self._lexer.expect(TokenKind.CLOSE)
        return texts

    def _text(self) -> str:
        return self._lexer.expect(TokenKind.STRING).text[1:-1].replace("''", "'")

    def _unary(self) -> Term:
        prefixes: list[TokenKind] = []
        while self._lexer.peek().kind in _PREFIXES:
            prefixes.append(self._lexer.next_token().kind)
        part = self._primary()
        for prefix in reversed(prefixes):
            if prefix is TokenKind.MINUS:
                part = terms.negative(part)
            elif prefix is TokenKind.NOT:
                part = terms.negation(part)
        return part

    def _primary(self) -> Term:
        kind = self._lexer.peek().kind
        if kind is not TokenKind.OPEN:
            self._count()
        if kind is TokenKind.NAME:
            return terms.prop(self._lexer.next_token().text)
        if kind is TokenKind.STRING:
            return terms.constant(self._text())
        if kind is TokenKind.INTEGER:
            return terms.constant(_integer(self._lexer.next_token().text))
        if kind is TokenKind.FLOAT:
            return terms.constant(_float(self._lexer.next_token().text))
        if kind in _WORDS:
            self._lexer.next_token()
            return terms.constant(_WORDS[kind])
        if kind is not TokenKind.OPEN:
            raise self._lexer.unexpected(*_BEGINNINGS)
        self._lexer.next_token()
        self._open_count += 1
        if self._open_count > NESTED_MAX:
            raise BadExpression(f"more than {NESTED_MAX} parentheses are open; nest less")
        part = self.any_of()
        self._lexer.expect(TokenKind.CLOSE)
        self._open_count -= 1
        return part


def _integer(text: str) -> Value:
    digits = text.rstrip("lL")
    # A Long has at most 19 digits, and Python refuses to parse very long numbers.
    value = int(digits) if len(digits) <= len(str(LONG_MAX)) else LONG_MAX + 1
    if value > LONG_MAX:
        raise terms.refused(f'For input string: "{digits}"', "java.lang.NumberFormatException")
    return value if value <= INT_MAX else Long(value)


def _float(text: str) -> float:
    value = float(text)
    if value > _FLOAT_MAX:
        raise terms.refused(f"{text} is greater than {java_double(_FLOAT_MAX)}")
    if value < _FLOAT_MIN:
        # Java compares with the smallest number above zero, so it also refuses 0.0.
        raise terms.refused(f"{text} is less than 4.9E-324")
    return value
