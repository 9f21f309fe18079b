"""The three bits that say what may be done with a topic or a broker.

    4 read   2 write   1 inherit (new topics may be made after this one)

Source: common/constant/PermName.java.
"""

from typing import Final

READ: Final = 4
WRITE: Final = 2
INHERIT: Final = 1
READ_WRITE: Final = READ | WRITE


def is_readable(perm: int) -> bool:
    """True when messages may be pulled."""
    return bool(perm & READ)


def is_writable(perm: int) -> bool:
    """True when messages may be sent."""
    return bool(perm & WRITE)


def is_inherited(perm: int) -> bool:
    """True when a topic may serve as a template."""
    return bool(perm & INHERIT)


def perm_text(perm: int) -> str:
    """Return three characters as Java prints them: ``RW-``, ``R--``, ``RWX``."""
    return (
        ("R" if perm & READ else "-")
        + ("W" if perm & WRITE else "-")
        + ("X" if perm & INHERIT else "-")
    )
