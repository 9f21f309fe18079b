"""Expressions out of a random generator, right ones and broken ones, for differential tests."""

import random
from typing import Final

NAMES: Final = ["a", "b", "price", "TAGS", "_x$1", "nothing"]
NUMBERS: Final = [
    "0", "1", "5", "10", "007", "2147483647", "2147483648", "9223372036854775807",
    "9223372036854775808", "5L", "5l", "0l", "1.5", "5.0", ".5", "5.", "1e3", "1E-3", "0.0",
    "1e400", "1e-400", "123456789.125", "0x1F", "010",
]  # fmt: skip
TEXTS: Final = ["'x'", "'it''s'", "''", "'5'", "'1.5'", "'true'", "'TRUE'", "'äö中'", "'%'"]
VALUES: Final = [
    "x", "it's", "5", "1.5", "5.0", "true", "TRUE", "false", "1", "10", "-1", "+5", " 5", "5 ",
    "1e3", "NaN", "Infinity", "-0.0", "0", "0x1p3", "5f", "5d", "5L", "2147483647", "2147483648",
    "9223372036854775807", "9223372036854775808", "٥", "äö中", ".", "5.", "abc", "1_0", "007",
]  # fmt: skip
PIECES: Final = [
    "(", ")", ",", "'", "--", "/*", "*/", "NOT", "AND", "OR", "IS", "NULL", "IN", "BETWEEN",
    "LIKE 'x%'", "=", "<>", "!=", "==", "#", '"', "a", "1", "'x'", "\n", "\t", "+", "-", "ü", "\\",
    "CONTAINS 'x'", ";", ".", "/", "*", "%", "true", "@",
]  # fmt: skip


def operand(rng: random.Random) -> str:
    return rng.choice(
        [rng.choice(NAMES)] * 5
        + [rng.choice(NUMBERS)] * 4
        + [rng.choice(TEXTS)] * 2
        + ["-" + rng.choice(NUMBERS), "+" + rng.choice(NUMBERS), "TRUE", "false", "Null", "- a"]
    )


def right_side(rng: random.Random) -> str:
    """Return the part of a comparison behind its first operand."""
    texts = ", ".join(rng.choice(TEXTS) for _ in range(rng.randint(1, 6)))
    number = rng.choice(NUMBERS)
    return rng.choice(
        [
            f"{rng.choice(['=', '<>', '>', '>=', '<', '<='])} {operand(rng)}",
            f"{rng.choice(['=', '<>', '>', '>=', '<', '<='])} {number}",
            f"= {rng.choice(TEXTS)}",
            f"= {rng.choice(['TRUE', 'FALSE'])}",
            rng.choice(["IS NULL", "is not NULL"]),
            f"{rng.choice(['', 'not '])}IN ({texts})",
            f"{rng.choice(['', 'NOT '])}BETWEEN {operand(rng)} AND {operand(rng)}",
            f"between {number} and {rng.choice(NUMBERS)}",
        ]
    )


def expression(rng: random.Random, depth: int = 3) -> str:
    """Return an expression; most can be compiled, many match something."""
    kind = rng.randint(0, 9) if depth else 0
    if kind < 5:
        left = rng.choice(NAMES) if rng.random() < 0.8 else operand(rng)
        return f"{left} {right_side(rng)}"
    if kind == 5:
        return f"NOT {expression(rng, depth - 1)}"
    if kind == 6:
        return f"({expression(rng, depth - 1)})"
    if kind == 7:
        return f"({expression(rng, depth - 1)}) {right_side(rng)}"
    joined = rng.choice([" AND ", " OR ", " and/* c */", "\tor\n"])
    return joined.join(expression(rng, depth - 1) for _ in range(rng.randint(2, 4)))


def broken(rng: random.Random, text: str) -> str:
    """Return an expression with something put in, cut out or left out."""
    pos = rng.randint(0, len(text))
    end = rng.randint(pos, min(len(text), pos + 6))
    piece = rng.choice(PIECES)
    return rng.choice(
        [text[:pos] + f" {piece} " + text[pos:], text[:pos] + text[end:], text[:pos], text + piece]
    )


def properties(rng: random.Random) -> dict[str, str]:
    return {name: rng.choice(VALUES) for name in NAMES[:-1] if rng.random() < 0.75}
