"""A command of the tree: click's, with its rows and what it works on.

    words --> LineParser --> values of the options and arguments --> ParsedLine
                                                                  `-> TextAnswer   --help, --schema

Rule: invoking a command only binds its values. ``mqadmin.cli.run`` runs the bound call, so that the
program, the shell, scripts and ``--watch`` behave alike.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, cast

import click
from click.shell_completion import CompletionItem

from mqadmin.cli.globals import GLOBALS, levels, settings_of
from mqadmin.cli.options import (
    Argument,
    LineParser,
    SplitLine,
    complete_options,
    convert_line,
    converted,
    default_of,
    kind_of,
    stand_ins,
)
from mqadmin.cli.tree import COMMANDS
from mqadmin.cli.types import DIR, ParseContext, ValueKind
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.global_options import TEXT_OPTIONS, GlobalOptions

Answer = Outcome | Awaitable[Outcome]
Run = Callable[..., Answer]
"""Takes a ``Call``, and the values of the parameters as keyword arguments."""


class Needs(Enum):
    """What a command works on."""

    NAMESRV = auto()
    STORE = auto()
    EITHER = auto()
    NONE = auto()


STORE: Final = "store"
TYPED: Final = "typed"
"""Key of a context's options as they were typed."""
OPEN_OPTION: Final = "open option"
"""Key of the option that ends a context's line and still lacks its value."""
STORE_DIR: Final = Argument(
    [STORE],
    type=DIR,
    metavar="DIR",
    help="store directory (or --store DIR, or the shell's `store open DIR`)",
)
INSTEAD_OF_DIR: Final = click.Option(
    [STORE, "--store"], type=DIR, metavar="DIR", help="store directory, instead of DIR"
)
INSTEAD_OF_SERVERS: Final = click.Option(
    [STORE, "--store"],
    type=DIR,
    metavar="DIR",
    help="read a store directory instead of asking servers",
)


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A call that is ready to run.

    Attributes:
        values: the values of the parameters by name; empty if the line asks for a text.
        store: the store directory, or None if servers are asked.
        spelled: the name on the line: RocketMQ's own, or that of the command.
        flags: of RocketMQ's own name, by their letters: the text on the line.
    """

    command: "Command"
    values: Mapping[str, object]
    settings: GlobalOptions
    store: str | None
    spelled: str
    flags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """A text that answers a line: nothing runs; the exit code is not 0 for an error."""

    text: str
    exit_code: int = 0


if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    # Every call would pay for creating the class, and only a type checker reads it.

    class Declared(TypedDict, total=False):
        """The declaration of a command besides its name and its parameters."""

        details: str
        """Paragraphs of the help, after the examples."""
        examples: tuple[tuple[str, str], ...]
        """(command line, what it does) pairs; help shows them first."""
        rows: type[Row]
        """Class of the rows, for the header of an empty table."""
        summary_rows: type[Row]
        """Class of the rows if an option asks for a summary instead."""
        columns: tuple[str, ...]
        """Columns of a table; all fields if left out."""
        needs: Needs
        """What it works on; servers if left out."""
        writes: bool
        """Whether it changes something on a server."""
        offline: str
        """The command that runs for a line with ``--store``, if it is another one."""
        direct: bool
        """It sends one request after another, so it needs no event loop (see
        ``mqadmin.session.link``); rows of an async generator go through the loop anyway."""


class Command(click.Command):
    """One command.

    Args:
        run: is called with a ``Call`` and the values of the parameters.

    Attributes:
        native: the command that runs: another one for a name of RocketMQ's own tool.
        spelled: the name on the line: RocketMQ's own, or that of the command.
    """

    name: str

    def __init__(
        self,
        name: str,
        *,
        run: Run,
        params: Sequence[click.Parameter],
        **declared: "Unpack[Declared]",
    ) -> None:
        self.summary = COMMANDS[name]
        self.details = declared.get("details", "")
        super().__init__(
            name, params=list(params), short_help=self.summary, help=self.details or None
        )
        self.run = run
        self.declared = declared
        self.examples = declared.get("examples", ())
        self.rows = declared.get("rows")
        self.summary_rows = declared.get("summary_rows")
        self.columns = declared.get("columns", ())
        self.needs = declared.get("needs", Needs.NAMESRV)
        self.writes = declared.get("writes", False)
        self.offline = declared.get("offline", "")
        self.direct = declared.get("direct", False)
        self.native: Command = self
        self.spelled = name

    @property
    def positional(self) -> list[click.Parameter]:
        """Return its arguments, without DIR."""
        return [param for param in self.params if isinstance(param, click.Argument)]

    @property
    def options(self) -> list[click.Option]:
        """Return its options, without ``--store`` and the global ones."""
        return [param for param in self.params if isinstance(param, click.Option)]

    @property
    def stand_ins(self) -> list[click.Option]:
        """Return the options that may stand for its arguments."""
        return stand_ins(self.params)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return all parameters of a line, in the order of the help."""
        store: list[click.Parameter] = []
        if self.needs is Needs.STORE:
            store = [STORE_DIR]
        elif self.needs is Needs.EITHER:
            store = [INSTEAD_OF_SERVERS]
        return [*store, *self.params, *GLOBALS]

    def line_parser(self, ctx: click.Context) -> LineParser:
        """Return the parser of a line; the command's own options hide global ones."""
        own = self.get_params(ctx)[: -len(GLOBALS)]
        extra = [INSTEAD_OF_DIR] if self.needs is Needs.STORE else []
        return CommandParser(ctx, [*GLOBALS, *extra, *self.stand_ins, *own])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of a line into its context."""
        line = self.line_parser(ctx).split(args)
        convert_line(ctx, line, self.get_params(ctx))
        ctx.meta[OPEN_OPTION] = line.open_option
        return []

    def invoke(self, ctx: click.Context) -> ParsedLine:
        """Return the call of the line, without values if it asks for a text."""
        settings = settings_of(ctx, **self.implied(ctx))
        return ParsedLine(
            self.native,
            {} if settings.wants_text else self.values(ctx),
            settings,
            self._store(ctx, settings),
            self.spelled,
            self.flags(ctx),
        )

    def values(self, ctx: click.Context) -> dict[str, object]:
        """Return the values of the parameters by name."""
        return {param.name: ctx.params[param.name] for param in self.params}

    def flags(self, ctx: click.Context) -> dict[str, str]:
        """Return the values of the flags of RocketMQ's own name, by their letters."""
        return {}

    def refuse_word(self, word: str) -> str:
        """Return the error about an unexpected word."""
        return f"unexpected argument {word!r}"

    def implied(self, ctx: click.Context) -> dict[str, object]:
        """Return the global options that the name of the command implies."""
        return {}

    def _store(self, ctx: click.Context, settings: GlobalOptions) -> str | None:
        given = cast(str | None, ctx.params.get(STORE))
        if given is not None or self.needs is not Needs.EITHER:
            return given
        opened = cast(ParseContext, ctx.obj).store
        return None if settings.namesrv or settings.context else opened

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the long names of options that begin with the typed text, its own first."""
        return complete_options([*self.get_params(ctx), *self.stand_ins], incomplete)


def of_store(made: ParsedLine, whole: Command, ctx: click.Context) -> ParsedLine:
    """Return the call of the ``store`` command that a line with ``--store`` stands for."""
    names = {param.name for param in whole.params}
    for param in made.command.params:
        if param.name not in names and made.values[param.name] != default_of(param):
            raise click.BadParameter(f"has no effect on {whole.name}; omit it", ctx, param)
    return replace(
        made,
        command=whole,
        values={
            param.name: converted(param, made.values.get(param.name, default_of(param)), ctx)
            for param in whole.params
        },
    )


class TooManyArguments(click.UsageError):
    """A line has more words than its command takes."""


class UnknownCommand(click.UsageError):
    """The words of a line do not name a command."""

    def __init__(self, words: Sequence[str], ctx: click.Context) -> None:
        super().__init__(" ".join(words), ctx)
        self.words = words


class CommandParser(LineParser):
    """The parser of a command; words that the shell knows may be left out."""

    def split(self, words: Sequence[str]) -> SplitLine:
        """Split the line; one that asks for help may lack required words."""
        line = super().split(words)
        self.ctx.meta[TYPED] = line.typed
        asked = any(level.params.get(name) for level in levels(self.ctx) for name in TEXT_OPTIONS)
        if asked or not TEXT_OPTIONS.isdisjoint(line.typed):
            self.ctx.resilient_parsing = True
        elif line.words and not self.ctx.resilient_parsing:
            refused = cast(Command, self.ctx.command).refuse_word(line.words[0])
            raise TooManyArguments(refused, self.ctx)
        return line

    def _fill_arguments(self, line: SplitLine) -> None:
        made = cast(Command, self.ctx.command)
        if made.needs is Needs.STORE:
            line.words = _with_store(line.words, line.typed.pop(STORE, None), self.ctx)
        line.words = _with_topic(made, line, self.ctx)
        super()._fill_arguments(line)


def _with_store(words: list[str], given: str | None, ctx: click.Context) -> list[str]:
    """Return the words with the store directory first, if an option or the shell gives it."""
    opened = cast(ParseContext, ctx.obj).store
    if given is not None:
        return [given, *words]
    if opened is None or (words and _looks_like_path(words[0])):
        return words
    return [opened, *words]


def _looks_like_path(word: str) -> bool:
    return "/" in word or word in {".", ".."}


def _with_topic(made: Command, line: SplitLine, ctx: click.Context) -> list[str]:
    """Return the words with the shell's topic inserted, if exactly one word is missing."""
    topic, words = cast(ParseContext, ctx.obj).topic, line.words
    required = [
        param
        for param in made.positional
        if param.name not in line.typed and (param.required or _is_needed(param, line))
    ]
    first = 1 if made.needs is Needs.STORE else 0
    spots = [
        index for index, param in enumerate(required, first) if kind_of(param) is ValueKind.TOPIC
    ]
    if topic is None or len(spots) != 1 or len(words) != first + len(required) - 1:
        return words
    return [*words[: spots[0]], topic, *words[spots[0] :]]


def _is_needed(parameter: click.Parameter, line: SplitLine) -> bool:
    """Return whether an argument is needed because the option that replaces it is missing."""
    unless = parameter.unless if isinstance(parameter, Argument) else None
    return unless is not None and unless not in line.typed
