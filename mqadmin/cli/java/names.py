"""How a name of RocketMQ's own tool is declared; ``table.py`` has them all."""

from typing import NamedTuple

from mqadmin.cli.types import Read


class JavaOption(NamedTuple):
    """A flag of the Java tool: ``-t``, ``--topic``, and the parameter it fills.

    Attributes:
        field: name of the parameter; empty for a flag that is ignored here, or that only leads to
            another command (see ``Branch``).
        has_arg: Java's flag takes a value; one for a flag of ours is true or false.
        value: the value of a flag without one, if our option takes a value.
        parse: how Java reads the value, if ours is read differently.
        since_5: the tool of 4.9 does not have it, that of 5.x has. One that is ``-o`` there has
            only its long name here, because ``-o`` remains the output of commands of 4.9.
        refused: why the flag is refused, or its replacement; empty if it is accepted.
        wins: it takes the place of another flag that fills the same parameter.
        means: what an accepted flag of 5.x without a field asks for, which ours does anyway.
    """

    short: str
    long: str
    field: str = ""
    has_arg: bool = True
    value: str = ""
    required: bool = False
    parse: Read | None = None
    since_5: bool = False
    refused: str = ""
    wins: bool = False
    means: str = ""

    @property
    def key(self) -> str:
        """Return the name of a flag: its letter if it has one."""
        return self.short or self.long.strip()

    @property
    def names(self) -> list[str]:
        """Return its names spelled as options; some of Java's have a stray blank."""
        return [*([f"-{self.short}"] if self.short else []), f"--{self.long.strip()}"]

    @property
    def spelled(self) -> str:
        """Return both of its names, as ``-t/--topic``."""
        return "/".join(self.names)


class Branch(NamedTuple):
    """Flags that turn a Java name into another command: ``queryMsgById -s true`` sends.

    Attributes:
        flags: short names; all must be present, and not be ``false``.
        command: the native name of the other command, which has an entry of this name.
    """

    flags: tuple[str, ...]
    command: str


class Java(NamedTuple):
    """A name of the Java tool, with its own flags, for a command of ours.

    Attributes:
        command: the native name.
        preset: arguments that the name itself implies, as (field, text) pairs.
        any_of: fields of which one must be given.
        branches: flags that turn it into another command.
        is_branch: the name is only found through another command's ``branches``.
    """

    name: str
    command: str
    options: tuple[JavaOption, ...] = ()
    aliases: tuple[str, ...] = ()
    preset: tuple[tuple[str, str], ...] = ()
    any_of: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()
    is_branch: bool = False
