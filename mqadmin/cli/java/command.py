"""A name of RocketMQ's own tool, as a command that fills the native one.

    updateTopic -b ADDR -t T -o true   ->   topic update T --broker ADDR --order true --create

Rule: a Java name is an alias, not a second implementation: its options have Java's letters and
names, and the types of the native ones they fill. Native options work beside them.
"""

from collections.abc import Callable
from typing import Any

import click

from mqadmin.cli.command import TYPED, Command
from mqadmin.cli.globals import GLOBALS, NAMES, is_given
from mqadmin.cli.java.names import Java, JavaOption
from mqadmin.cli.java.table import java_of
from mqadmin.cli.options import converted, default_of
from mqadmin.cli.types import TextType, truth


def java_command(native: Command, word: str, load: Callable[[str], Command]) -> "JavaCommand":
    """Return the native command as RocketMQ's tool spells it under the name ``word``."""
    java = java_of(word, native.name)
    assert java is not None, f"{word} has no entry for {native.name}"
    return JavaCommand(native, java, load)


class JavaCommand(Command):
    """A native command with Java's options; it has no arguments."""

    def __init__(self, native: Command, java: Java, load: Callable[[str], Command]) -> None:
        by_name = {param.name: param for param in (*native.params, *GLOBALS)}
        filled = {flag.field for flag in java.options}
        self._implied = dict(java.preset)
        self._flags = {
            flag.key: self._option(flag, by_name.get(flag.field)) for flag in java.options
        }
        super().__init__(
            native.name,
            run=native.run,
            params=[*(o for o in native.options if o.name not in filled), *self._flags.values()],
            **native.declared,
        )
        self.native = native
        self.spelled = java.name
        self.spelling = java
        self._load = load

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse a line; its flags may turn the name into another command."""
        words = list(args)
        ctx = super().make_context(info_name, args, parent, **extra)
        for branch in self.spelling.branches:
            values = [str(ctx.params[self._flags[key].name] or "false") for key in branch.flags]
            if all(value.strip().lower() != "false" for value in values):
                other = java_command(self._load(branch.command), self.spelling.name, self._load)
                return other.make_context(info_name, words, parent, **extra)
        return ctx

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a line, and refuse missing options and flags without a meaning here."""
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            self._check(ctx)
        return rest

    def refuse_word(self, word: str) -> str:
        """Return the error about a word that is not an option."""
        return f"{self.spelling.name} takes no argument {word!r}"

    def flags(self, ctx: click.Context) -> dict[str, str]:
        """Return the text of every flag of Java on the line, by its letter."""
        typed = ctx.meta[TYPED]
        return {
            key: str(typed[option.name])
            for key, option in self._flags.items()
            if option.name in typed
        }

    def implied(self, ctx: click.Context) -> dict[str, object]:
        """Return the global options that Java's name and its flags imply."""
        made = {
            param.name: param.type.convert(self._implied[param.name], param, ctx)
            for param in GLOBALS
            if param.name in self._implied
        }
        for flag in self.spelling.options:
            option = self._flags[flag.key]
            if flag.field in NAMES and is_given(ctx, option.name):
                made[flag.field] = ctx.params[option.name]
        return made

    def values(self, ctx: click.Context) -> dict[str, object]:
        """Return the values of the native parameters: given, implied by the name, or default."""
        made: dict[str, object] = {}
        lists = {flag.field for flag in self.spelling.options if flag.parse is not None}
        for param in self.native.params:
            implied = self._preset(param)
            # A flag of ours that takes a value in Java's spelling has no default there.
            has_default = param.name in ctx.params and not is_flag(param)
            if is_given(ctx, param.name) or (has_default and implied is None):
                made[param.name] = ctx.params[param.name]
                if param.name in lists and is_many(param):
                    # One flag of Java's has a whole list, and may be given again all the same.
                    made[param.name] = tuple(
                        item for part in ctx.params[param.name] for item in part
                    )
            else:
                value = default_of(param) if implied is None else implied
                made[param.name] = converted(param, value, ctx)
        for flag in self.spelling.options:
            if flag.wins and is_given(ctx, self._flags[flag.key].name):
                made[flag.field] = ctx.params[self._flags[flag.key].name]
        return made

    def _preset(self, native: click.Parameter) -> object:
        """Return the value that Java's name implies for a parameter, None if none."""
        text = self._implied.get(native.name)
        return True if text is not None and is_flag(native) else text

    def _check(self, ctx: click.Context) -> None:
        java = self.spelling
        given = {flag.key for flag in java.options if is_given(ctx, self._flags[flag.key].name)}
        for flag in java.options:
            if flag.refused and flag.key in given:
                raise RefusedOption(f"{java.name} {flag.spelled} is not taken", flag.refused, ctx)
        # Flags of Java's that only lead to this command are never required in Java's own list.
        needed = {param.name for param in self.native.params if param.required and java.is_branch}
        for flag in java.options:
            if (flag.required or flag.field in needed) and flag.key not in given:
                raise click.UsageError(f"{java.name} needs {flag.spelled}", ctx)
        if any(given.issuperset(branch.flags) for branch in java.branches):
            # The other command of the name says what it needs.
            return
        one_of = [flag for flag in java.options if flag.field in java.any_of]
        if one_of and given.isdisjoint(flag.key for flag in one_of):
            names = ", ".join(flag.spelled for flag in one_of)
            raise click.UsageError(f"{java.name} needs one of {names}", ctx)

    def _option(self, flag: JavaOption, native: click.Parameter | None) -> click.Option:
        """Return the native option in Java's spelling, or one whose value is ignored."""
        names = flag.names
        if native is None:
            return click.Option(
                [f"java_{flag.key.replace(' ', '_')}", *names],
                is_flag=not flag.has_arg,
                type=TextType(read=flag.parse) if flag.parse is not None else None,
            )
        # A flag that fills a global option may convert it differently, so it is kept beside that.
        is_apart = native.name in NAMES or flag.wins
        name = f"java_{flag.key if flag.wins else native.name}" if is_apart else native.name
        more: dict[str, Any] = {"help": native.help}
        if not (native.required or is_flag(native) or is_many(native)):
            more["default"] = default_of(native)
        if not flag.has_arg:
            if not is_flag(native):
                more |= {"flag_value": flag.value, "type": native.type}
            return click.Option([name, *names], is_flag=True, **more)
        read_as_java_does = is_flag(native) or flag.parse is not None
        same = (
            []
            if read_as_java_does or name != native.name
            else [text for text in native.opts if text.startswith("--")]
        )
        return click.Option(
            [name, *dict.fromkeys([*names, *same])],
            type=TextType(read=flag.parse or truth) if read_as_java_does else native.type,
            multiple=is_many(native),
            metavar=native.metavar,
            **more,
        )


class RefusedOption(click.UsageError):
    """A flag that has no meaning here, and its replacement."""

    def __init__(self, message: str, hint: str, ctx: click.Context) -> None:
        super().__init__(message, ctx)
        self.hint = hint


def is_flag(parameter: click.Parameter) -> bool:
    """Return whether a parameter is on or off."""
    return isinstance(parameter, click.Option) and parameter.is_flag


def is_many(parameter: click.Parameter) -> bool:
    """Return whether a parameter may be given more than once."""
    return parameter.multiple or parameter.nargs == -1
