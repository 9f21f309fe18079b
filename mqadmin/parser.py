"""From the words of a line to typed arguments.

    tokens -> the command's name -> options and words -> dataclass of the command

Rule: nothing is guessed. A word too many, a value of the wrong type and an unknown option
are errors that name the word and what was expected.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

from mqadmin.catalog import Found, below, branch_of, find
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, Parameter, leaves_value_out
from mqadmin.registry import Command, Java, Needs
from mqadmin.settings import GLOBAL_NAMES, GLOBALS, Settings
from mqadmin.spelling import STORE_DIR, UNUSED, Spelling, spell_out

T = TypeVar("T")
Given = list[tuple[Parameter, str | None]]
"""Options with their texts; None for a flag."""

NAMES: Final = frozenset({Kind.TOPIC, Kind.GROUP, Kind.BROKER, Kind.CLUSTER, Kind.CONTEXT})
"""Kinds of which none is empty: a variable of a script that is not set is told, not looked up."""


class Asked(NamedTuple):
    """A question for the commands below a word."""

    commands: Sequence[Command[object]]


class Parsed(NamedTuple):
    """A call that is ready to run."""

    command: Command[object]
    arguments: object
    settings: Settings
    store: str | None


def parse(
    tokens: Sequence[str], *, store: str | None = None, topic: str | None = None
) -> Parsed | Asked | Settings:
    """Return the call that a line stands for.

    Only settings where it names no command, and ``Asked`` where it wants help about some.

    Args:
        store: directory that the shell has open; then DIR may be left out.
        topic: stands in for a topic that is required and left out.

    Raises:
        Usage: the line is wrong.
    """
    first = spell_out(tokens, Spelling(None), lenient=True)
    if first.words and first.words[0].lower() == "help":
        return parse([*_without_name(tokens, first.words[:1]), "--help"], store=store, topic=topic)
    if not first.words:
        spelled = spell_out(tokens, Spelling(None))
        return bind(Settings, GLOBALS, spelled.options, [])
    if any(parameter.name == "help" for parameter, _ in first.options) and below(first.words):
        return Asked(below(first.words))
    found = find(first.words)
    rest = _without_name(tokens, first.words[: found.word_count])
    spelled = spell_out(rest, Spelling(found))
    branch = branch_of(found, _java_flags(found, spelled.options))
    if branch is not None:
        found = branch
        spelled = spell_out(rest, Spelling(found))
    made = found.command
    chosen = [pair for pair in spelled.options if pair[0].name in GLOBAL_NAMES]
    settings = bind(Settings, GLOBALS, [*_preset(found, GLOBALS), *chosen], [])
    if settings.help or settings.version or settings.schema:
        return Parsed(made, None, settings, None)
    own = [pair for pair in spelled.options if pair[0].name not in GLOBAL_NAMES]
    words = list(spelled.words)
    if made.needs is Needs.STORE:
        own, words, store = _take_store(own, words, store)
    elif made.needs is Needs.EITHER:
        opened = None if settings.namesrv or settings.context else store
        store = next((text for p, text in reversed(own) if p is STORE_DIR), opened)
        own = [pair for pair in own if pair[0] is not STORE_DIR]
    words = _with_topic(made, own, words, topic)
    return Parsed(made, _bind_command(found, own, words), settings, store)


def _with_topic(
    made: Command[object], own: Given, words: list[str], topic: str | None
) -> list[str]:
    """Return the words with the shell's topic put in, where exactly one word is missing."""
    required = [p for p in made.parameters if p.positional and p.required]
    given = {parameter.name for parameter, _ in own}
    if topic is None or given & {parameter.name for parameter in required}:
        return words
    spots = [at for at, parameter in enumerate(required) if parameter.kind is Kind.TOPIC]
    if len(spots) != 1 or len(words) != len(required) - 1:
        return words
    return [*words[: spots[0]], topic, *words[spots[0] :]]


def _without_name(tokens: Sequence[str], name: Sequence[str]) -> list[str]:
    """Return the tokens without the words of the command's name.

    They stand in order and before any option of the command itself; what stands between
    them are global options whose values may equal a word, so those are skipped over.
    """
    spelling = Spelling(None)
    left = list(name)
    kept: list[str] = []
    at = 0
    while at < len(tokens):
        if not left:
            return kept + list(tokens[at:])
        step = _width(tokens[at:], spelling)
        if step == 1 and tokens[at] == left[0]:
            left.pop(0)
        else:
            kept += tokens[at : at + step]
        at += step
    return kept


def _width(tokens: Sequence[str], spelling: Spelling) -> int:
    """Return how many tokens a global option with its value is, 1 for anything else."""
    token = tokens[0]
    if len(token) < 2 or token[0] != "-" or "=" in token:
        return 1
    parameter = spelling.named(token.lstrip("-"))
    if parameter is None and len(token) == 2:
        parameter = spelling.lettered(token[1])
    if parameter is None or not parameter.takes_value:
        return 1
    return 1 if leaves_value_out(parameter, tokens[1:]) else 2


def _take_store(own: Given, words: list[str], opened: str | None) -> tuple[Given, list[str], str]:
    """Take the store directory out of the options or the first word."""
    given = [value for parameter, value in own if parameter is STORE_DIR]
    rest = [pair for pair in own if pair[0] is not STORE_DIR]
    if given and given[-1]:
        return rest, words, given[-1]
    if words and (opened is None or _looks_like_path(words[0])):
        return rest, words[1:], words[0]
    if opened is None:
        raise Usage("no store directory given", hint="name it as the first argument, DIR")
    return rest, words, opened


def _looks_like_path(word: str) -> bool:
    return "/" in word or word in {".", ".."}


def _bind_command(found: Found, options: Given, words: list[str]) -> object:
    made = found.command
    if found.java is None:
        return bind(made.arguments, made.parameters, options, words)
    if words:
        raise Usage(
            f"{found.java.name} takes no argument {words[0]!r}", hint="-h lists its options"
        )
    return bind(made.arguments, made.parameters, _from_java(found, found.java, options), [])


def _java_flags(found: Found, options: Given) -> dict[str, str]:
    """Return the values of Java's own flags on a line, by letter."""
    flags = found.java.options if found.java is not None else ()
    letters = {flag.field: flag.short for flag in flags if flag.field}
    return {
        parameter.metavar if parameter.name == UNUSED else letters[parameter.name]: text or ""
        for parameter, text in options
        if parameter.name == UNUSED or parameter.name in letters
    }


def _preset(found: Found, parameters: Sequence[Parameter]) -> Given:
    """Return what a Java name itself implies of these parameters."""
    implied = dict(found.java.preset) if found.java is not None else {}
    return [
        (one, implied[one.name] if one.takes_value else None)
        for one in parameters
        if one.name in implied
    ]


def _from_java(found: Found, java: Java, options: Given) -> Given:
    """Return native options for Java's flags and for what the name itself implies."""
    made = found.command
    by_name = {parameter.name: parameter for parameter in made.parameters}
    given = {parameter.name for parameter, _ in options}
    unused = {parameter.metavar for parameter, _ in options if parameter.name == UNUSED}
    refused = next((f for f in java.options if f.refused and f.key in unused), None)
    if refused is not None:
        raise Usage(f"{java.name} {refused.spelled} is not taken", hint=refused.refused)
    for flag in java.options:
        if flag.required and flag.field not in given:
            raise Usage(f"{java.name} needs {flag.spelled}")
    if java.any_of and not given & set(java.any_of):
        flags = [flag.spelled for flag in java.options if flag.field in java.any_of]
        raise Usage(f"{java.name} needs one of {', '.join(flags)}")
    native: Given = [pair for pair in _preset(found, made.parameters) if pair[0].name not in given]
    for parameter, text in options:
        if parameter.name == UNUSED:
            continue
        target = by_name[parameter.name]
        if parameter.takes_value and not target.takes_value:
            if convert(parameter, text or ""):
                native.append((target, None))
        elif target.takes_value and text is None:
            native.append((target, str(parameter.default)))
        else:
            native.append((parameter, text))
    return native


def bind(
    declaration: type[T], parameters: Sequence[Parameter], options: Given, words: Sequence[str]
) -> T:
    """Return the dataclass ``declaration`` filled from options and words.

    A parameter that is not given keeps the default of its field. An argument may also be
    given as an option (Java's flags do so); words fill the ones that are left, in order.

    Raises:
        Usage: something is missing, too much, or of the wrong type.
    """
    values: dict[str, object] = {}
    for parameter, text in options:
        value = True if text is None else convert(parameter, text)
        if parameter.many:
            before = values.get(parameter.name, ())
            values[parameter.name] = (*(before if isinstance(before, tuple) else ()), value)
        else:
            values[parameter.name] = value
    left = list(words)
    for parameter in parameters:
        if not parameter.positional or parameter.name in values or not left:
            continue
        if parameter.many:
            values[parameter.name] = tuple(convert(parameter, word) for word in left)
            left = []
        else:
            values[parameter.name] = convert(parameter, left.pop(0))
    if left:
        raise Usage(f"unexpected argument {left[0]!r}", hint="-h shows the usage")
    missing = [p for p in parameters if p.required and p.name not in values]
    if missing:
        names = [p.metavar if p.positional else f"--{p.long}" for p in missing]
        raise Usage(f"missing {', '.join(names)}", hint="-h shows the usage")
    return declaration(**values)


def convert(parameter: Parameter, text: str) -> object:
    """Return the typed value of ``text``.

    Raises:
        Usage: it is a name and empty, not one of the choices, or the parser of the type
            refuses it.
    """
    label = parameter.metavar if parameter.positional else f"--{parameter.long}"
    if parameter.kind in NAMES and not text.strip():
        raise Usage(f"{label} is empty", hint="-h shows the usage")
    if parameter.choices and text not in parameter.choices:
        folded = {choice.lower(): choice for choice in parameter.choices}
        if text.lower() not in folded:
            raise Usage(f"{label}: {text!r} is none of {', '.join(parameter.choices)}")
        text = folded[text.lower()]
    try:
        return parameter.parse(text)
    except ValueError as error:
        raise Usage(f"{label}: {error}") from None
