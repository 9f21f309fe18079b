"""Read the file of ``topic import`` and ``group import``, and declare their argument.

Rule: every entry is read before anything is changed, so a bad file changes nothing; the error gives
the number of the first bad entry.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mqadmin.cli.decorators import argument
from mqadmin.cli.types import FILE_PATH
from mqadmin.errors import Usage
from mqadmin.session.call import Call
from storefmt.config.fastjson import Json
from storefmt.config.foreign_json import read_json
from storefmt.errors import StoreError

T = TypeVar("T")


list_argument = argument(
    "file", type=FILE_PATH, help="file with a JSON array; - reads standard input"
)


def entries_of(
    call: Call, file: Path, read: Callable[[Json], T], *, name: Callable[[T], str]
) -> list[T]:
    """Return the entries of a list, each converted by ``read``.

    Raises:
        Usage: the file is not a list, one of its entries is invalid, or a name appears twice.
        OSError: it cannot be read.
    """
    entries: dict[str, T] = {}
    for number, entry in enumerate(_objects_of(call, file), start=1):
        try:
            entry_value = read(entry)
        except StoreError as error:
            raise Usage(f"{file} entry {number}: {error}") from None
        if name(entry_value) in entries:
            raise Usage(
                f"{file} entry {number}: {name(entry_value)} appears twice", hint="keep one"
            )
        entries[name(entry_value)] = entry_value
    return [*entries.values()]


def _objects_of(call: Call, file: Path) -> list[Json]:
    """Return the objects of a JSON array.

    Raises:
        Usage: it is not an array of objects, or it is empty.
        OSError: it cannot be read.
    """
    try:
        document: Json = read_json(call.console.text_of(file))
    except ValueError as error:
        raise Usage(f"{file}: not JSON ({error})") from None
    if not isinstance(document, list) or not all(isinstance(entry, dict) for entry in document):
        raise Usage(f"{file}: expected an array of objects, such as [{{...}}, {{...}}]")
    if not document:
        raise Usage(f"{file}: the array is empty")
    return document
