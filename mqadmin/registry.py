"""How a command is declared: one file, one function, one decorator.

A command lives in ``mqadmin/commands/<noun>/<verb>.py``; ``topic list`` is ``topic/list.py``
and ``broker config get`` is ``broker/config_get.py``. Being there is enough: nothing else
lists it, and its module is imported only when it is called, completed or documented.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Arguments:
        entry_count: Annotated[int, argument("entries to show")] = 10
        start: Annotated[When | None, option("first time", parse=parse_when)] = None

    @dataclass(frozen=True, slots=True)
    class QueueRow(Row):
        topic: str
        queue_id: int
        born_ms: EpochMs

    @command(
        "store queue",
        "list the entries of a consume queue",
        needs=Needs.STORE,
        examples=(("mqadmin store queue DIR T 0", "the entries of queue 0 of T"),),
        columns=("queue_id", "born_time"),
    )
    def show_queue(call: Call, args: Arguments) -> Outcome:
        store = StoreDir.open(call.store_dir)
        return Outcome(QueueRow(...) for entry in ...)

What the function may rely on:
    - ``def`` or ``async def``; it returns an ``Outcome`` (``rows.one`` for a single object)
      and never prints; ``rows`` may be a generator, or an async one.
    - ``call.store_dir`` with ``Needs.STORE``: the command line then takes DIR as its first
      argument or ``--store DIR``, or the shell's ``store open``; the dataclass leaves it out.
    - ``call.is_offline`` with ``Needs.EITHER``: ``--store DIR`` is read instead of servers.
    - ``await call.admin()`` with ``Needs.NAMESRV``; ``call.now_ms()``; ``call.dry_run``;
      ``call.confirm(text)`` before a destructive write; ``call.warn(text)``.
    - errors: raise one of ``mqadmin.errors``, or let errors of storefmt and mqclient through.
    - ``call.warn`` and ``Outcome.notes`` go to standard error.
``columns`` are the ones a table shows; every other format has all of the fields.
An ``EpochMs`` field ``x_ms`` gives a second column ``x_time`` in ISO 8601.

Java's names are data: ``java=(Java("topicStatus", (JavaOption("t", "topic", "topic"),)),)``.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from types import ModuleType
from typing import Final, Generic, NamedTuple, TypeVar, cast

from mqadmin.call import Call
from mqadmin.parameters import Parameter, Parse, parameters_of
from mqadmin.rows import Outcome, Row

A = TypeVar("A")
Answer = Outcome | Awaitable[Outcome]


class Needs(Enum):
    """What a command works on."""

    NAMESRV = auto()
    STORE = auto()
    EITHER = auto()
    NONE = auto()


NOT_IN_4: Final = "brokers of 4.9 have no such thing; leave it out"
"""Why a flag of the 5.x tool is refused about what only brokers of 5.x have."""


class JavaOption(NamedTuple):
    """A flag of the Java tool: ``-t``, ``--topic``, and the field it fills.

    Attributes:
        field: attribute of the arguments; empty for one that is taken and changes nothing
            here, or only leads to another command, see ``Branch``.
        has_arg: Java's flag takes a value; one for a ``bool`` field is true or false.
        value: what a flag without value stands for, where the field is no bool.
        parse: how Java reads the value, where we read ours in another way.
        since_5: the tool of 4.9 does not have it, that of 5.x has. One that is ``-o`` there has
            only its long name here: ``-o`` goes on to be the output of what 4.9 has.
        refused: why it is not taken, or what says the same here; empty for one that is.
    """

    short: str
    long: str
    field: str = ""
    has_arg: bool = True
    value: str = ""
    required: bool = False
    parse: Parse | None = None
    since_5: bool = False
    refused: str = ""

    @property
    def key(self) -> str:
        """Return the name that a flag of one command is known by: its letter where it has one."""
        return self.short or self.long.strip()

    @property
    def spelled(self) -> str:
        """Return both of its names, as ``-t/--topic``."""
        short = f"-{self.short}/" if self.short else ""
        return f"{short}--{self.long.strip()}"


class Branch(NamedTuple):
    """Flags of a Java name that make another command of it, as ``queryMsgById -s true`` sends.

    Attributes:
        flags: short names; all of them must be there, and none be ``false``.
        command: the native name of the other command, which declares the same Java name.
    """

    flags: tuple[str, ...]
    command: str


class Java(NamedTuple):
    """A name of the Java tool, with its own flags, for the same command.

    Attributes:
        preset: arguments that the name itself implies, as (field, text) pairs.
        any_of: fields of which one must be given.
        branches: flags that make another command of it.
        is_branch: the name is found by way of another command's ``branches`` alone.
    """

    name: str
    options: tuple[JavaOption, ...] = ()
    aliases: tuple[str, ...] = ()
    preset: tuple[tuple[str, str], ...] = ()
    any_of: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()
    is_branch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Generic[A]):
    """A command: everything that parser, help, completion and docs want to know."""

    name: str
    summary: str
    details: str
    examples: tuple[tuple[str, str], ...]
    arguments: type[A]
    run: Callable[[Call, A], Answer]
    rows: type[Row] | None
    columns: tuple[str, ...]
    needs: Needs
    writes: bool
    direct: bool
    java: tuple[Java, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return its arguments and options, in order."""
        return parameters_of(self.arguments)


ATTRIBUTE: Final = "declared_command"


def command(
    name: str,
    summary: str,
    *,
    details: str = "",
    examples: tuple[tuple[str, str], ...] = (),
    rows: type[Row] | None = None,
    columns: tuple[str, ...] = (),
    needs: Needs = Needs.NAMESRV,
    writes: bool = False,
    direct: bool = False,
    java: tuple[Java, ...] = (),
) -> Callable[[Callable[[Call, A], Answer]], Callable[[Call, A], Answer]]:
    """Declare the decorated function as the command ``name``.

    Args:
        name: noun and verb as typed, in lower case.
        summary: one phrase, lower case, no full stop.
        details: paragraphs of the help, after the examples.
        examples: (command line, what it does) pairs; help shows them first.
        rows: class of the rows, for the header of an empty table.
        columns: what a table shows; all of the fields where left out.
        writes: the command changes something on a server.
        direct: it asks one thing after another, so it needs no event loop, see
            ``mqadmin.link``; rows of an async generator go through the loop all the same.
    """

    def declare(run: Callable[[Call, A], Answer]) -> Callable[[Call, A], Answer]:
        arguments = cast(type[A], run.__annotations__["args"])
        made = Command(
            name=name,
            summary=summary,
            details=details,
            examples=examples,
            arguments=arguments,
            run=run,
            rows=rows,
            columns=columns,
            needs=needs,
            writes=writes,
            direct=direct,
            java=java,
        )
        setattr(run, ATTRIBUTE, made)
        return run

    return declare


def declared_in(module: ModuleType) -> "Command[object]":
    """Return the one command that a module declares.

    Raises:
        LookupError: it declares none, or more than one.
    """
    found = [
        getattr(value, ATTRIBUTE)
        for value in vars(module).values()
        if callable(value) and isinstance(getattr(value, ATTRIBUTE, None), Command)
    ]
    if len(found) != 1:
        raise LookupError(f"{module.__name__} declares {len(found)} commands, expected 1")
    return cast("Command[object]", found[0])
