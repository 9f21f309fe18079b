"""What a name of RocketMQ's own tool is made of; ``table.py`` has them all."""

from typing import NamedTuple

from mqadmin.cli.types import Read


class JavaOption(NamedTuple):
    """A flag of the Java tool: ``-t``, ``--topic``, and the parameter it fills.

    Attributes:
        field: name of the parameter; empty for one that is taken and changes nothing here, or
            only leads to another command, see ``Branch``.
        has_arg: Java's flag takes a value; one for a flag of ours is true or false.
        value: what a flag without value stands for, where ours takes one.
        parse: how Java reads the value, where we read ours in another way.
        since_5: the tool of 4.9 does not have it, that of 5.x has. One that is ``-o`` there has
            only its long name here, because ``-o`` remains the output of commands of 4.9.
        refused: why it is not taken, or what says the same here; empty for one that is.
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

    @property
    def key(self) -> str:
        """Return the name that a flag of one command is known by: its letter where it has one."""
        return self.short or self.long.strip()

    @property
    def names(self) -> list[str]:
        """Return its names as options are spelled; Java has some with a stray blank."""
        return [*([f"-{self.short}"] if self.short else []), f"--{self.long.strip()}"]

    @property
    def spelled(self) -> str:
        """Return both of its names, as ``-t/--topic``."""
        return "/".join(self.names)


class Branch(NamedTuple):
    """Flags of a Java name that make another command of it, as ``queryMsgById -s true`` sends.

    Attributes:
        flags: short names; all of them must be there, and none be ``false``.
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
        branches: flags that make another command of it.
        is_branch: the name is found by way of another command's ``branches`` alone.
    """

    name: str
    command: str
    options: tuple[JavaOption, ...] = ()
    aliases: tuple[str, ...] = ()
    preset: tuple[tuple[str, str], ...] = ()
    any_of: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()
    is_branch: bool = False
