"""Files that commands read: their text, or a list of objects in JSON; ``-`` is standard input."""

import json
from pathlib import Path

from mqadmin.errors import Usage
from mqadmin.session.call import Call
from storefmt.config.fastjson import Json


def text_of(call: Call, file: Path) -> str:
    """Return the text of a file, or what standard input has.

    Raises:
        OSError: it cannot be read.
    """
    return call.console.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")


def objects_of(call: Call, file: Path) -> list[Json]:
    """Return the objects of a JSON array.

    Raises:
        Usage: it is no such array, or an empty one.
        OSError: it cannot be read.
    """
    try:
        found: Json = json.loads(text_of(call, file))
    except (ValueError, RecursionError) as error:
        raise Usage(f"{file}: no JSON ({error})") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Usage(f"{file}: expected an array of objects, as [{{...}}, {{...}}]")
    if not found:
        raise Usage(f"{file}: an empty array")
    return found
