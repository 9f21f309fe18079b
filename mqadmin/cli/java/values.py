"""Values of flags of RocketMQ's own tool that are spelled differently than ours.

Rule: each function is the ``parse`` of a ``JavaOption``: it raises ``ValueError`` with what is
wrong, which the refusal of the line quotes.
"""

from mqadmin.cli.types import positive


def seconds_of_ms(text: str) -> object:
    """Read the ms of Java's flag as the seconds of ``--timeout``."""
    return positive(text) / 1000


def index_of(text: str) -> object:
    """Read the kind of an index entry."""
    kinds = {"": "keys", "K": "keys", "T": "tags", "keys": "keys", "tags": "tags"}
    if text.strip() not in kinds:
        raise ValueError(f"{text!r} is not K for keys or T for tags")
    return kinds[text.strip()]


def utf_8(text: str) -> object:
    """Read a charset, of which bodies are shown in one."""
    if text.strip().upper().replace("-", "") != "UTF8":
        raise ValueError(f"{text!r} is not UTF-8; `message export` keeps the bytes of other texts")
    return text


def ids_of_semicolons(text: str) -> object:
    """Read Java's list of ids."""
    return tuple(int(part) for part in text.split(";") if part.strip())
