"""Find the command of a line, through groups that get their words from the tree.

    mqadmin -n h:1 topic list --kind retry
            ----- CommandGroup()
                   ----- CommandGroup(topic)
                         ---- its module is imported now
                              ------------ Command

Rule: a line imports one module of ``mqadmin.commands``, and lists of commands import none, because
imports take most of the time of a short command. A word that is both a group and a command
(``export``) is the group if one of its words follows.
"""

import importlib
from collections.abc import Sequence
from functools import cache
from typing import Final, cast

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mqadmin.cli import tree
from mqadmin.cli.command import (
    OPEN_OPTION,
    Command,
    ParsedLine,
    TextAnswer,
    UnknownCommand,
    of_store,
)
from mqadmin.cli.globals import GLOBALS, is_given, settings_of
from mqadmin.cli.options import LineParser, complete_options, convert_line, normalize
from mqadmin.cli.types import ParseContext

PROGRAM: Final = "mqadmin"
EVERYTHING: Final = "all"
HELPS_WITH: Final = "helps with"
"""Key of the words behind ``help`` in a context."""


class CommandGroup(click.Group):
    """The commands whose names begin with the same words; those of the root are empty."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        super().__init__(
            " ".join(words) or PROGRAM,
            params=list(GLOBALS),
            add_help_option=False,
            context_settings={"token_normalize_func": normalize},
        )
        self.words = tuple(words)

    def line_parser(self, ctx: click.Context) -> LineParser:
        """Return the parser of the global options before a word."""
        return LineParser(ctx, self.params)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options before the next word; the context keeps the words from there on."""
        line = self.line_parser(ctx).split(args)
        convert_line(ctx, line, self.params)
        ctx.meta[OPEN_OPTION] = line.open_option
        ctx.args = line.words
        return ctx.args

    def invoke(self, ctx: click.Context) -> ParsedLine | TextAnswer:
        """Return the call of the words behind the group, or the group's own text."""
        if not ctx.args:
            return _text_of_group(ctx, self.words)
        word, made, rest = self.resolve_command(ctx, ctx.args)
        assert made is not None
        with made.make_context(word, rest, parent=ctx) as below:
            answer: ParsedLine | TextAnswer = below.command.invoke(below)
            return answer

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the words that may follow."""
        return [*tree.next_words(self.words)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command or group of a word."""
        words = [*self.words, cmd_name]
        name = tree.command_named(words)
        if name is not None:
            return load(name)
        if commands := tree.commands_below(words):
            return CommandGroup(commands[0].split()[: len(words)])
        return _of_java(cmd_name) if not self.words else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first word, and the words behind it."""
        word, *rest = args
        if word.lower() == tree.HELP_WORD:
            # `help topic list` and `topic help list` are `topic list --help`.
            ctx.params["help"] = True
            ctx.set_parameter_source("help", ParameterSource.COMMANDLINE)
            ctx.meta[HELPS_WITH] = " ".join(rest).lower()
            rest = [] if ctx.meta[HELPS_WITH] == EVERYTHING else rest
            return word, CommandGroup(self.words), rest
        if word.lower() == tree.VERSION_WORD and not self.words and not rest:
            ctx.params["version"] = True
            ctx.set_parameter_source("version", ParameterSource.COMMANDLINE)
            return word, CommandGroup(), rest
        words = [*self.words, word]
        is_both = tree.commands_below(words) and tree.command_named(words) is not None
        completes_it = ctx.resilient_parsing and not rest
        if is_both and (completes_it or self._goes_on(ctx, words, rest)):
            return word, CommandGroup(cast(str, tree.command_named(words)).split()), rest
        made = self.get_command(ctx, word)
        if made is None and not ctx.resilient_parsing:
            behind = [first for first in rest[:1] if not self.words and not first.startswith("-")]
            raise UnknownCommand([*words, *behind], ctx)
        return (word if made else None), made, rest

    def _goes_on(self, ctx: click.Context, words: list[str], rest: list[str]) -> bool:
        """Return whether a word of the group comes next, behind global options."""
        inner = CommandGroup(words)
        try:
            with inner.context_class(inner, parent=ctx) as below:
                left = inner.line_parser(below).split(rest).words
        except click.UsageError:
            return False
        if [word.lower() for word in left] == [tree.HELP_WORD]:
            return True
        words_so_far = [*words, *left[:1]]
        return bool(left) and (
            tree.command_named(words_so_far) is not None or bool(tree.commands_below(words_so_far))
        )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the words or options that begin with the typed text."""
        if ctx.args:
            # The words before do not name a command.
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
        words = tree.next_words(self.words) | (tree.TEXT_WORDS if not self.words else {})
        typed = incomplete.lower()
        completions = {word: said for word, said in words.items() if word.startswith(typed)}
        if not self.words and incomplete and (not completions or incomplete != typed):
            completions |= java_words(typed)
        return [*(CompletionItem(word, help=said) for word, said in completions.items()), *items]


def _of_java(word: str) -> Command | None:
    """Return the command of a name of RocketMQ's own tool."""
    # Only these names need the table of them.
    from mqadmin.cli.java.command import java_command
    from mqadmin.cli.java.table import native_of

    native = native_of(word)
    return java_command(load(native), word, load) if native is not None else None


def java_words(typed: str) -> dict[str, str]:
    """Return the names of RocketMQ's own tool that begin with the typed text."""
    # The table is only needed for words that do not begin a name of ours.
    from mqadmin.cli.java.table import native_of, spellings

    names = {name: native_of(name) for name in spellings() if name.lower().startswith(typed)}
    return {name: f"as `{native}`" for name, native in names.items() if native is not None}


def _text_of_group(ctx: click.Context, words: tuple[str, ...]) -> TextAnswer:
    """Answer a line that ends with a group."""
    settings = settings_of(ctx)
    # The texts need modules that no run needs.
    from mqadmin.cli.help import first_screen, listing, overview

    if settings.version:
        # Only --version needs it.
        from mqadmin.installation import version_text

        return TextAnswer(version_text())
    if words and not settings.help and settings.output in {"json", "jsonl"}:
        # A program reads errors as objects.
        raise UnknownCommand(words, ctx)
    if ctx.meta.get(HELPS_WITH) == EVERYTHING:
        text = overview()
    else:
        text = listing(words) if words else first_screen()
    return TextAnswer(text, exit_code=0 if settings.help else click.UsageError.exit_code)


def parse(words: Sequence[str], context: ParseContext | None = None) -> ParsedLine | TextAnswer:
    """Return the call of a line, or the text that answers it.

    Raises:
        Usage: the line is wrong.
    """
    root = CommandGroup()
    try:
        with root.make_context(PROGRAM, list(words), obj=context or ParseContext()) as ctx:
            made = root.invoke(ctx)
            if isinstance(made, TextAnswer):
                return made
            if made.settings.wants_text:
                # The texts need modules that no run needs.
                from mqadmin.cli.help import text_about

                return TextAnswer(text_about(made))
            if made.store is not None and made.command.offline:
                return of_store(made, load(made.command.offline), ctx)
            return made
    except click.UsageError as error:
        # Only a wrong line needs similar names.
        from mqadmin.cli.mistakes import usage_of_error

        raise usage_of_error(error) from None


def complete(words: Sequence[str], incomplete: str, context: ParseContext) -> list[CompletionItem]:
    """Return the completions of a word that begins with ``incomplete``, behind some words."""
    words = list(words)
    name, equals, value = incomplete.partition("=")
    if equals and (not name or name.startswith("-")):
        # How bash splits `--topic=or` depends on its version.
        words, incomplete = [*words, *([name] if name else [])], value
    ctx = _context_of(words, context)
    if isinstance(ctx.command, Command) and HELPS_WITH in ctx.meta:
        return []
    option: click.Option | None = ctx.meta[OPEN_OPTION]
    if option is not None and not (incomplete.startswith("-") and "--" not in words):
        return option.shell_complete(ctx, incomplete)
    if isinstance(ctx.command, Command) and (incomplete[:1] != "-" or "--" in words):
        for argument in ctx.command.get_params(ctx):
            is_open = argument.nargs == -1 or not is_given(ctx, argument.name)
            if isinstance(argument, click.Argument) and is_open:
                return argument.shell_complete(ctx, incomplete)
    return ctx.command.shell_complete(ctx, incomplete)


def _context_of(words: Sequence[str], context: ParseContext) -> click.Context:
    """Return the context of the last group or command in some words."""
    root = CommandGroup()
    ctx = root.make_context(PROGRAM, list(words), obj=context, resilient_parsing=True)
    while isinstance(ctx.command, CommandGroup) and ctx.args:
        word, made, rest = ctx.command.resolve_command(ctx, ctx.args)
        if made is None:
            break
        ctx = made.make_context(word, rest, parent=ctx, resilient_parsing=True)
    return ctx


@cache
def load(name: str) -> Command:
    """Import the module of a command and return the command.

    Raises:
        LookupError: it does not declare this name exactly once.
    """
    module = importlib.import_module(tree.module_of(name))
    declared = [command for command in vars(module).values() if isinstance(command, Command)]
    named = [command for command in declared if command.name == name]
    if len(named) != 1:
        raise LookupError(f"{module.__name__} declares {name} {len(named)} times, expected once")
    return named[0]


def everything() -> list[Command]:
    """Import every command module and return the commands, sorted by name."""
    return [load(name) for name in sorted(tree.COMMANDS)]
