"""Say in one sentence what is wrong with a line, and what to do next."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

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
OTHER_WORDS: Final = {
    **dict.fromkeys(("health", "check", "stuck", "diagnose", "problems", "alerts"), "doctor"),
    **dict.fromkeys(("consumer", "consumers", "groups", "who", "members"), "group list"),
    **dict.fromkeys(("reset", "seek", "rewind", "group reset", "group seek"), "offset reset"),
    **dict.fromkeys(("dlq", "dead", "deadletter", "dead-letters"), "dead-letter list"),
    **dict.fromkeys(("message list", "message read", "message consume"), "message print"),
    **dict.fromkeys(("message show", "message find", "message search"), "message get"),
    **dict.fromkeys(("producer", "producers", "connections"), "broker connections"),
    **dict.fromkeys(("topic lag", "topic groups", "topic subscribers"), "topic consumers"),
    "offset list": "offset show",
    "topics": "topic list",
    "brokers": "broker list",
}
"""Words that users of other tools type; only commands that read, or ask first."""
OTHER_VERBS: Final = {
    **dict.fromkeys(("describe", "status", "info", "detail", "members", "get"), "show"),
    **dict.fromkeys(("ls", "all"), "list"),
    **dict.fromkeys(("add", "new"), "create"),
}


def usage_of_error(error: click.UsageError) -> Usage:
    """Return the error in the words of this tool."""
    match error:
        case UnknownCommand():
            return unknown_command(error.words)
        case click.NoSuchOption():
            return Usage(f"unknown option {error.option_name}", hint=_nearest(error))
        case click.MissingParameter(param=click.Argument(name="store")):
            return Usage("no store directory given", hint="give it as the first argument, DIR")
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
    """Return a hint for an unknown option."""
    assert error.ctx is not None
    made = error.ctx.command
    parameters = made.get_params(error.ctx)
    for parameter in parameters:
        is_argument = isinstance(parameter, click.Argument)
        if is_argument and tree.fold(error.option_name) == tree.fold(parameter.name or ""):
            label = label_of(parameter)
            return f"pass {label} as an argument, not as an option; {_usage(error.ctx)}"
    options = [option for option in parameters if isinstance(option, click.Option)]
    options += made.stand_ins if isinstance(made, Command) else []
    long_names = {tree.fold(name): long_of(option) for option in options for name in option.opts}
    near = get_close_matches(tree.fold(error.option_name), list(long_names), n=1)
    return f"did you mean {long_names[near[0]]}?" if near else "-h lists the options"


def unknown_command(words: Sequence[str]) -> Usage:
    """Return the error about words that do not name a command, with the nearest command.

    A destructive command is never proposed; if the nearest one is, the hint lists all commands."""
    if len(words) > 1 and words[-1].lower() == tree.HELP_WORD:
        words = words[:-1]
    typed = " ".join(words).lower()
    if (meant := _meant(words)) is not None:
        return Usage(f"unknown command `{' '.join(words)}`", hint=f"did you mean `{meant}`?")
    commands = tree.commands_below(words[:1])
    if tree.commands_below(words):
        return Usage(
            f"`{' '.join(words)}` needs another word",
            hint="one of: " + ", ".join(tree.commands_below(words)),
        )
    if commands:
        near = get_close_matches(typed, commands, n=1, cutoff=0.5)
        is_safe = near and not tree.is_destructive(near[0])
        hint = f"did you mean `{near[0]}`?" if is_safe else "one of: " + ", ".join(commands)
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


def _meant(words: Sequence[str]) -> str | None:
    """Return the command that other tools call by these words; None if unknown."""
    noun, *rest = (word.lower() for word in words)
    if not rest:
        return OTHER_WORDS.get(noun)
    verb = rest[0]
    name = OTHER_WORDS.get(f"{noun} {verb}") or f"{noun} {OTHER_VERBS.get(verb, '')}"
    return name if tree.command_named(name.split()) == name else None


def _with_verb(word: str) -> list[str]:
    """Return the commands that end with a word such as `status`, whose noun was left out."""
    return [
        name
        for name in tree.COMMANDS
        if tree.fold(name.split()[-1]) == tree.fold(word) and not tree.is_destructive(name)
    ]
