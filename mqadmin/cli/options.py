"""An option in every spelling that users know, and click's parser taught to read them.

    -tX   -t X   --topic X   --topic=X   -topic X     the same option, five times
    --to -1h   message get -5                         a value or a word that begins with a dash
    --watch   --watch 5                               an option whose value may be left out

Rule: click parses; this module has only what RocketMQ's tool reads in another way. An option is
never the value of another one: ``--kind --yes`` lacks a value. An option of a command hides a
global one that is spelled the same (Java's ``updateTopic -o`` is not our ``-o``).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import click
from click.parser import _Option as ParserOption
from click.parser import _OptionParser as ClickParser
from click.parser import _ParsingState as State
from click.shell_completion import CompletionItem

from mqadmin.cli.tree import fold
from mqadmin.cli.types import SECONDS, Choice, TextType, ValueKind

NEGATIVE: Final = re.compile(r"-[0-9]")


def normalize(token: str) -> str:
    """Return an option's name as it is compared; the case of a letter counts."""
    return token if len(token) == 1 else fold(token)


class LineParser(ClickParser):
    """Click's parser of one command's options and arguments.

    Every ``click.option`` is spelled as RocketMQ's users spell it, since this parser reads it.
    """

    def __init__(self, ctx: click.Context, parameters: Iterable[click.Parameter]) -> None:
        super().__init__(ctx)
        for parameter in parameters:
            parameter.add_to_parser(self, ctx)

    def add_option(
        self,
        obj: click.Option,
        opts: Sequence[str],
        dest: str | None,
        action: str | None = None,
        nargs: int = 1,
        const: object = None,
    ) -> None:
        """Register an option; its long names may also have one dash, as in RocketMQ's tool."""
        one_dash = [name[1:] for name in opts if name.startswith("--")]
        super().add_option(obj, [*opts, *one_dash], dest, action, nargs, const)

    def is_option(self, word: str) -> bool:
        """Return whether a word is one of these options, rather than a value."""
        if len(word) < 2 or word[0] != "-":
            return False
        name = normalize(word.lstrip("-").partition("=")[0])
        return f"--{name}" in self._long_opt or word in self._short_opt

    def _process_opts(self, arg: str, state: State) -> None:
        if NEGATIVE.match(arg) and arg[:2] not in self._short_opt:
            state.largs.append(arg)
            return
        try:
            super()._process_opts(arg, state)
        except click.NoSuchOption:
            # Click names one letter of it.
            raise click.NoSuchOption(arg.partition("=")[0], ctx=self.ctx) from None

    def _match_long_opt(self, opt: str, explicit_value: str | None, state: State) -> None:
        option = self._long_opt.get(opt)
        if option is None:
            # `-n` comes here, too, before it is taken as a short option: click would load difflib
            # to look for the nearest name, which ``mistakes`` does where the line is wrong.
            raise click.NoSuchOption(opt, ctx=self.ctx)
        if explicit_value is None:
            super()._match_long_opt(opt, explicit_value, state)
        elif option.takes_value:
            option.process(explicit_value, state)
        else:
            name = label_of(option.obj)
            said = f"option {name} takes no value, got {explicit_value!r}"
            raise click.BadOptionUsage(opt, said, ctx=self.ctx)

    def _get_value_from_state(self, option_name: str, option: ParserOption, state: State) -> object:  # type: ignore[override]
        parameter, rest = option.obj, state.rargs
        assert self.ctx is not None
        if leaves_value_out(parameter, rest, self.ctx):
            return parameter.flag_value
        # `--sort -topic` means the column, even where there is an option of the same name.
        is_column = (
            kind_of(parameter) is ValueKind.COLUMN and rest[:1] and not rest[0].startswith("--")
        )
        if not rest or (self.is_option(rest[0]) and not is_column):
            said = f"option {label_of(parameter)} needs a value"
            raise click.BadOptionUsage(option_name, said, ctx=self.ctx)
        return rest.pop(0)


def leaves_value_out(option: click.Option, rest: list[str], ctx: click.Context) -> bool:
    """Return whether an option stands alone before the words ``rest``.

    ``flag_value`` of one that is no flag is what it stands for where its value is left out.
    """
    if option.is_flag or not isinstance(option.flag_value, str):
        return False
    try:
        return not rest or option.type.convert(rest[0], option, ctx) is None
    except click.BadParameter:
        # `--watch 0` has a wrong value; it is not a `--watch` without value before a word.
        return option.type is not SECONDS or not rest[0].isdecimal()


def long_of(option: click.Option) -> str:
    """Return the name of an option that is shown: ``--topic``."""
    return next(name for name in option.opts if name.startswith("--"))


def kind_of(parameter: click.Parameter) -> ValueKind:
    """Return what a parameter's value names."""
    return parameter.type.kind if isinstance(parameter.type, TextType) else ValueKind.TEXT


def metavar_of(parameter: click.Parameter) -> str:
    """Return the word that stands for a parameter's value."""
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
    """Return the default of a parameter; None for none, where click has a mark of its own."""
    return parameter.to_info_dict()["default"]


def label_of(parameter: click.Parameter) -> str:
    """Return how a message calls a parameter: ``TOPIC``, ``--kind``."""
    return long_of(parameter) if isinstance(parameter, click.Option) else metavar_of(parameter)


def complete_options(
    parameters: Iterable[click.Parameter], incomplete: str
) -> list[CompletionItem]:
    """Return the long names of options that begin with what is typed, with one dash or two."""
    if not incomplete.startswith("-"):
        return []
    return [
        CompletionItem(long_of(one), help=one.help)
        for one in parameters
        if isinstance(one, click.Option)
        and long_of(one).lstrip("-").startswith(incomplete.lstrip("-"))
    ]
