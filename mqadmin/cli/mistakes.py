"""Say in one sentence what is wrong with a line, and what to do next."""

from collections.abc import Sequence
from difflib import get_close_matches

import click

from mqadmin.cli import tree
from mqadmin.cli.command import Command, TooManyArguments, UnknownCommand
from mqadmin.cli.help import usage_of
from mqadmin.cli.java.command import RefusedOption
from mqadmin.cli.java.table import native_of, spellings
from mqadmin.cli.options import label_of, long_of
from mqadmin.errors import Usage

ON_USAGE = "-h shows the usage"
LISTED = "`mqadmin help all` lists every command"


def usage_of_error(error: click.UsageError) -> Usage:
    """Return the error in the words of this tool."""
    match error:
        case UnknownCommand():
            return unknown_command(error.words)
        case click.NoSuchOption():
            return Usage(f"unknown option {error.option_name}", hint=_nearest(error))
        case click.MissingParameter(param=click.Argument(name="store")):
            return Usage("no store directory given", hint="name it as the first argument, DIR")
        case click.MissingParameter(param=click.Parameter() as missing):
            return Usage(f"missing {label_of(missing)}", hint=_usage(error.ctx))
        case click.BadParameter(param=click.Parameter() as wrong):
            text = error.message
            if text == "is empty":
                return Usage(f"{label_of(wrong)} is empty", hint=ON_USAGE)
            return Usage(f"{label_of(wrong)}: {text}")
        case TooManyArguments():
            return Usage(error.message, hint=_usage(error.ctx))
        case RefusedOption():
            return Usage(error.message, hint=error.hint)
    return Usage(error.message, hint=ON_USAGE)


def _usage(ctx: click.Context | None) -> str:
    """Return the usage line of the command that a line is for."""
    if ctx is None or not isinstance(ctx.command, Command):
        return ON_USAGE
    if ctx.command.native is not ctx.command:
        return "-h lists its options"
    return f"usage: mqadmin {usage_of(ctx.command)}"


def _nearest(error: click.NoSuchOption) -> str:
    """Return a hint for an option that there is not."""
    assert error.ctx is not None
    parameters = error.ctx.command.get_params(error.ctx)
    for one in parameters:
        if isinstance(one, click.Argument) and tree.fold(error.option_name) == tree.fold(
            one.name or ""
        ):
            return f"give {label_of(one)} without the option's name; {_usage(error.ctx)}"
    options = [one for one in parameters if isinstance(one, click.Option)]
    known = {tree.fold(name): long_of(one) for one in options for name in one.opts}
    near = get_close_matches(tree.fold(error.option_name), list(known), n=1)
    return f"did you mean {known[near[0]]}?" if near else "-h lists the options"


def unknown_command(words: Sequence[str]) -> Usage:
    """Return what is said of words that name no command: the nearest that there is.

    A command that takes something away is never proposed; where the nearest is one, the hint
    lists all that there are.
    """
    if len(words) > 1 and words[-1].lower() == tree.HELP_WORD:
        words = words[:-1]
    typed = " ".join(words).lower()
    known = tree.commands_below(words[:1])
    if tree.commands_below(words):
        return Usage(
            f"{' '.join(words)} what?", hint="one of: " + ", ".join(tree.commands_below(words))
        )
    if known:
        near = get_close_matches(typed, known, n=1, cutoff=0.5)
        is_safe = near and not tree.is_destructive(near[0])
        hint = f"did you mean `{near[0]}`?" if is_safe else "one of: " + ", ".join(known)
        return Usage(f"unknown command `{' '.join(words)}`", hint=hint)
    verbs = _with_verb(words[0])
    if verbs:
        return Usage(f"unknown command `{words[0]}`", hint="one of: " + ", ".join(verbs))
    java = {name.lower(): name for name in spellings()}
    nouns = {name.split()[0] for name in tree.COMMANDS}
    every = [*nouns, *tree.TEXT_WORDS, *tree.COMMANDS, *java]
    near = get_close_matches(typed, every, n=1) or get_close_matches(words[0].lower(), every, n=1)
    hint = LISTED
    if near:
        name = java.get(near[0], near[0])
        if not tree.is_destructive(native_of(name) or name):
            hint = f"did you mean `{name}`?"
    return Usage(f"unknown command `{words[0]}`", hint=hint)


def _with_verb(word: str) -> list[str]:
    """Return the commands that end with a word, as in `status`: its noun was left out."""
    return [
        name
        for name in tree.COMMANDS
        if tree.fold(name.split()[-1]) == tree.fold(word) and not tree.is_destructive(name)
    ]
