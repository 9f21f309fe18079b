"""The file that a command writes to: its path, where ``-`` is standard output.

Rule: a file is complete or does not exist, so that no reader sees half of it; an existing file is
kept unless it is to be replaced.
"""

from pathlib import Path
from typing import Final

from mqadmin.errors import Usage

STDOUT: Final = Path("-")


def check_is_new(path: Path, *, replace: bool = False) -> None:
    """Refuse to overwrite a file, before anything is asked or read.

    Raises:
        Usage: the file already exists.
    """
    if path != STDOUT and path.exists() and not replace:
        raise Usage(f"{path} already exists", hint="add --replace, or choose another file")


def write_whole(path: Path, text: str) -> None:
    """Write a text beside the file, then replace the file with it.

    Raises:
        OSError: it cannot be written.
    """
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)
