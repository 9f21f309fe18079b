"""Find the command that a line names, through groups that know their words from the tree.

    mqadmin -n h:1 topic list --kind retry
            ----- CommandGroup()
                   ----- CommandGroup(topic)
                         ---- its module is imported now
                              ------------ Command

Rule: one module of ``mqadmin.commands`` is imported by a line, none for lists of commands. A
word that is both a group and a command (``export``) is the group where one of its words follows.
"""

import importlib
from collections.abc import Sequence
from functools import cache
from typing import Final, cast

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mqadmin.cli import tree
from mqadmin.cli.command import Command, ParsedLine, TextAnswer, UnknownCommand, of_store
from mqadmin.cli.globals import GLOBALS, settings_of
from mqadmin.cli.options import LineParser, complete_options, normalize
from mqadmin.cli.types import ParseContext

PROGRAM: Final = "mqadmin"
HELP_WORD: Final = "help"


class CommandGroup(click.Group):
    """The commands whose names begin with the same words; the root has none."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        super().__init__(
            " ".join(words) or PROGRAM,
            callback=click.pass_context(_without_command),
            invoke_without_command=True,
            params=list(GLOBALS),
            add_help_option=False,
            context_settings={"token_normalize_func": normalize},
        )
        self.words = tuple(words)

    def make_parser(self, ctx: click.Context) -> LineParser:
        """Return the parser of the global options before a word."""
        return LineParser(ctx, self.params)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the words that may follow."""
        return [*tree.next_words(self.words)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command or group of a word."""
        words = [*self.words, cmd_name]
        name = tree.command_named(words)
        if name is not None:
            return load(name)
        if found := tree.commands_below(words):
            return CommandGroup(found[0].split()[: len(words)])
        return _of_java(cmd_name) if not self.words else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return what the first word is, and the words behind it."""
        word, *rest = args
        if word.lower() == HELP_WORD and not self.words and not ctx.resilient_parsing:
            # `help topic list` is `topic list --help`.
            ctx.params["help"] = True
            ctx.set_parameter_source("help", ParameterSource.COMMANDLINE)
            return word, CommandGroup(), rest
        words = [*self.words, word]
        is_both = tree.commands_below(words) and tree.command_named(words) is not None
        completes_it = ctx.resilient_parsing and not rest
        if is_both and (completes_it or self._goes_on(ctx, words, rest)):
            return word, CommandGroup(cast(str, tree.command_named(words)).split()), rest
        made = self.get_command(ctx, word)
        if made is None and not ctx.resilient_parsing:
            behind = [one for one in rest[:1] if not self.words and not one.startswith("-")]
            raise UnknownCommand([*words, *behind], ctx)
        return (word if made else None), made, rest

    def _goes_on(self, ctx: click.Context, words: list[str], rest: list[str]) -> bool:
        """Return whether a word of the group comes next, behind global options."""
        inner = CommandGroup(words)
        try:
            with inner.context_class(inner, parent=ctx) as below:
                left = inner.make_parser(below).parse_args(list(rest))[1]
        except click.UsageError:
            return False
        at = [*words, *left[:1]]
        return bool(left) and (tree.command_named(at) is not None or bool(tree.commands_below(at)))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the words or options that begin with what is typed."""
        if ctx.args or ctx._protected_args:
            # Words before name no command.
            return []
        name = tree.command_named(self.words)
        if name is not None:
            whole = load(name)
            first = whole.positional[:1] if incomplete[:1] != "-" else []
            items = (first[0] if first else whole).shell_complete(ctx, incomplete)
        elif incomplete.startswith("-"):
            return complete_options(self.params, incomplete)
        else:
            items = []
        words = tree.next_words(self.words).items()
        typed = incomplete.lower()
        return [
            *(CompletionItem(word, help=said) for word, said in words if word.startswith(typed)),
            *items,
        ]


def _of_java(word: str) -> Command | None:
    """Return the command of a name of RocketMQ's own tool."""
    # Only these names need the table of them.
    from mqadmin.cli.java.command import java_command
    from mqadmin.cli.java.table import native_of

    native = native_of(word)
    return java_command(load(native), word, load) if native is not None else None


def _without_command(ctx: click.Context, **_: object) -> TextAnswer | None:
    """Answer a line that ends with a group; None where a word follows."""
    if ctx.invoked_subcommand is not None:
        return None
    words = cast(CommandGroup, ctx.command).words
    settings = settings_of(ctx)
    # The texts need what no run needs.
    from mqadmin.cli.help import listing, overview

    if settings.version:
        # Only --version needs it.
        from mqadmin.installation import version_text

        return TextAnswer(version_text())
    if words and not settings.help and settings.output in {"json", "jsonl"}:
        # A program reads errors as objects.
        raise UnknownCommand(words, ctx)
    text = listing(words) if words else overview()
    return TextAnswer(text, exit_code=0 if settings.help else click.UsageError.exit_code)


def parse(words: Sequence[str], context: ParseContext | None = None) -> ParsedLine | TextAnswer:
    """Return the call that a line stands for, or the text that answers it.

    Raises:
        Usage: the line is wrong.
    """
    root = CommandGroup()
    try:
        with root.make_context(PROGRAM, list(words), obj=context or ParseContext()) as ctx:
            made: ParsedLine | TextAnswer = root.invoke(ctx)
            if isinstance(made, TextAnswer):
                return made
            if made.settings.wants_text:
                # The texts need what no run needs.
                from mqadmin.cli.help import text_about

                return TextAnswer(text_about(made.command, made.settings))
            if made.store is not None and made.command.offline:
                return of_store(made, load(made.command.offline), ctx)
            return made
    except click.UsageError as error:
        # Only a wrong line needs to know what is like it.
        from mqadmin.cli.mistakes import usage_of_error

        raise usage_of_error(error) from None


@cache
def load(name: str) -> Command:
    """Import the module of a command and return the command.

    Raises:
        LookupError: it declares none of this name, or more than one.
    """
    module = importlib.import_module(tree.module_of(name))
    declared = [one for one in vars(module).values() if isinstance(one, Command)]
    found = [one for one in declared if one.name == name]
    if len(found) != 1:
        raise LookupError(f"{module.__name__} declares {name} {len(found)} times, expected once")
    return found[0]


def everything() -> list[Command]:
    """Import every command module and return the commands, sorted by name."""
    return [load(name) for name in sorted(tree.COMMANDS)]
