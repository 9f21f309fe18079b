"""The options of a line in every spelling that users know.

    -tX   -t X   --topic X   --topic=X   -topic X     the same option, five times
    -yv                                               two flags in one
    --                                                what follows are no options

Rule: global options may stand anywhere; an option of the command hides a global one that
is spelled the same (Java's ``updateTopic -o`` is not our ``-o``). Long names match without
regard to case, ``_`` and ``-``. Only here is it known that ``-1h`` after ``--to`` is a
value and that ``-topic`` is no cluster of flags.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from mqadmin.catalog import Found, fold
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, Parameter, leaves_value_out, truth
from mqadmin.registry import Command, Java, JavaOption, Needs
from mqadmin.settings import GLOBALS, JAVA_GLOBAL_LONG

NEGATIVE: Final = re.compile(r"-[0-9]")

STORE_DIR: Final = Parameter(
    name="store",
    help="store directory instead of the DIR argument",
    positional=False,
    required=False,
    takes_value=True,
    many=False,
    kind=Kind.DIR,
    short="",
    metavar="DIR",
    choices=(),
    parse=str,
    default=None,
)


class Spelling:
    """The options of one command together with the global ones, by every spelling."""

    def __init__(self, found: Found | None) -> None:
        self._short: dict[str, Parameter] = {}
        self._long: dict[str, Parameter] = {}
        for parameter in GLOBALS:
            self._add(parameter, parameter.short, parameter.long)
        for long, name in JAVA_GLOBAL_LONG.items():
            self._long[long] = self._long[fold(name)]
        if found is None:
            return
        if found.command.needs in (Needs.STORE, Needs.EITHER):
            self._add(STORE_DIR, "", STORE_DIR.name)
        for parameter in found.command.parameters:
            if not parameter.positional:
                self._add(parameter, parameter.short, parameter.long)
        if found.java is not None:
            self._add_java(found.command, found.java)

    def _add(self, parameter: Parameter, short: str, long: str) -> None:
        if short:
            self._short[short] = parameter
        self._long[fold(long)] = parameter

    def _add_java(self, made: Command[object], java: Java) -> None:
        by_name = {parameter.name: parameter for parameter in (*made.parameters, *GLOBALS)}
        for flag in java.options:
            target = _java_parameter(flag, by_name.get(flag.field))
            self._add(target, flag.short, flag.long)

    def named(self, text: str) -> Parameter | None:
        """Return the option with this long name."""
        return self._long.get(fold(text))

    def lettered(self, letter: str) -> Parameter | None:
        """Return the option with this one-letter name."""
        return self._short.get(letter)

    def parameters(self) -> list[Parameter]:
        """Return every option once, those of the command first."""
        every = {id(parameter): parameter for parameter in self._long.values()}.values()
        own = [parameter for parameter in every if parameter not in GLOBALS]
        return own + [parameter for parameter in every if parameter in GLOBALS]

    def is_option(self, word: str) -> bool:
        """Return whether a word is one of these options, rather than a value."""
        if len(word) < 2 or word[0] != "-":
            return False
        name = word.lstrip("-").partition("=")[0]
        if self.named(name) is not None:
            return True
        return not word.startswith("--") and len(word) == 2 and self.lettered(name) is not None

    def nearest(self, name: str) -> str:
        """Return a hint for an option that there is not."""
        known = {k: k for k in self._long} | {fold(p.long): p.long for p in self._long.values()}
        near = get_close_matches(fold(name), list(known), n=1, cutoff=0.6)
        return f"did you mean --{known[near[0]]}?" if near else "-h lists the options"


@dataclass(slots=True)
class Spelled:
    """Words sorted into options, as (parameter, text) pairs, and the rest."""

    options: list[tuple[Parameter, str | None]]
    words: list[str]


def spell_out(tokens: Sequence[str], spelling: Spelling, *, lenient: bool = False) -> Spelled:
    """Sort the tokens of a line into options with their values and other words.

    Args:
        lenient: leave unknown options where they are (for finding the command's name).

    Raises:
        Usage: an option is unknown, has no value, or has one that it does not take.
    """
    made = Spelled([], [])
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token == "--":
            made.words += tokens[at:]
            break
        if len(token) < 2 or token[0] != "-":
            made.words.append(token)
            continue
        name, equals, value = token.lstrip("-").partition("=")
        parameter = spelling.named(name) if (name and len(name) > 1) or token[1] == "-" else None
        if parameter is None and not token.startswith("--"):
            at += _take_letters(token, tokens[at:], spelling, made, lenient=lenient)
            continue
        if parameter is None:
            if not lenient:
                raise Usage(f"unknown option --{name}", hint=spelling.nearest(name))
            continue
        if equals and not parameter.takes_value:
            raise Usage(f"option --{name} takes no value, got {value!r}")
        if equals or not parameter.takes_value:
            made.options.append((parameter, value if equals else None))
            continue
        if leaves_value_out(parameter, tokens[at:]):
            made.options.append((parameter, parameter.implied))
            continue
        value = _next_value(f"--{name}", parameter, tokens[at:], spelling)
        made.options.append((parameter, value))
        at += 1
    return made


def _take_letters(
    token: str, rest: Sequence[str], spelling: Spelling, made: Spelled, *, lenient: bool
) -> int:
    """Read ``-x``, ``-xVALUE`` or ``-xyz``; return how many further tokens it took."""
    for spot in range(1, len(token)):
        parameter = spelling.lettered(token[spot])
        if parameter is None:
            if spot == 1 and NEGATIVE.match(token):
                made.words.append(token)
                return 0
            if lenient:
                return 0
            raise Usage(f"unknown option {token}", hint=spelling.nearest(token[1:]))
        if not parameter.takes_value:
            made.options.append((parameter, None))
            continue
        attached = token[spot + 1 :]
        if attached:
            made.options.append((parameter, attached))
            return 0
        value = _next_value(f"-{token[spot]}", parameter, rest, spelling)
        made.options.append((parameter, value))
        return 1
    return 0


def _next_value(name: str, parameter: Parameter, rest: Sequence[str], spelling: Spelling) -> str:
    # `--sort -topic` means the column, even where there is an option of the same name.
    is_column = parameter.kind is Kind.COLUMN and bool(rest) and not rest[0].startswith("--")
    if not rest or (spelling.is_option(rest[0]) and not is_column):
        raise Usage(f"option {name} needs a value")
    return rest[0]


def _java_parameter(flag: JavaOption, native: Parameter | None) -> Parameter:
    """Return the native parameter in Java's spelling, or one whose value nobody reads."""
    if native is None:
        return _UNUSED._replace(takes_value=flag.has_arg, metavar=flag.key)
    if flag.has_arg == native.takes_value:
        return native._replace(parse=flag.parse or native.parse)
    if flag.has_arg:
        return native._replace(takes_value=True, parse=flag.parse or truth)
    return native._replace(takes_value=False, default=flag.value)


UNUSED: Final = ""
"""Name of the parameter that a flag of Java's without a field has."""
_UNUSED = STORE_DIR._replace(name=UNUSED, kind=Kind.TEXT)
