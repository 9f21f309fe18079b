"""The words of a line, read as options and arguments in every spelling that users know.

    -tX   -t X   --topic X   --topic=X   -topic X     the same option, five times
    --to -1h   message get -5                         a value or a word that begins with a dash
    --watch   --watch 5                               an option whose value may be left out

Rule: click declares parameters and converts values, and this module splits the line, through
click's documented names alone. An option is never the value of another one: ``--kind --yes``
lacks a value. An option of a command hides a global one that is spelled the same (Java's
``updateTopic -o`` is not our ``-o``).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mqadmin.cli.tree import fold
from mqadmin.cli.types import SECONDS, Choice, TextType, ValueKind

NEGATIVE: Final = re.compile(r"-[0-9]")
STAND_INS: Final = {
    ValueKind.TOPIC: ("-t", "--topic"),
    ValueKind.GROUP: ("-g", "--group"),
    ValueKind.BROKER: ("-b", "--broker"),
    ValueKind.CLUSTER: ("--cluster",),
    ValueKind.QUEUE: ("--queue",),
    ValueKind.FILE: ("-f", "--file"),
}
"""The option that replaces an argument of a kind, in every command."""


def normalize(token: str) -> str:
    """Return an option's name as it is compared; the case of a single letter matters."""
    return token if len(token) == 1 else fold(token)


class Argument(click.Argument):
    """click's argument with a help text, which click itself knows from 8.5 on only.

    Attributes:
        unless: the option that replaces an argument that is not required; without that option, the
            command needs the argument.
    """

    def __init__(self, param_decls: Sequence[str], **declared: Any) -> None:
        text: str | None = declared.pop("help", None)
        self.unless: str | None = declared.pop("unless", None)
        super().__init__(param_decls, **declared)
        # Afterwards, because click 8.5 also sets it.
        self.help: str | None = text


@dataclass(slots=True)
class SplitLine:
    """The words of a line, sorted into options and arguments; nothing is converted yet.

    Attributes:
        typed: values by the name of the parameter, in the order of the line.
        words: the words that are neither options nor their values.
        open_option: the option that ends the line and whose value could follow.
    """

    typed: dict[str, Any] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    open_option: click.Option | None = None


class LineParser:
    """Splits the line of one command or group.

    Args:
        parameters: later ones hide earlier ones of the same spelling.
    """

    def __init__(self, ctx: click.Context, parameters: Iterable[click.Parameter]) -> None:
        self.ctx = ctx
        self.arguments: list[click.Argument] = []
        self._letters: dict[str, click.Option] = {}
        self._names: dict[str, click.Option] = {}
        for parameter in parameters:
            if isinstance(parameter, click.Option):
                self._add_option(parameter)
            elif isinstance(parameter, click.Argument):
                self.arguments.append(parameter)

    def _add_option(self, option: click.Option) -> None:
        for spelled in option.opts:
            if len(spelled) == 2:
                self._letters[spelled[1]] = option
            else:
                self._names[normalize(spelled.lstrip("-"))] = option

    def split(self, words: Sequence[str]) -> SplitLine:
        """Return the parts of a line; while completing, as many as can be parsed.

        Raises:
            click.UsageError: an option is unknown, lacks its value or takes none.
        """
        line = SplitLine()
        rest = list(words)
        try:
            self._split_options(line, rest)
            line.words += rest
            self._fill_arguments(line)
        except click.UsageError:
            if not self.ctx.resilient_parsing:
                raise
        return line

    def _split_options(self, line: SplitLine, rest: list[str]) -> None:
        while rest:
            word = rest.pop(0)
            if word == "--":
                return
            if word[:1] == "-" and len(word) > 1:
                self._split_option(word, line, rest)
            elif self.ctx.allow_interspersed_args:
                line.words.append(word)
            else:
                # A group's own options end where the name of a command begins.
                rest.insert(0, word)
                return

    def _split_option(self, word: str, line: SplitLine, rest: list[str]) -> None:
        if NEGATIVE.match(word) and word[1] not in self._letters:
            line.words.append(word)
            return
        spelled, equals, value = word.partition("=")
        option = self._named(spelled)
        if option is None:
            if word.startswith("--"):
                raise click.NoSuchOption(spelled, ctx=self.ctx)
            self._split_letters(word, line, rest)
        elif not equals:
            self._set_value(option, self._next_value(option, line, rest), line)
        elif option.is_flag:
            said = f"option {label_of(option)} takes no value, got {value!r}"
            raise click.BadOptionUsage(spelled, said, ctx=self.ctx)
        else:
            self._set_value(option, value, line)

    def _split_letters(self, word: str, line: SplitLine, rest: list[str]) -> None:
        """Split ``-yv`` into flags, and ``-tX`` into an option and its value."""
        for position, letter in enumerate(word[1:], 2):
            option = self._letters.get(letter)
            if option is None:
                raise click.NoSuchOption(word.partition("=")[0], ctx=self.ctx)
            attached = word[position:]
            if attached and not option.is_flag:
                self._set_value(option, attached, line)
                return
            self._set_value(option, self._next_value(option, line, rest), line)

    def _named(self, spelled: str) -> click.Option | None:
        """Return the option of a long name, behind one dash or two."""
        name = spelled.removeprefix("-").removeprefix("-")
        return self._names.get(normalize(name))

    def is_option(self, word: str) -> bool:
        """Return whether a word is one of these options, rather than a value."""
        if len(word) < 2 or word[0] != "-":
            return False
        if len(word) == 2 and word[1] in self._letters:
            return True
        return self._named("-" + word.partition("=")[0].lstrip("-")) is not None

    def _set_value(self, option: click.Option, value: object, line: SplitLine) -> None:
        if option.multiple:
            line.typed.setdefault(option.name, []).append(value)
        else:
            line.typed[option.name] = value

    def _next_value(self, option: click.Option, line: SplitLine, rest: list[str]) -> object:
        """Return the value of an option from the words behind it, or its value without one."""
        if option.is_flag:
            return option.flag_value if isinstance(option.flag_value, str) else True
        if not rest:
            line.open_option = option
        if leaves_value_out(option, rest, self.ctx):
            return option.flag_value
        # `--sort -topic` means the column, even where there is an option of the same name.
        is_column = kind_of(option) is ValueKind.COLUMN and rest[:1] and rest[0][:2] != "--"
        if not rest or (self.is_option(rest[0]) and not is_column):
            said = f"option {label_of(option)} needs a value"
            raise click.BadOptionUsage(long_of(option), said, ctx=self.ctx)
        return rest.pop(0)

    def _fill_arguments(self, line: SplitLine) -> None:
        """Give each argument its word; a repeated one gets the remaining words.

        An argument that an option has set gets no word.
        """
        open_ones = [arg for arg in self.arguments if arg.nargs == -1 or arg.name not in line.typed]
        for number, arg in enumerate(open_ones):
            if not line.words:
                return
            if arg.nargs == -1:
                behind = len(open_ones) - number - 1
                count = max(len(line.words) - behind, 0)
                named = line.typed.get(arg.name, ())
                line.typed[arg.name] = (*named, *line.words[:count])
                del line.words[:count]
            else:
                line.typed[arg.name] = line.words.pop(0)


def stand_ins(parameters: Sequence[click.Parameter]) -> list[click.Option]:
    """Return the options that may replace an argument, such as ``-t`` for a topic.

    An argument has one if no other argument is of its kind, and if the option has no other meaning.
    """
    arguments = [param for param in parameters if isinstance(param, click.Argument)]
    kinds = [kind_of(param) for param in arguments]
    taken = {name for param in parameters if isinstance(param, click.Option) for name in param.opts}
    made = []
    for argument, kind in zip(arguments, kinds, strict=True):
        *letters, long = STAND_INS.get(kind, ("",))
        if long and kinds.count(kind) == 1 and long not in taken:
            free = [letter for letter in letters if letter not in taken]
            made.append(
                click.Option(
                    [argument.name, *free, long],
                    type=argument.type,
                    multiple=argument.nargs == -1,
                    help=getattr(argument, "help", None),
                )
            )
    return made


def convert_line(
    ctx: click.Context, line: SplitLine, parameters: Sequence[click.Parameter]
) -> None:
    """Put the converted values of a line, or defaults, into its context.

    Raises:
        click.UsageError: a value is wrong or missing; while completing, it is None instead.
    """
    places = {name: place for place, name in enumerate(line.typed)}
    # Typed values are checked first, in the order of the line.
    for parameter in sorted(parameters, key=lambda each: places.get(each.name, len(places))):
        is_typed = parameter.name in line.typed
        raw = line.typed[parameter.name] if is_typed else default_of(parameter)
        try:
            value = converted(parameter, raw, ctx)
        except click.UsageError:
            if not ctx.resilient_parsing:
                raise
            value = None
        ctx.params[parameter.name] = value
        source = ParameterSource.COMMANDLINE if is_typed else ParameterSource.DEFAULT
        ctx.set_parameter_source(parameter.name, source)


def converted(parameter: click.Parameter, raw: object, ctx: click.Context) -> object:
    """Convert a text or a default to its value.

    Raises:
        click.UsageError: the value is wrong, or a required value is missing.
    """
    value: object = parameter.type_cast_value(ctx, raw)
    if parameter.required and value in (None, ()):
        raise click.MissingParameter(ctx=ctx, param=parameter)
    return value


def leaves_value_out(option: click.Option, rest: list[str], ctx: click.Context) -> bool:
    """Return whether an option stands alone before the words ``rest``.

    ``flag_value`` of an option that is not a flag is used if its value is left out.
    """
    if option.is_flag or not isinstance(option.flag_value, str):
        return False
    try:
        return not rest or option.type.convert(rest[0], option, ctx) is None
    except click.BadParameter:
        # `--watch 0` has a wrong value; it is not a `--watch` without value before a word.
        return option.type is not SECONDS or not rest[0].isdecimal()


def long_of(option: click.Option) -> str:
    """Return the displayed name of an option: ``--topic``."""
    return next(name for name in option.opts if name.startswith("--"))


def kind_of(parameter: click.Parameter) -> ValueKind:
    """Return the kind of thing that a parameter's value names."""
    return parameter.type.kind if isinstance(parameter.type, TextType) else ValueKind.TEXT


def metavar_of(parameter: click.Parameter) -> str:
    """Return the placeholder for a parameter's value."""
    if parameter.metavar is not None:
        return parameter.metavar
    if isinstance(parameter.type, Choice):
        return "|".join(parameter.type.choices)
    if isinstance(parameter.type, TextType) and parameter.type.metavar:
        return parameter.type.metavar
    if isinstance(parameter, click.Option):
        return long_of(parameter).lstrip("-").replace("-", "_").upper()
    return parameter.name.rstrip("_").upper()


def default_of(parameter: click.Parameter) -> object:
    """Return the default of a parameter, None if there is none; click has its own marker for
    that."""
    return parameter.to_info_dict()["default"]


def label_of(parameter: click.Parameter) -> str:
    """Return the name of a parameter in messages: ``TOPIC``, ``--kind``."""
    return long_of(parameter) if isinstance(parameter, click.Option) else metavar_of(parameter)


def complete_options(
    parameters: Iterable[click.Parameter], incomplete: str
) -> list[CompletionItem]:
    """Return the long names of options that begin with the typed text, with one dash or two."""
    if not incomplete.startswith("-"):
        return []
    return [
        CompletionItem(long_of(param), help=param.help)
        for param in parameters
        if isinstance(param, click.Option)
        and long_of(param).lstrip("-").startswith(incomplete.lstrip("-"))
    ]
