"""What ``topic import`` and ``group import`` share: their words, Java's flags, reading the file.

Rule: every entry is read before anything is changed; the first that is none is told by its number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.inputfile import objects_of
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import JavaOption
from storefmt.config.fastjson import Json
from storefmt.errors import StoreError

T = TypeVar("T")

JAVA_FLAGS: Final = (
    JavaOption("b", "brokerAddr", "broker"),
    JavaOption("c", "clusterName", "cluster"),
    JavaOption("f", "filename", "file", required=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListArguments:
    """The file, and where what it lists goes."""

    file: Annotated[Path, argument("a JSON array; - is standard input", kind=Kind.FILE)]
    cluster: Annotated[str | None, option("on its masters", kind=Kind.CLUSTER)] = None
    broker: Annotated[str | None, option("only there: a name or HOST:PORT", kind=Kind.BROKER)] = (
        None
    )


def entries_of(
    call: Call, file: Path, read: Callable[[Json], T], *, name: Callable[[T], str]
) -> list[T]:
    """Return the entries of a list, each as ``read`` has it.

    Raises:
        Usage: the file is no list, one of its entries is not what it should be, or a name is
            there twice.
        OSError: it cannot be read.
    """
    found: dict[str, T] = {}
    for number, entry in enumerate(objects_of(call, file), start=1):
        try:
            one = read(entry)
        except StoreError as error:
            raise Usage(f"{file} entry {number}: {error}") from None
        if name(one) in found:
            raise Usage(f"{file} entry {number}: {name(one)} is there twice", hint="keep one")
        found[name(one)] = one
    return [*found.values()]
